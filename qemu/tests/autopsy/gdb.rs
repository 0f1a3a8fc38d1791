//! gdb on a dump. It finds callers by its own means, from debug information.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Output};

use qemu::build::Kernel;
use qemu::machine::Processor;
use qemu::setup;

use super::expect_of;
use crate::support::built::{image, target};
use crate::support::report::Report;
use crate::support::runner::{command, fed, run};

/// What gdb is asked: of each thread the registers by which it goes, and who called whom; and to change something.
const COMMANDS: &str = "set width 0
set print frame-arguments none
thread apply all -q printf \"begin %lx %lx\\n\", $pc, $sp
thread apply all -q backtrace
set var $sp = 16
stepi
continue
printf \"end %lx\\n\", $sp
";

fn written(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{words}");
    text
}

/// The functions that gdb lists of a thread, the innermost first.
fn names(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| line.starts_with('#'));
    let names = lines.map(|line| {
        let (_, rest) = line.split_once(' ').expect("a number");
        let rest = rest.trim_start();
        // Only of frames that are not at the begin of a line of the source.
        let rest = match rest.strip_prefix("0x") {
            Some(address) => address.split_once(" in ").expect("a name").1,
            None => rest,
        };
        rest.split(" (").next().unwrap_or_default()
    });
    names.collect()
}

/// gdb says the same of the dump as the walk of the machine.
pub fn gdb_says_the_same(kernel: Kernel<Processor>) {
    let image = image(kernel);
    let (_folder, dump) = expect_of(&image, "hang-masked", "2", &["cpu 1"]);
    expect_the_same(&["autopsy".as_ref(), dump.as_os_str()]);
}

/// What gdb says to these commands.
#[track_caller]
fn said(dump: &Path, commands: &str) -> String {
    let arguments = ["autopsy".as_ref(), "--gdb=run".as_ref(), dump.as_os_str()];
    fed(arguments, commands).expect(0).text()
}

/// Fails unless gdb finds the same callers of two CPUs as the runner does with these words.
#[track_caller]
pub fn expect_the_same(words: &[&OsStr]) {
    let with_gdb = words.iter().copied().chain(["--gdb=run".as_ref()]);
    let text = fed(with_gdb, COMMANDS).expect(0).text();
    let text = text.replace("(gdb) ", "");
    let asked = run(words).expect(0);
    let reports = Report::find_all(&asked.serial);
    assert!(reports.len() >= 2, "{}", asked.text());
    // At the begin of a line: closures have numbers, too.
    let (_, lists) = text.split_once("\n#0 ").expect(&text);
    // The last thread comes first.
    let (of_second, of_first) = lists.split_once("\n#0 ").expect(&text);
    for (report, list) in reports.iter().zip([of_first, of_second]) {
        let sources = report.frames.iter().flat_map(|frame| &frame.sources);
        let expected: Vec<_> = sources.map(|source| plain(&source.name)).collect();
        let list = format!("#0 {list}");
        let found: Vec<_> = names(&list).into_iter().map(plain).collect();
        assert_eq!(found, expected, "{text}");
        let begin = format!("begin {:x} ", report.frames[0].address);
        assert!(text.contains(&begin), "{begin}: {text}");
    }
    // A dump neither changes nor goes on.
    let begins = text.lines().filter_map(|line| line.strip_prefix("begin "));
    let stacks: Vec<_> = begins.filter_map(|line| line.split_once(' ')).collect();
    let (_, sp) = stacks.last().expect("two threads");
    assert!(text.contains(&format!("end {sp}")), "{text}");
    assert!(text.contains("Thread 1 received signal SIGSTOP"), "{text}");
}

/// The last part of a function's name, without types: gdb has other words for implementations.
fn plain(name: &str) -> String {
    let mut depth = 0;
    let outside = name.chars().filter(|character| {
        depth += i32::from(*character == '<');
        let is_outside = depth == 0;
        depth -= i32::from(*character == '>');
        is_outside
    });
    let outside: String = outside.collect();
    let mut parts = outside.rsplit("::").filter(|part| !part.is_empty());
    match parts.next().unwrap_or_default() {
        // The compiler's name of the panic handler, and the source's.
        "rust_begin_unwind" => "panic".to_owned(),
        name => name.to_owned(),
    }
}

