//! A busy kernel on four CPUs is interrupted from outside, at moments that a seed chooses, and says of every CPU what it
//! was doing; gdb looks at the same stopped machine, and must see the same.
//!
//! ```sh
//! NMI_MOMENTS=200 cargo test -p qemu --test nmi    # as many as one likes; NMI_SEED=1 for other ones
//! ```

mod support;

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use object::{Object, ObjectSymbol, SymbolKind};
use qemu::build::Kernel;
use qemu::machine::{Arch, Boot};
use support::built;
use support::each::kernel_tests;
use support::gdb::{self, Session};
use support::report::Report;
use support::symbols;

const CPUS: u32 = 4;

/// Moments of each kernel in an ordinary run. Two hundred take some minutes.
const MOMENTS: u32 = 15;

kernel_tests! { every:
    every_cpu_is_traced_at_any_moment,
}

/// What gdb saw of a CPU.
#[derive(Debug, Default)]
struct Seen {
    /// Its number.
    cpu: usize,
    /// It could not be interrupted at that moment.
    masked: bool,
    /// gdb stopped where the caller's stack lies lower in memory.
    inner: bool,
    /// Addresses, innermost first.
    frames: Vec<u64>,
}

fn every_cpu_is_traced_at_any_moment(kernel: Kernel) {
    let number = |name: &str, default| {
        let value = std::env::var(name).ok();
        value.map_or(default, |value| {
            value
                .parse()
                .unwrap_or_else(|_| panic!("{name} is no number"))
        })
    };
    let count = number("NMI_MOMENTS", MOMENTS);
    let seed = number("NMI_SEED", 0);

    let image = built::image(kernel);
    let boot = Boot {
        cpus: CPUS,
        limit: Some(Duration::from_secs(60 + 5 * u64::from(count))),
        ..Boot::new(kernel.arch, &image, "busy 4000000000")
    };
    let places = Places::find(&image);
    let session = gdb::session(
        boot,
        [
            "set backtrace past-main on".to_owned(),
            format!("set $functions = \"{}\"", places.functions),
            format!("set $nmi_stack = \"{}\"", places.nmi_stack),
            format!("set $again = \"{:x}\"", places.again),
            format!("set $done = \"{:x}\"", places.done),
            format!("set $count = {count}"),
            format!("set $seed = {seed}"),
            format!("source {}", gdb::script("nmi.py").display()),
        ],
    );
    let seen = moments(&session, count);
    let serial = session.booted.serial;
    assert_eq!(seen.len(), count as usize, "{kernel:?}: moments");

    let reports = Report::find_all(&serial);
    let mut reports = reports.iter().peekable();
    let (mut compared, mut late) = (0, Vec::new());
    for (moment, seen) in seen.iter().enumerate() {
        let context = format!("{kernel:?}, seed {seed}, moment {moment}");
        let first = reports
            .next()
            .unwrap_or_else(|| panic!("{context}: no report"));
        let reporter = number_after(&first.panicked, "interrupted on cpu ");
        let mut of = vec![None; CPUS as usize];
        of[reporter] = Some(first);
        while let Some(report) = reports.next_if(|report| report.panicked.starts_with("cpu ")) {
            of[number_after(&report.panicked, "cpu ")] = Some(report);
        }
        for (cpu, report) in of.iter().enumerate() {
            let report = report
                .unwrap_or_else(|| panic!("{context}: nothing of CPU {cpu}\n{}", tail(&serial)));
            report.expect_complete();
        }
        for seen in seen.iter().filter(|seen| !seen.masked) {
            let report = of[seen.cpu].expect("looked at above");
            let found: Vec<u64> = report.frames.iter().map(|frame| frame.address).collect();
            if found.first() != seen.frames.first() {
                // It went on before it was interrupted: on a busy host its NMI can be late.
                continue;
            }
            // Where an exception came to a leaf, gdb takes the address of the exception for the leaf's return address too,
            // since DWARF on AArch64 has one number for both; it notices that it stands still, and stops.
            let same = match seen.frames.as_slice() {
                [known @ .., last, again] if kernel.arch == Arch::Aarch64 && last == again => {
                    found.starts_with(known) && found.get(known.len()) == Some(last)
                }
                // The handler of an interrupt is called on a stack of its own, above or below the interrupted one.
                [.., last] if seen.inner && places.on_stack.contains(last) => {
                    found.starts_with(&seen.frames)
                }
                all => found == all,
            };
            compared += 1;
            if !same {
                late.push(format!(
                    "{context}, CPU {}: gdb has {:#x?}, the report {found:#x?} in:\n{}\n",
                    seen.cpu,
                    seen.frames,
                    report.names().join("\n")
                ));
            }
        }
    }
    if let Some(more) = reports.next() {
        panic!(
            "{kernel:?}: a report more than interrupts: {}\n{}",
            more.panicked,
            tail(&serial)
        );
    }
    let same = compared - late.len() as u32;
    eprintln!("{kernel:?}: {count} moments, {same} of {compared} traces as gdb's");
    eprint!("{}", late.concat());
    // It may also have come round to the same instruction of its loop, by another way: of 2,900 traces that were three.
    assert!(
        late.len() as u32 <= 1 + compared / 500,
        "{} of {compared} traces are not gdb's",
        late.len()
    );
    let expected = match kernel.arch {
        Arch::X86_64 => count * CPUS,
        Arch::Aarch64 => count,
    };
    assert!(
        compared * 3 >= expected,
        "{kernel:?}: only {compared} of {expected} could be compared"
    );
}

