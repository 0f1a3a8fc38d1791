//! The true shares: QEMU's log of all instructions of an image.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use object::{Object, ObjectSection, SectionKind};
use qemu::decode::Symbolizer;
use qemu::machine::{Boot, Processor, Verdict};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::support::built::emulator;

/// Functions with code of their own that are called and return, of the scenario `busy`.
const FUNCTIONS: [&str; 6] = ["collatz", "recursion", "heap", "text", "exception", "work"];

/// What a machine did, in shares of its instructions.
#[derive(Debug)]
pub struct Truth {
    /// All instructions of the image.
    pub count: u64,
    /// Of each function, inlined or not, without those that it calls.
    pub own: HashMap<String, f64>,
    /// Of some functions, with those that they call.
    pub with_callees: HashMap<String, f64>,
}

/// A function that is looked at, by its first address.
struct Called {
    start: u64,
    /// Where its caller has called it, while it runs.
    from: Option<u64>,
    count: u64,
}

impl Truth {
    /// That of an image with this command line.
    pub fn of(image: &Path, arch: Processor, words: &str) -> Self {
        let symbolizer = Symbolizer::open(image).expect("it is an image");
        let find = |name| symbolizer.find(name, 0).expect("the function is there");
        let names = FUNCTIONS.map(|name| format!("kernel::scenario::busy::{name}"));
        let mut called = names.each_ref().map(|name| Called {
            start: find(name).start,
            from: None,
            count: 0,
        });
        let mut counts: HashMap<u64, u64> = HashMap::new();
        let mut count = 0;
        let mut last = 0;
        log(image, arch, words, |pc| {
            count += 1;
            *counts.entry(pc).or_default() += 1;
            for called in &mut called {
                match called.from {
                    None if pc == called.start => called.from = Some(last),
                    // The longest call has 7 bytes.
                    Some(from) if from < pc && pc <= from + 7 => called.from = None,
                    _ => {}
                }
                called.count += u64::from(called.from.is_some());
            }
            last = pc;
        });
        let share = |part: u64| part as f64 / count as f64;
        let mut own: HashMap<String, f64> = HashMap::new();
        for (pc, part) in counts {
            let sources = symbolizer.answer(pc).sources;
            let innermost = sources.first().expect("it has a name");
            let name = innermost.name.replace(';', ":");
            *own.entry(name).or_default() += share(part);
        }
        let shares = called.map(|called| share(called.count));
        Self {
            count,
            own,
            with_callees: names.into_iter().zip(shares).collect(),
        }
    }
}

/// Runs the image, and passes on the address of each instruction of its code.
fn log(image: &Path, arch: Processor, words: &str, mut each: impl FnMut(u64)) {
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    fcntl_setfd(&writer, FdFlags::empty()).expect("it can be inherited");
    let file = format!("/dev/fd/{}", writer.as_raw_fd());
    let ranges = code(image).join(",");
    let emulator = emulator(arch);
    let mut more = vec!["-d", "exec,nochain", "-D", &file, "-dfilter", &ranges];
    more.extend(["-seed", "1", "-rtc", "base=2000-01-01T00:00:00,clock=vm"]);
    more.extend(single(&emulator));
    let boot = Boot {
        // By which it counts instructions.
        guest_limit: Some(Duration::from_secs(3600)),
        limit: Some(Duration::from_secs(600)),
        more: &more,
        ..Boot::new(arch, image, words)
    };
    std::thread::scope(|scope| {
        let booted = scope.spawn(|| {
            let booted = boot.run(&emulator, &mut std::io::sink());
            // By which the log ends.
            drop(writer);
            booted
        });
        for line in BufReader::new(reader).lines() {
            let line = line.expect("the log can be read");
            let pc = line.split('/').nth(1);
            if let Some(pc) = pc.filter(|_| line.starts_with("Trace ")) {
                each(u64::from_str_radix(pc, 16).expect("an address"));
            }
        }
        let booted = booted.join().expect("no panic").expect("it boots");
        assert_eq!(booted.verdict, Verdict::Success);
    });
}

/// What makes the log have each instruction.
fn single(emulator: &Path) -> [&'static str; 2] {
    let help = Command::new(emulator).arg("--help").output();
    let help = String::from_utf8_lossy(&help.expect("QEMU starts").stdout).into_owned();
    match help.contains("one-insn-per-tb") {
        true => ["-accel", "tcg,one-insn-per-tb=on"],
        false => ["-singlestep", "-no-reboot"],
    }
}

/// Where the image has code, as QEMU's filter takes it.
fn code(image: &Path) -> Vec<String> {
    let data = std::fs::read(image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("it is an object file");
    let code = file.sections();
    let code = code.filter(|section| section.kind() == SectionKind::Text);
    code.map(|section| format!("{:#x}+{:#x}", section.address(), section.size()))
        .collect()
}
