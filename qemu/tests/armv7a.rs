//! ARMv7-A: every scenario that it has ends as it should; and what its reports say of exception tables, which hold at calls only.

mod support;

use std::process::{Command, Stdio};
use std::time::Duration;

use qemu::armv7a::{EMULATOR, MACHINE};
use qemu::scenario::{Outcome, SCENARIOS, Scenario};
use qemu::setup;
use qemu::workspace::root;
use support::built;
use support::report::{Frame, Report};
use support::runner::{Ran, run};

/// `cargo run -- --arch armv7a [--release] SCENARIO…`
fn armv7a(release: bool, words: &[&str]) -> Ran {
    let options = ["--arch", "armv7a"].into_iter();
    let options = options.chain(release.then_some("--release"));
    run(options.chain(words.iter().copied()))
}

fn scenarios() -> impl Iterator<Item = &'static Scenario> {
    let its = SCENARIOS.iter().filter(|it| it.is_on("armv7a"));
    its.filter(|it| it.outcome != Outcome::Interactive)
}

fn every_scenario(release: bool) {
    let names: Vec<_> = scenarios().map(|it| it.name).collect();
    assert!(names.len() > 30, "{names:?}");
    armv7a(release, &names).expect(0);
}

#[test]
fn every_scenario_ends_as_it_should_debug() {
    every_scenario(false);
}

#[test]
fn every_scenario_ends_as_it_should_release() {
    every_scenario(true);
}

/// The functions of a scenario's own file.
fn own<'r>(report: &'r Report, scenario: &str) -> Vec<&'r Frame> {
    let of = format!("kernel::scenario::{scenario}::");
    let frames = report.frames.iter();
    let is_own = |frame: &&Frame| frame.sources.iter().any(|it| it.name.starts_with(&of));
    frames.filter(is_own).collect()
}

/// The scenario counts its calls itself.
fn a_list_is_complete_at_a_call(release: bool) {
    let report = Report::find(&armv7a(release, &["deep"]).expect(0).serial);
    report.expect_complete();
    assert_eq!(own(&report, "deep").len(), 201);
    for frame in &report.frames {
        assert_eq!(frame.letter, 'r', "{frame:?}");
    }
    let words = "exception tables, for calls only\n";
    assert!(report.text.contains(words), "{}", report.text);
}

#[test]
fn a_list_is_complete_at_a_call_debug() {
    a_list_is_complete_at_a_call(false);
}

#[test]
fn a_list_is_complete_at_a_call_release() {
    a_list_is_complete_at_a_call(true);
}

/// ARM and Thumb code call each other: four times each, as the scenario says.
#[test]
fn arm_and_thumb_code_call_each_other() {
    for release in [false, true] {
        let report = Report::find(&armv7a(release, &["thumb"]).expect(0).serial);
        report.expect_complete();
        let names: Vec<_> = own(&report, "thumb")
            .iter()
            .map(|frame| frame.name.clone().unwrap_or_default())
            .collect();
        let [thumb, arm] = ["thumb", "arm"].map(|name| format!("kernel::scenario::thumb::{name}"));
        let pairs: Vec<_> = (0..8)
            .map(|at| if at % 2 == 0 { &thumb } else { &arm })
            .collect();
        assert_eq!(names.iter().take(8).collect::<Vec<_>>(), pairs);
    }
}

/// Whatever is right in a list that crosses an interruption: its end says that the tables do not promise it, and from where on.
#[test]
fn a_list_across_an_interruption_is_in_doubt() {
    for (scenario, above) in [
        ("undefined", 0),
        ("null-read", 0),
        ("thumb-undefined", 0),
        ("panic-in-handler", 1),
        ("panic-in-timer", 1),
    ] {
        let report = Report::find(&armv7a(false, &[scenario]).expect(0).serial);
        let at = report.frames.iter().position(|it| it.letter == 'p');
        let at = at.expect("what was interrupted");
        assert_eq!(above != 0, at != 0, "{scenario}: {}", report.text);
        let address = report.frames[at].address;
        let doubt = format!(
            "from frame {} on in doubt (interrupted at {address:#018x}, and its row holds at calls only)",
            at + 1
        );
        assert!(report.end.contains(&doubt), "{scenario}: {}", report.end);
    }
}

