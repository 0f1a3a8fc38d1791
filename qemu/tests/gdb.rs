//! gdb reads DWARF from the ELF file and the stack through QEMU; a report is made by the kernel from its own tables.
//! They must tell the same.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::support::each::kernel_tests;
use crate::support::report::{Frame, Report};
use crate::support::runner::command;
use crate::support::{built, gdb, symbols};
use qemu::build::Kernel;
use qemu::machine::{Boot, Booted, Verdict};

kernel_tests! { debug:
    gdb_sees_the_same_two_hundred_callers,
}

kernel_tests! { release:
    gdb_sees_the_same_callers_of_the_allocator,
}

kernel_tests! { every:
    gdb_sees_the_same_callers_of_panic,
    gdb_sees_the_same_callers_across_an_exception,
    gdb_sees_the_same_callers_of_every_task,
}

/// What gdb says of a frame.
#[derive(Debug, PartialEq, Eq)]
struct Caller {
    address: u64,
    name: String,
    /// The functions that the code belongs to, innermost first, with line and file.
    sources: Vec<(String, u32, String)>,
}

fn gdb_sees_the_same_callers_of_panic(kernel: Kernel) {
    compare(kernel, "panic");
}

/// With `--gdb=run` gdb is where the runner is, stops at the panic handler, and the machine ends with it.
#[test]
fn the_runner_starts_gdb_with_the_symbols() {
    let mut runner = command()
        .args(["--gdb=run", "panic"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let typed = "continue\nbacktrace\nquit\n";
    let mut input = runner.stdin.take().expect("it has an input");
    input.write_all(typed.as_bytes()).expect("gdb listens");
    drop(input);
    let output = runner.wait_with_output().expect("the runner ends");
    let said = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}{words}");
    let verdict = "panic: gdb ended (exit status: 0) before the kernel reported success or a panic";
    assert!(words.contains(verdict), "{words}");
    for expected in ["#0  ", "kernel::scenario::panic::fifth", "kernel_main"] {
        assert!(said.contains(expected), "no {expected:?} in: {said}");
    }
}

/// Nothing is left among the temporary files, whatever ends the runner.
#[test]
fn a_killed_runner_leaves_no_temporary_file() {
    let temporary = tempfile::tempdir().expect("a folder can be made");
    let mut runner = command()
        .args(["--gdb=run", "panic"])
        .env("TMPDIR", temporary.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let mut input = runner.stdin.take().expect("it has an input");
    writeln!(input, "echo gdb is here\\n").expect("gdb listens");
    let mut said = BufReader::new(runner.stdout.take().expect("a pipe")).lines();
    let is_here = |line: &str| line.contains("gdb is here");
    let here = said.find(|line| line.as_ref().is_ok_and(|line| is_here(line)));
    assert!(here.is_some(), "no gdb");
    runner.kill().expect("it runs");
    runner.wait().expect("it has ended");
    let socket = built::target().join(format!("gdb-{}.socket", runner.id()));
    assert!(!socket.exists());
    let left = std::fs::read_dir(temporary.path()).expect("it is a folder");
    let left: Vec<_> = left.filter_map(Result::ok).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Whoever debugs has the terminal until gdb ends, also when the machine has ended before.
#[test]
fn the_runner_ends_after_gdb() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mark = folder.path().join("gdb was here");
    let mut runner = command()
        .args(["--gdb=run", "panic"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the runner starts");
    let mark_it = format!("shell sleep 1; touch '{}'", mark.display());
    let typed = format!("delete\ncontinue\n{mark_it}\nquit\n");
    let mut input = runner.stdin.take().expect("it has an input");
    input.write_all(typed.as_bytes()).expect("gdb listens");
    drop(input);
    let status = runner.wait().expect("the runner ends");
    assert!(mark.exists(), "gdb had more to do");
    assert_eq!(status.code(), Some(0), "the scenario panicked, as expected");
}

fn gdb_sees_the_same_two_hundred_callers(kernel: Kernel) {
    compare(kernel, "deep");
}

fn gdb_sees_the_same_callers_of_the_allocator(kernel: Kernel) {
    compare(kernel, "heap-panic");
}

fn gdb_sees_the_same_callers_across_an_exception(kernel: Kernel) {
    compare(kernel, "panic-in-handler");
}

/// What every task that does not run has on its stack: gdb is told where each stopped.
fn gdb_sees_the_same_callers_of_every_task(kernel: Kernel) {
    let data = std::fs::read(built::image(kernel)).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    let tasks = symbols::array(&file, "TASKS");
    let set = [
        ("tasks", tasks.first),
        ("size", tasks.stride),
        ("count", tasks.count),
    ];
    let dump = format!("*{:#x}", symbols::pointer(&file, "AT_DUMP"));
    let (booted, said) = boot(kernel, "tasks", &dump, &set, "tasks.py");
    assert_eq!(booted.verdict, Verdict::Success);
    let reports = Report::find_all(&booted.serial);
    let tasks = || said.split("\ntask ").skip(1);
    // All but the one that runs.
    assert_eq!(tasks().count() + 1, reports.len(), "gdb said:\n{said}");
    let mut frames = 0;
    for (report, task) in reports[1..].iter().zip(tasks()) {
        report.expect_complete();
        frames += report.frames.len();
        compare_callers(report, &callers(task), 0);
    }
    assert!(frames > 30, "{kernel:?}: {frames} frames");
}

/// Boots once; gdb stops at the panic handler and lists the callers, then the kernel goes on and lists them itself.
fn compare(kernel: Kernel, scenario: &str) {
    let handler = qemu::image::panic_handler(&built::image(kernel)).expect("the image can be read");
    let handler = handler.expect("the kernel has a panic handler");
    let (booted, said) = boot(kernel, scenario, &handler, &[], "walk.py");
    assert_eq!(booted.verdict, Verdict::Panicked);
    let report = Report::find(&booted.serial);
    report.expect_complete();
    // gdb stopped somewhat before the kernel took its own registers, so the innermost address differs.
    compare_callers(&report, &callers(&said), 1);
}

/// Both have the same functions, and the same addresses and lines but for the first ones.
#[track_caller]
fn compare_callers(report: &Report, callers: &[Caller], but: usize) {
    let names: Vec<_> = callers.iter().map(|caller| caller.name.as_str()).collect();
    assert_eq!(report.names(), names, "names, the report's left");
    let left: Vec<_> = report.frames.iter().map(|frame| frame.address).collect();
    let right: Vec<_> = callers.iter().map(|caller| caller.address).collect();
    assert_eq!(left[but..], right[but..], "addresses, the report's left");
    for (frame, caller) in report.frames.iter().zip(callers).skip(but) {
        compare_sources(frame, caller);
    }
}

/// Boots a scenario under gdb, which stops once at a function, runs a script of its own there
/// with these variables set, and goes on. What came of the
/// boot, and what gdb said.
fn boot(
    kernel: Kernel,
    scenario: &str,
    stop: &str,
    set: &[(&str, u64)],
    script: &str,
) -> (Booted, String) {
    let image = built::image(kernel);
    let commands = [
        "set backtrace past-main on".to_owned(),
        format!("break {stop}"),
        "continue".to_owned(),
        "set language c".to_owned(),
    ];
    let set = set.iter();
    let set = set.map(|(name, value)| format!("set ${name} = {value}UL"));
    let script = format!("source {}", gdb::script(script).display());
    let commands = commands.into_iter().chain(set);
    let commands = commands.chain([script, "continue".to_owned()]);
    let session = gdb::session(Boot::new(kernel.arch, &image, scenario), commands);
    assert!(session.said.contains("frame 0x"), "{session:?}");
    (session.booted, session.said)
}

/// Both name the same functions, inlined ones among them, and the same places, as far as either knows them.
#[track_caller]
fn compare_sources(frame: &Frame, caller: &Caller) {
    // The kernel carries symbols of level `faults`: where code was interrupted at an instruction that cannot fault, as
    // behind a breakpoint of x86_64, they may say the outermost line only.
    let sources = match (frame.letter, &frame.sources[..]) {
        ('p', [_]) => caller.sources.last().map_or(&[][..], std::slice::from_ref),
        _ => &caller.sources,
    };
    let names = |of: &[(String, u32, String)]| of.iter().map(|(name, ..)| name.clone()).collect();
    let found: Vec<String> = frame.sources.iter().map(|s| s.name.clone()).collect();
    let expected: Vec<String> = names(sources);
    assert_eq!(found, expected, "{frame:x?}, gdb has {caller:x?}");
    for (source, (_, line, file)) in frame.sources.iter().zip(sources) {
        let Some((found, found_line)) = &source.place else {
            // Code that no line stands for: gdb takes the nearest.
            continue;
        };
        assert_eq!(found_line, line, "{frame:x?}, gdb has {caller:x?}");
        assert!(
            file.ends_with(found.as_str()),
            "{found}, gdb has {file}: {frame:x?}"
        );
    }
}

/// What `walk.py` wrote.
fn callers(text: &str) -> Vec<Caller> {
    let shown = |name: &str| {
        let demangled = format!("{:#}", rustc_demangle::demangle(name));
        plain_self_type(without_generics(&demangled))
    };
    let mut callers = Vec::new();
    let mut sources = Vec::new();
    for line in text.lines() {
        if let Some(source) = line.strip_prefix("source ") {
            let mut words = source.splitn(3, ' ');
            let mut word = || words.next().expect("three words");
            let (number, file, name) = (word(), word(), word());
            let number = number.parse().expect("a line's number");
            sources.push((shown(name), number, file.to_owned()));
        } else if let Some(frame) = line.strip_prefix("frame 0x") {
            let (address, name) = frame.split_once(' ').expect("two words");
            callers.push(Caller {
                address: u64::from_str_radix(address, 16).expect("an address"),
                name: shown(name),
                sources: std::mem::take(&mut sources),
            });
        }
    }
    callers
}

/// `<path::Type>::function` without the brackets, as a report has it.
fn plain_self_type(name: String) -> String {
    let inner = name
        .strip_prefix('<')
        .and_then(|rest| rest.split_once(">::"));
    match inner {
        Some((path, rest)) if path.contains("::") && !path.contains([' ', '<', '[', '(', '&']) => {
            format!("{path}::{rest}")
        }
        _ => name,
    }
}

/// A name less the generic arguments of its functions, `f::<…>`, and of its types and traits, `T<…>`: a report leaves
/// them out. What begins with `<`, as `<A as B>::f`, has none.
fn without_generics(name: &str) -> String {
    let mut short = String::new();
    let mut depth = 0;
    for (at, c) in name.char_indices() {
        let before = &name[..at];
        let arrow = c == '>' && before.ends_with(['-', '=']);
        let opens = before.ends_with("::") || before.ends_with(|c: char| c.is_alphanumeric());
        match c {
            '<' if depth > 0 || opens => depth += 1,
            '>' if depth > 0 && !arrow => depth -= 1,
            c if depth == 0 => short.push(c),
            _ => {}
        }
        if depth == 1 && c == '<' && short.ends_with("::") {
            short.truncate(short.len() - 2);
        }
    }
    assert_eq!(depth, 0, "unbalanced: {name}");
    short
}