/// A gdb that somebody else has started.
pub fn gdb_may_come_by_a_port(kernel: Kernel) {
    let image = image(kernel);
    let (_folder, dump) = expect_of(&image, "hang-masked", "2", &["cpu 1"]);
    // Free a moment ago; nobody else is told to take it.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("it has a number").port();
    let option = format!("--gdb={port}");
    let arguments = ["autopsy".as_ref(), option.as_ref(), dump.as_os_str()];
    let taken = run(arguments).expect(1);
    taken.expect_words("choose another port with --gdb=PORT");
    drop(listener);
    let mut runner = command()
        .args(arguments)
        .spawn()
        .expect("the runner starts");
    let gdb = setup::program("gdb-multiarch", "gdb-multiarch", &target());
    let output = Command::new(gdb.expect("gdb is to be had"))
        .args([
            "-quiet",
            "-batch",
            "-iex",
            "set tcp connect-timeout 60",
            "-ex",
        ])
        .arg(format!("target remote localhost:{port}"))
        .args(["-ex", "printf \"pc %lx\\n\", $pc"])
        .arg(&image)
        .output()
        .expect("gdb starts");
    let text = written(&output);
    assert!(runner.wait().expect("it ends").success());
    let asked = run(["autopsy".as_ref(), dump.as_os_str()]).expect(0);
    let report = Report::find(&asked.serial);
    let pc = format!("pc {:x}", report.frames[0].address);
    assert!(text.contains(&pc), "{pc}: {text}");
}

/// The pages of a stack that gdb is asked for, from the one with the stack pointer on. The page behind a stack is not there.
const PAGES: u64 = 4;

/// Registers, stacks and the build id that gdb has written to files are enough for the same report. Without the build id nothing shows
/// that the image ran, and no list is complete.
pub fn what_gdb_has_read_says_the_same(kernel: Kernel<Processor>) {
    let image = image(kernel);
    let (folder, dump) = expect_of(&image, "hang-masked", "1", &["complete"]);
    let file = |name: &str| folder.path().join(name);
    let registers = file("registers");
    let mut commands = format!(
        "set language c\nset $page = (unsigned long)$sp / 4096 * 4096\nprintf \"sp is %lx\\n\", $sp\nset logging file {}\nset logging enabled on\ninfo registers\nset logging enabled off\n",
        registers.display()
    );
    for page in 0..PAGES {
        let memory = file(&page.to_string());
        let (from, end) = (page * 0x1000, page * 0x1000 + 0x1000);
        let memory = memory.display();
        let command = format!("dump binary memory {memory} $page+{from} $page+{end}\n");
        commands.push_str(&command);
    }
    let bytes = std::fs::read(&image).expect("the image is there");
    let (id, length) = super::loaded_build_id(&bytes);
    let id_file = file("id");
    let id_shown = id_file.display();
    let command = format!("dump binary memory {id_shown} {id:#x} {:#x}\n", id + length);
    commands.push_str(&command);
    let said = said(&dump, &commands);
    let (_, sp) = said.split_once("sp is ").expect(&said);
    let sp: String = sp.chars().take_while(char::is_ascii_hexdigit).collect();
    let first = u64::from_str_radix(&sp, 16).expect("a number") & !0xfff;
    let pages = (0..PAGES).filter(|page| file(&page.to_string()).exists());
    let pages: Vec<_> = pages
        .map(|page| {
            let place = format!("{:#x}", first + page * 0x1000);
            format!("--memory={place}={}", file(&page.to_string()).display())
        })
        .collect();
    assert!(!pages.is_empty(), "{said}");
    let paths = [&registers, &image].map(|path| path.to_str().expect("a path in UTF-8"));
    let [registers, image] = paths;
    let words = ["autopsy", "--registers", registers, "--image", image];
    let words = words.into_iter().chain(pages.iter().map(String::as_str));
    let doubted = run(words.clone()).expect(0).text();
    assert!(!doubted.contains(": complete, "), "{doubted}");
    let unknown = "it is unknown whether this image ran";
    assert!(doubted.contains(unknown), "{doubted}");
    let id_memory = format!("--memory={id:#x}={}", id_file.display());
    let read = run(words.chain([&*id_memory])).expect(0).text();
    let kept = run(["autopsy".as_ref(), dump.as_os_str()]).expect(0).text();
    // Each says why it was asked; and where tasks are noted gdb was not told to read.
    let lines = |text: &str| {
        text.split_once('\n')
            .expect("more than a line")
            .1
            .to_owned()
    };
    let expected = lines(&kept)
        + "cannot read task 0; this task and all tasks with higher numbers are omitted (at most 24 tasks)\n";
    super::expect_equal(&expected, &lines(&read));
}
