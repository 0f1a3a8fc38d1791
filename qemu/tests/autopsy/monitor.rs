//! The monitor on a dump.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use object::{Object, ObjectSection, ObjectSymbol};
use qemu::build::Kernel;
use qemu::machine::{Arch, Processor};
use qemu::setup;

use super::{expect_equal, expect_of};
use crate::support::built::{image, kernel_of, target};
use crate::support::runner::{Ran, command, fed, run};
use crate::support::symbols::address;
use crate::support::terminal;

/// A function of the kernel's that all its code goes through.
const FUNCTION: &str = "kernel_entry";

/// What the monitor writes for these commands, as a script has them.
fn script(dump: &Path, commands: &str) -> Ran {
    let arguments = ["autopsy".as_ref(), "-i".as_ref(), dump.as_os_str()];
    fed(arguments, commands)
}

/// The address and the words that an image has there, by its file.
fn code(image: &Path) -> (u64, Vec<u64>) {
    let data = fs::read(image).expect("the image is there");
    let file = object::File::parse(&*data).expect("it is ELF");
    let symbol = file.symbols().find(|one| one.name() == Ok(FUNCTION));
    let start = symbol.expect("the kernel has it").address();
    let mut sections = file.sections();
    let bytes = sections.find_map(|one| one.data_range(start & !7, 40).ok().flatten());
    let words = bytes.expect("a section has it").chunks_exact(8);
    let words = words.map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    (start, words.collect())
}

/// The address and the name of each of the function's first instructions, by LLVM.
fn instructions(arch: Arch, image: &Path, start: u64, count: usize) -> Vec<(u64, String)> {
    let objdump = setup::program("llvm-objdump", "llvm", &target())
        .expect("llvm-objdump is to be had (package llvm)");
    let stop = start + 0x100;
    let output = Command::new(objdump)
        .args(["--disassemble", "--no-show-raw-insn"])
        .args(match arch {
            Arch::X86_64 => &["-M", "intel"][..],
            Arch::Aarch64 => &[],
        })
        .arg(format!("--start-address={start:#x}"))
        .arg(format!("--stop-address={stop:#x}"))
        .arg(image)
        .output()
        .expect("llvm-objdump starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter_map(|line| {
        let (address, rest) = line.split_once(':')?;
        let address = u64::from_str_radix(address.trim(), 16).ok()?;
        Some((address, rest.split_whitespace().next()?.to_owned()))
    });
    let found: Vec<_> = lines.take(count).collect();
    assert_eq!(found.len(), count, "{text}");
    found
}

/// A CPU that runs, a task that waits, registers, memory and code.
pub fn commands_say_what_the_machine_was(kernel: Kernel) {
    let path = image(kernel);
    let (_folder, dump) = expect_of(&path, "hang-tasks", "2", &["\ntask 9 waiter: "]);
    let report = run(["autopsy".as_ref(), dump.as_os_str()]).expect(0).text();
    let (_, parts) = report.split_once('\n').expect("lines");
    let said = |commands: &str| script(&dump, commands).expect(0).text();
    expect_equal(parts, &said("bt\nbt 1\ntasks\n"));
    expect_equal(&report, &said("\nreport\nexit\nnonsense\n"));
    let (_, task) = report.split_once("\ntask 9 waiter: ").expect("it waits");
    expect_equal(&format!("task 9 waiter: {task}"), &said("bt task 9\n"));
    let (_, second) = parts.split_once("\ncpu 1, ").expect("two CPUs");
    let second = format!("cpu 1, {}", second.lines().next().expect("a line"));
    assert_eq!(said("cpu 1\n").trim_end(), second);

    let (_, pc) = second.split_once("stopped at ").expect("where it is");
    let pc = &pc[..18];
    let registers = said("cpu 1\nregisters\n");
    let name = match kernel.arch {
        Arch::X86_64 => "rip",
        Arch::Aarch64 => "pc",
    };
    let is_there = |line: &str| line.starts_with(name) && line.contains(pc);
    assert!(registers.lines().any(is_there), "{registers}");

    let (start, words) = code(&path);
    let looked_up = said(&format!("lookup {FUNCTION}\nlookup {start:x}\nlookup 10\n"));
    let found = format!("{start:#018x}: {FUNCTION}+0x0/");
    assert_eq!(looked_up.matches(&found).count(), 2, "{looked_up}");
    let nothing = "0x0000000000000010: not in the image\n";
    assert!(looked_up.ends_with(nothing), "{looked_up}");
    let shown = said(&format!("x {FUNCTION} {}\n", words.len()));
    let shown: Vec<_> = shown.lines().collect();
    assert_eq!(shown.len(), words.len());
    for (at, (line, word)) in (start & !7..).step_by(8).zip(shown.iter().zip(words)) {
        assert!(
            line.starts_with(&format!("{at:#018x}: {word:#018x}")),
            "{line}"
        );
    }

    // Behind its third instruction, LLVM calls some of AArch64's by other names, such as `cmp` for `subs`.
    let count = match kernel.arch {
        Arch::X86_64 => 12,
        Arch::Aarch64 => 3,
    };
    let shown = said(&format!("disassemble {FUNCTION} {count}\n"));
    let shown: Vec<_> = shown
        .lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("   0x")?.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            Some((address, words.next()?.to_owned()))
        })
        .collect();
    assert_eq!(shown, instructions(kernel.arch, &path, start, count));
    let here = said("cpu 1\ndisassemble\n");
    assert!(here.contains(&format!("\n=> {pc}  ")), "{here}");
}