/// The trap frame that its entry in the exception tables leads to: with what was interrupted.
#[test]
fn what_was_interrupted_follows_its_trap_code() {
    let report = Report::find(&armv7a(false, &["panic-in-handler"]).expect(0).serial);
    let (before, words) = &report.words[0];
    assert_eq!(words, "breakpoint, stack boot");
    let [trap, interrupted] = &report.frames[before - 1..=*before] else {
        panic!("{}", report.text);
    };
    assert_eq!(trap.name.as_deref(), Some("trap_entry"));
    let name = interrupted.sources.last().map(|it| it.name.as_str());
    assert_eq!(name, Some("kernel::scenario::nested::panic_in_handler"));
    assert_eq!(report.names().last(), Some(&"kernel_entry"));
}

#[test]
fn what_it_has_not_is_refused() {
    armv7a(false, &["user-call"])
        .expect(2)
        .expect_words("there is no scenario \"user-call\"; there are: panic, ");
    for option in [
        &["--cpus", "2"][..],
        &["--profile", "out.svg"],
        &["--defmt"],
    ] {
        let words = format!("{} is not there for armv7a", option[0]);
        armv7a(false, &[option, &["panic"]].concat())
            .expect(2)
            .expect_words(&words);
    }
    run(["--arch", "x86_64", "thumb"])
        .expect(2)
        .expect_words("there is no scenario \"thumb\"");
    let listed = armv7a(false, &["--list"]).expect(0).text();
    let names: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(
        names.contains(&"thumb") && !names.contains(&"user-call"),
        "{listed}"
    );
}

/// gdb goes by `.debug_frame`, and stops at the panic handler; then the kernel goes on, and lists its callers itself. gdb's innermost frame is
/// somewhat before the kernel's.
#[test]
fn gdb_sees_the_same_callers() {
    for (release, scenario) in [
        (false, "panic"),
        (false, "thumb"),
        (true, "deep"),
        (true, "thumb"),
    ] {
        let target = built::target();
        let source = setup::rust_src(&target).expect("the source of core is to be had");
        let image = qemu::build::armv7a(release, &source, &target).expect("it is built");
        let emulator = setup::program(EMULATOR.0, EMULATOR.1, &target).expect("QEMU is to be had");
        let gdb = setup::program("gdb-multiarch", "gdb-multiarch", &target);
        let folder = tempfile::tempdir().expect("a folder can be made");
        let socket = folder.path().join("gdb");
        let mut machine = Command::new(emulator)
            .args(MACHINE)
            .args(["-monitor", "none", "-S", "-kernel"])
            .arg(&image)
            .args(["-append", scenario, "-gdb"])
            .arg(format!("unix:{},server=on,wait=off", socket.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("QEMU starts");
        while !socket.exists() {
            assert_eq!(machine.try_wait().expect("it can be asked"), None);
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut debugger = Command::new(gdb.expect("gdb is to be had"));
        debugger.args(["-nx", "-batch"]).arg(&image);
        let connect = format!("target remote {}", socket.display());
        let script = root().join("qemu/tests/gdb/walk.py");
        let source = format!("source {}", script.display());
        for command in [
            "set pagination off",
            "set backtrace past-main on",
            &connect,
            "break rust_begin_unwind",
            "continue",
            &source,
            "continue",
        ] {
            debugger.args(["-ex", command]);
        }
        let said = debugger.output().expect("gdb starts");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let output = machine.wait_with_output().expect("QEMU ends");
        let report = Report::find(&output.stdout);
        report.expect_complete();
        let theirs = said
            .lines()
            .filter_map(|line| line.strip_prefix("frame 0x"));
        let theirs: Vec<u64> = theirs
            .map(|rest| {
                let (address, _) = rest.split_once(' ').expect("an address and a name");
                u64::from_str_radix(address, 16).expect("an address")
            })
            .collect();
        let ours: Vec<u64> = report.frames.iter().map(|frame| frame.address).collect();
        assert!(ours.len() > 10, "{}", report.text);
        assert_eq!(
            ours[1..],
            theirs[1..],
            "{scenario}: {said}\n{}",
            report.text
        );
    }
}
