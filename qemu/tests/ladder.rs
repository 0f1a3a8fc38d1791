//! Each call of a report into the kernel, and each way in which the call can fail: the first failure is on the wire, and the machine ends
//! as the kernel wants. The table is `kernel/postmortem/LADDER.md`. `LADDER=write cargo test --test long ladder::` stores the current one.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::boots::{Request, boot_machine};
use crate::support::built::image;
use crate::support::each::kernel_tests;
use crate::support::monitor;
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot, Verdict};
use qemu::workspace;

kernel_tests! { release:
    a_failing_call_leaves_the_first_line_and_ends_the_machine,
    a_call_that_loops_is_cut_by_another_cpu,
    a_handler_of_nmis_from_outside_that_fails_is_reported,
    the_first_line_is_sent_within_three_seconds_of_the_machine,
}

/// The start of the table.
const HEAD: &str = "# Calls from a report into the kernel, and the result if a call fails

A report calls functions of the kernel: methods of `Platform`, callbacks, and the `Display` of texts. In each row of the second table, the report of
a panic makes one call, and the call fails. Each column from `panics` to `halts` is a kind of failure. With two CPUs, the second CPU runs the
watchdog. The kernel sends the first line of the report in every case.

| in a cell | result |
|---|---|
| report | the report contains all callers, and repeats the first failure as its last line |
| line | the report contains a line about the failed call |
| left | the report called `leave` |
| stays | the text that was sent so far remains, and the machine stops, because no other CPU can end the report or the failed call is `leave` |

The test `ladder::` boots each case and compares the result with this table.

| call | CPUs | panics | faults | enters the report again | loops | halts |
|---|---:|---|---|---|---|---|
";

/// The calls, by the words of the command line: those of `kernel/src/sabotage.rs`.
const CALLS: [&str; 20] = [
    "write",
    "report-begins",
    "report-ends",
    "leave",
    "image",
    "stack",
    "cpu",
    "is-online",
    "send-nmi",
    "now",
    "current-task",
    "tasks",
    "task",
    "noted",
    "trap-code",
    "interrupt-name",
    "task-words",
    "trace",
    "dump-wanted",
    "message",
];

/// The ways to fail, in the order of the columns.
const WAYS: [&str; 5] = ["panics", "faults", "reenters", "loops", "halts"];

/// A call that fails in a way, on a machine.
#[derive(Clone, Copy, Debug)]
struct Cell {
    kernel: Kernel,
    call: &'static str,
    way: &'static str,
    cpus: u32,
}

/// The start of the first failure's line.
const FIRST: &str = "panicked at kernel/src/scenario/sabotage.rs:";

impl Cell {
    fn never_returns(&self) -> bool {
        ["loops", "halts"].contains(&self.way)
    }

    /// The text after which the machine stays as it is, if it does.
    fn stays_after(&self) -> Option<&'static str> {
        match (self.call, self.way, self.cpus) {
            ("leave", "panics" | "faults", _) => Some("\nduring the report: "),
            ("leave", "loops" | "halts", _) => Some("\nfirst failure: "),
            // The report of one CPU makes no call of it.
            ("send-nmi", _, 1) => None,
            ("report-ends" | "noted" | "dump-wanted", _, 1) if self.never_returns() => {
                Some("\nfirst failure: ")
            }
            (_, _, 1) if self.never_returns() => Some(FIRST),
            // The watchdog makes this call, too.
            ("is-online", _, _) if self.never_returns() => Some(FIRST),
            _ => None,
        }
    }

    fn words(&self) -> String {
        let more = match self.call {
            "noted" => " dump",
            // A CPU that knows its number makes no call of it.
            "cpu" => " anonymous",
            _ => "",
        };
        format!("sabotage {} {}{more}", self.call, self.way)
    }

    /// Boots, and returns what is left: the words of the table.
    #[track_caller]
    fn outcome(&self) -> String {
        let (text, end) = match self.stays_after() {
            Some(last) => (self.until(last), "stays"),
            None => (self.whole(), "left"),
        };
        let lines = || text.lines().map(|line| line.trim_end_matches('\r'));
        let has = |begin: &str| lines().any(|line| line.starts_with(begin));
        assert!(has(FIRST), "{self:?}: no first line in:\n{text}");
        let mut words = Vec::new();
        if has("end of backtrace: ") && has("first failure: ") {
            words.push("report");
        }
        if has("during the report: ") {
            words.push("line");
        }
        words.push(end);
        words.join(", ")
    }

    /// All that a machine sends that ends by the kernel's act.
    #[track_caller]
    fn whole(&self) -> String {
        let request = Request::of(&image(self.kernel), &self.words());
        request.cpus(self.cpus).run().expect(101).text()
    }

    /// What a machine sends until this text has come; then it is ended.
    #[track_caller]
    fn until(&self, text: &str) -> String {
        let (image, words) = (image(self.kernel), self.words());
        let boot = Boot {
            cpus: self.cpus,
            limit: Some(Duration::from_secs(120)),
            ..Boot::new(self.kernel.arch, &image, &words)
        };
        let (booted, ()) = monitor::with(boot, |machine| machine.wait_for(text));
        String::from_utf8_lossy(&booted.serial).into_owned()
    }
}