/// Of 32-bit ARM: words have 32 bits, each with what lies where it points to; and so have instructions, which nothing here knows.
#[gate]
fn words_have_the_size_of_their_architecture() {
    let path = image(kernel_of::<Processor>("armv7a_release"));
    let (_folder, dump) = expect_of(&path, "hang-masked", "1", &[]);
    let (start, words) = code(&path);
    let words: Vec<u64> = words
        .iter()
        .flat_map(|word| [word & 0xffff_ffff, word >> 32])
        .skip((start % 8 / 4) as usize)
        .collect();
    let expected = |line: fn(u64, u64) -> String| {
        let lines = (start..).step_by(4).zip(&words);
        lines.map(|(at, word)| line(at, *word)).collect::<Vec<_>>()
    };
    let said = |command: &str| {
        let command = format!("{command} {FUNCTION} {}\n", words.len());
        script(&dump, &command).expect(0).text()
    };
    let shown = said("x");
    let lines = expected(|at, word| format!("{at:#018x}: {word:#010x}"));
    assert_eq!(shown.lines().count(), words.len(), "{shown}");
    for (line, begin) in shown.lines().zip(&lines) {
        assert!(line.starts_with(begin), "no {begin} in {shown}");
    }
    let shown = said("disassemble");
    for line in expected(|at, word| format!("   {at:#018x}  .word {word:#010x}")) {
        assert!(
            shown.lines().any(|found| found == line),
            "no {line} in {shown}"
        );
    }
    // A static that is a pointer to a function.
    let data = fs::read(&path).expect("the image is there");
    let file = object::File::parse(&*data).expect("it is ELF");
    let at = address(&file, "AT_MAIN");
    let pointer = script(&dump, &format!("x {at:x} 1\n"));
    let shown = pointer.expect(0).text();
    assert!(shown.contains(" kernel::kernel_main+0x0/"), "{shown}");
}