/// The last lines of the serial line, for people.
fn tail(serial: &[u8]) -> String {
    let text = String::from_utf8_lossy(serial);
    let from = text.lines().count().saturating_sub(150);
    text.lines().skip(from).collect::<Vec<_>>().join("\n")
}

fn number_after(line: &str, prefix: &str) -> usize {
    let rest = line
        .strip_prefix(prefix)
        .unwrap_or_else(|| panic!("no {prefix:?}: {line}"));
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("no number: {line}"))
}

/// What gdb saw, a list of CPUs for each moment.
fn moments(session: &Session, count: u32) -> Vec<Vec<Seen>> {
    let text = &session.said;
    let mut moments: Vec<Vec<Seen>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("moment ") {
            moments.push(Vec::new());
        } else if let Some(moment) = moments.last_mut() {
            if line.starts_with("cpu ") {
                moment.push(Seen {
                    cpu: number_after(line, "cpu "),
                    ..Seen::default()
                });
            } else if let Some(cpu) = moment.last_mut() {
                cpu.masked |= line == "masked";
                cpu.inner |= line == "inner";
                if let Some(address) = line.strip_prefix("frame 0x") {
                    cpu.frames
                        .push(u64::from_str_radix(address, 16).expect("an address"));
                }
            }
        }
    }
    assert_eq!(
        text.lines().filter(|line| *line == "done").count(),
        count as usize,
        "gdb said:\n{text}\n{}",
        session.complained
    );
    moments
}

/// Where things are in an image, as the script takes them.
#[derive(Debug, Default)]
struct Places {
    /// Functions to stop at, those of the scenario and what it calls.
    functions: String,
    /// One that it calls again and again.
    again: u64,
    /// The one that ends a report.
    done: u64,
    /// Where the function lies that changes stacks.
    on_stack: Range<u64>,
    /// Begin and end of the stacks for NMIs, where they have their own.
    nmi_stack: String,
}

impl Places {
    fn find(image: &Path) -> Self {
        const BUSY: [&str; 7] = [
            "kernel::scenario::busy::",
            "kernel::breakpoint::hit",
            "::trap::exception",
            "alloc::fmt::format",
            "core::fmt::num",
            "core::fmt::Formatter::pad_integral",
            "linked_list_allocator::hole::HoleList",
        ];
        /// Come to but once.
        const NOT: [&str; 2] = ["busy::run", "busy::work"];
        let data = std::fs::read(image).expect("the image can be read");
        let file = object::File::parse(&*data).expect("the image is an ELF file");
        let mut places = Self::default();
        let mut busy = Vec::new();
        for symbol in file.symbols() {
            let name = rustc_demangle::demangle(symbol.name().unwrap_or_default());
            let name = format!("{name:#}");
            let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
            let address = symbol.address();
            if name == "call_on_stack" {
                places.on_stack = address..address + symbol.size();
            } else if name == "kernel::scenario::busy::round" {
                places.again = address;
            } else if name == "<postmortem::rendezvous::Rendezvous>::release" {
                places.done = address;
            } else if symbol.kind() == SymbolKind::Text && has(&BUSY) && !has(&NOT) {
                busy.push(format!("{address:x},{:x}", symbol.size()));
            }
        }
        if file.architecture() == object::Architecture::X86_64 {
            let stacks = symbols::array(&file, "STACKS_NMI");
            let end = stacks.first + stacks.stride * stacks.count;
            places.nmi_stack = format!("{:x} {end:x}", stacks.first);
        }
        assert!(busy.len() > 6, "the scenario's functions are in the image");
        assert!(places.done != 0 && places.again != 0, "{places:?}");
        busy.sort();
        places.functions = busy.join(" ");
        places
    }
}