/// The row of a call on machines with this number of CPUs. Outcomes that differ are those of x86-64 and of AArch64.
fn row(call: &'static str, cpus: u32) -> String {
    let mut row = format!("| `{}` | {cpus} |", call.replace('-', "_"));
    for way in WAYS {
        let outcomes = Arch::ALL.map(|arch| {
            let profile = Profile::Release;
            let kernel = Kernel { arch, profile };
            let cell = Cell {
                kernel,
                call,
                way,
                cpus,
            };
            cell.outcome()
        });
        let [one, other] = &outcomes;
        let words = match one == other {
            true => one.clone(),
            false => outcomes.join("; "),
        };
        let _ = write!(row, " {words} |");
    }
    row + "\n"
}

fn path() -> PathBuf {
    workspace::root().join("kernel/postmortem/LADDER.md")
}

#[long]
fn the_table_is_what_machines_do() {
    let rows = CALLS
        .iter()
        .flat_map(|call| [1, 2].map(|cpus| row(call, cpus)));
    let table = HEAD.to_owned() + &rows.collect::<String>();
    if std::env::var_os("LADDER").is_some_and(|value| value == "write") {
        fs::write(path(), &table).expect("it can be written");
    }
    let stored = fs::read_to_string(path()).expect("it is there");
    assert_eq!(
        table, stored,
        "if this is meant: LADDER=write cargo test --test long ladder::"
    );
}

/// Fails unless the cell is as the stored table says.
#[track_caller]
fn expect_stored(cell: Cell) {
    let table = fs::read_to_string(path()).expect("it is there");
    let begin = format!("| `{}` | {} |", cell.call.replace('-', "_"), cell.cpus);
    let row = table.lines().find_map(|line| line.strip_prefix(&begin));
    let at = WAYS.iter().position(|way| *way == cell.way);
    let stored = row.zip(at).and_then(|(row, at)| row.split('|').nth(at));
    let stored = stored.expect("the table has the cell").trim();
    let of = usize::from(cell.kernel.arch == Arch::Aarch64);
    let stored = stored.split("; ").nth(of).unwrap_or(stored);
    assert_eq!(cell.outcome(), stored, "{cell:?}");
}

fn a_failing_call_leaves_the_first_line_and_ends_the_machine(kernel: Kernel) {
    for (call, way, cpus) in [
        ("write", "panics", 1),
        ("leave", "faults", 1),
        ("cpu", "faults", 1),
        ("cpu", "loops", 1),
        ("is-online", "panics", 1),
        ("now", "halts", 1),
        ("message", "reenters", 1),
        ("task", "faults", 1),
        ("send-nmi", "faults", 2),
    ] {
        expect_stored(Cell {
            kernel,
            call,
            way,
            cpus,
        });
    }
}

fn a_call_that_loops_is_cut_by_another_cpu(kernel: Kernel) {
    let (call, way, cpus) = ("task", "loops", 2);
    expect_stored(Cell {
        kernel,
        call,
        way,
        cpus,
    });
}

fn the_first_line_is_sent_within_three_seconds_of_the_machine(kernel: Kernel) {
    let image = image(kernel);
    let boot = Boot {
        limit: Some(Duration::from_secs(120)),
        guest_limit: Some(Duration::from_secs(3)),
        ..Boot::new(kernel.arch, &image, "sabotage cpu loops anonymous")
    };
    let booted = boot_machine(&boot);
    let text = String::from_utf8_lossy(&booted.serial).into_owned();
    assert_eq!(booted.verdict, Verdict::OutOfGuestTime, "{text}");
    assert!(text.contains(&format!("\n{FIRST}")), "{text}");
}

/// The handler is called outside of a report, so that its failure is the first.
fn a_handler_of_nmis_from_outside_that_fails_is_reported(kernel: Kernel) {
    for (way, cpus, first) in [
        ("panics", 1, "panicked at kernel/src/sabotage.rs:"),
        ("faults", 1, "fault on cpu 0 at 0xffff"),
        (
            "halts",
            2,
            "hang on cpu 0: its timer has not ticked for 3 s, detected by cpu 1",
        ),
    ] {
        let request = Request::of(&image(kernel), &format!("sabotage outside {way}"));
        let text = request.cpus(cpus).run().expect(101).text();
        assert!(text.contains(&format!("\n{first}")), "{text}");
        assert!(
            text.contains(&format!("\nfirst failure: {first}")),
            "{text}"
        );
        assert!(!text.contains("during the report"), "{text}");
    }
}