/// What lies where in a static, as gdb finds it by the same debug information: of arrays, structures and tuples within each other.
pub fn statics_have_their_parts(kernel: Kernel) {
    const STATIC: &str = "kernel::task::TASKS";
    let path = image(kernel);
    let (_folder, dump) = expect_of(&path, "hang-masked", "1", &[]);
    let shown = script(&dump, &format!("x {STATIC} 20\n")).expect(0).text();
    let (title, words) = shown.split_once('\n').expect("a static and its words");
    assert!(title.starts_with(&format!("{STATIC}: [Task; ")), "{shown}");
    let parts = words.lines().map(|line| {
        let (address, rest) = line.split_once(": ").expect(line);
        let (part, _) = rest[18..].trim_start().split_once(": ").expect(line);
        (address, part)
    });
    let parts: Vec<_> = parts.collect();
    assert_eq!(parts.len(), 20, "{shown}");
    assert!(
        parts.iter().any(|(_, part)| part.starts_with("[1].")),
        "{shown}"
    );
    let gdb = setup::program("gdb-multiarch", "gdb-multiarch", &target());
    let mut gdb = Command::new(gdb.expect("gdb is to be had"));
    gdb.args(["-nx", "-batch"])
        .arg(&path)
        .args(["-ex", "set language rust"]);
    for (_, part) in &parts {
        gdb.args([
            "-ex",
            &format!("output/x &{STATIC}{part}"),
            "-ex",
            "echo \\n",
        ]);
    }
    let output = gdb.output().expect("gdb starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = text.lines().filter_map(|line| line.split("0x").nth(1));
    let found = found.map(|digits| u64::from_str_radix(digits.trim(), 16).expect("an address"));
    let expected = parts
        .iter()
        .map(|(address, _)| u64::from_str_radix(&address[2..], 16));
    let expected: Vec<_> = expected.map(|it| it.expect("an address")).collect();
    assert_eq!(found.collect::<Vec<_>>(), expected, "{text}{shown}");
}

/// A script stops at what cannot be run; nobody takes the rest for all of it.
pub fn what_cannot_be_run_is_named(kernel: Kernel) {
    let (_folder, dump) = expect_of(&image(kernel), "hang-masked", "1", &[]);
    for (command, why) in [
        (
            "frame 1",
            "unknown command `frame`; `help` lists the commands",
        ),
        ("cpu 1", "unknown CPU"),
        ("cpu -1", "invalid decimal number `-1`"),
        ("bt task 900", "task 900 does not exist or runs on a CPU"),
        ("lookup", "expected an address"),
        ("x wxyz", "`wxyz` is neither a hexadecimal address nor "),
        ("x 0 0", "expected a count from 1 to 4096"),
        ("disassemble 8", "no memory is mapped at 0x0000000000000008"),
        ("tasks 1", "unknown argument `1`"),
    ] {
        let ran = script(&dump, &format!("cpu 0\n{command}\ncpu 0\n")).expect(2);
        let words = format!("error: command in line 2: {why}");
        let ran = ran.expect_words(&words);
        assert_eq!(ran.text().lines().count(), 1, "{}", ran.text());
    }
    let unmapped = script(&dump, "x ffffffffffffffff 3\n").expect(0).text();
    let says = "0xfffffffffffffff8: not mapped\n";
    assert_eq!(unmapped, says);
}

/// At a terminal a command is completed and edited, and one that cannot be run does not end it.
pub fn a_terminal_edits_commands(kernel: Kernel) {
    let (_folder, dump) = expect_of(&image(kernel), "hang-masked", "1", &[]);
    let (keys, terminal) = terminal::pair();
    let mut runner = command()
        .args(["autopsy", "-i"])
        .arg(&dump)
        .stdin(terminal)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let mut output = runner.stdout.take().expect("a pipe");
    // From the first prompt on, the terminal takes keys one by one. Before it, it edits lines itself.
    let mut text = Vec::new();
    while !text.ends_with(b"\n> ") {
        let mut byte = [0];
        output.read_exact(&mut byte).expect("there is a prompt");
        text.extend_from_slice(&byte);
    }
    let mut keys = File::from(keys);
    // Tab completes, Ctrl-U forgets the line, Up brings one back, Ctrl-D ends it.
    keys.write_all(b"loo\t8\rnonsense\x15cpux\x7f 0\rwhat\r\x1b[A\r\x04")
        .expect("it is read");
    output.read_to_end(&mut text).expect("text");
    let text = String::from_utf8_lossy(&text).into_owned();
    let status = runner.wait().expect("the runner ends");
    assert_eq!(status.code(), Some(0), "{text}");
    assert!(
        text.starts_with("the machine had 1 CPU, and was inspected because the machine's own clock reached the time limit"),
        "{text}"
    );
    let says = "0x0000000000000008: not in the image\n";
    assert!(text.contains(says), "{text}");
    assert!(text.contains("\ncpu 0, stopped at "), "{text}");
    let unknown = "unknown command `what`; `help` lists the commands\n";
    assert_eq!(text.matches(unknown).count(), 2, "{text}");
    assert!(!text.contains("`nonsense`"), "{text}");
}
