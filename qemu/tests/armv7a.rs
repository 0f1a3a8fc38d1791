//! ARMv7-A: every scenario that it has ends as it should; and its lists, by the rule map and, at calls, by exception tables: what they say, and
//! that they are right between every two instructions.

mod asked_hangs;
mod boundaries;
mod cpus;
mod lies;
mod runner;
mod sent;
mod tables;
mod trap_code;

use std::path::PathBuf;

use crate::support::boots::Request;
use crate::support::report::{Frame, Report};
use crate::support::runner::{Ran, run};
use crate::support::{built, gdb, symbols};
use qemu::build::Profile;
use qemu::machine::{Boot, Processor};
use qemu::oracle::armv7a::Image;
use qemu::scenario::{Outcome, SCENARIOS, Scenario};

/// The time limit of a boot in seconds. A hundred NMIs whose handler writes traces take half a minute of an unoptimized kernel's time,
/// and more of a busy host's.
const LIMIT: u64 = 300;

/// `cargo run -- --arch armv7a [--release] ARGUMENT…`
fn armv7a(release: bool, words: &[&str]) -> Ran {
    let options = ["--arch", "armv7a"].into_iter();
    let options = options.chain(release.then_some("--release"));
    run(options.chain(words.iter().copied()))
}

/// Boots the kernel with this command line. The exit status is 0 if the scenario ended as it should.
fn judge(release: bool, words: &str) -> Ran {
    Request::of(&built_image(release), words).judged()
}

/// The kernel's image.
fn built_image(release: bool) -> PathBuf {
    built::image_for_arm(match release {
        true => Profile::Release,
        false => Profile::Debug,
    })
}

fn image(release: bool) -> (PathBuf, Image) {
    let file = built_image(release);
    let image = Image::read(&file).expect("the kernel's image");
    (file, image)
}

fn scenarios() -> impl Iterator<Item = &'static Scenario> {
    let its = SCENARIOS.iter().filter(|it| it.is_on("armv7a"));
    its.filter(|it| !matches!(it.outcome, Outcome::Interactive | Outcome::Hangs))
}

fn names() -> Vec<&'static str> {
    let names: Vec<_> = scenarios().map(|it| it.name).collect();
    assert!(names.len() > 60, "{names:?}");
    names
}

fn they_end_as_they_should(release: bool, names: &[&str]) {
    for name in names {
        let request = Request::of(&built_image(release), name).limit(LIMIT);
        request.judged().expect(0);
    }
}

// An unoptimized kernel takes a second for a trace, so its scenarios are two tests, which run at the same time.
#[long]
fn half_of_the_scenarios_end_as_they_should_debug() {
    let names = names();
    they_end_as_they_should(false, &names[..names.len() / 2]);
}

#[long]
fn the_other_scenarios_end_as_they_should_debug() {
    let names = names();
    they_end_as_they_should(false, &names[names.len() / 2..]);
}

#[gate]
fn every_scenario_ends_as_it_should_release() {
    they_end_as_they_should(true, &names());
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
    let report = Report::find(&judge(release, "deep").expect(0).serial);
    report.expect_complete();
    assert_eq!(own(&report, "deep").len(), 201);
    for frame in &report.frames {
        assert_eq!(frame.letter, 'r', "{frame:?}");
    }
    let words = "exception tables are valid only at calls\n";
    assert!(report.text.contains(words), "{}", report.text);
}

#[gate]
fn a_list_is_complete_at_a_call_debug() {
    a_list_is_complete_at_a_call(false);
}

#[gate]
fn a_list_is_complete_at_a_call_release() {
    a_list_is_complete_at_a_call(true);
}

/// ARM and Thumb code call each other: four times each, as the scenario says.
#[gate]
fn arm_and_thumb_code_call_each_other() {
    for release in [false, true] {
        let report = Report::find(&judge(release, "thumb").expect(0).serial);
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

/// The rows of the rule map hold where a function was interrupted, too.
fn a_list_across_an_interruption_is_complete(release: bool) {
    for (scenario, above) in [
        ("undefined", 0),
        ("null-read", 0),
        ("thumb-undefined", 0),
        ("late-save", 0),
        ("panic-in-handler", 1),
        ("panic-in-timer", 1),
    ] {
        let report = Report::find(&judge(release, scenario).expect(0).serial);
        report.expect_complete();
        let at = report.frames.iter().position(|it| it.letter == 'p');
        let at = at.expect("what was interrupted");
        assert_eq!(above != 0, at != 0, "{scenario}: {}", report.text);
        let words = "tables and code verified, exception tables are valid only at calls\n";
        assert!(report.text.contains(words), "{}", report.text);
    }
}

#[gate]
fn a_list_across_an_interruption_is_complete_debug() {
    a_list_across_an_interruption_is_complete(false);
}

#[gate]
fn a_list_across_an_interruption_is_complete_release() {
    a_list_across_an_interruption_is_complete(true);
}

/// The trap frame that its entry in the exception tables leads to: with what was interrupted.
#[gate]
fn what_was_interrupted_follows_its_trap_code() {
    let report = Report::find(&judge(false, "panic-in-handler").expect(0).serial);
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

/// gdb goes by `.debug_frame`, and stops at the panic handler; then the kernel goes on, and lists its callers itself. gdb's innermost frame is
/// somewhat before the kernel's.
fn gdb_sees_the_same_callers(release: bool, scenarios: [&str; 2]) {
    for scenario in scenarios {
        let image = built_image(release);
        let script = format!("source {}", gdb::script("walk.py").display());
        let commands = [
            "set backtrace past-main on",
            "break rust_begin_unwind",
            "continue",
            &script,
            "continue",
        ];
        let session = gdb::session(Boot::new(Processor::Armv7a, &image, scenario), commands);
        session.expect_stop();
        let report = Report::find(&session.booted.serial);
        report.expect_complete();
        let theirs = session.said.lines();
        let theirs = theirs.filter_map(|line| line.strip_prefix("frame 0x"));
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
            "{scenario}: {session:?}\n{}",
            report.text
        );
    }
}

#[gate]
fn gdb_sees_the_same_callers_debug() {
    gdb_sees_the_same_callers(false, ["panic", "thumb"]);
}

#[gate]
fn gdb_sees_the_same_callers_release() {
    gdb_sees_the_same_callers(true, ["deep", "thumb"]);
}

/// Whose only knowledge of memory is what the MMU says, and of its stack what the boot code shows.
#[gate]
fn a_report_by_one_call_needs_no_platform() {
    for release in [false, true] {
        let text = judge(release, "one-call").expect(0).text();
        let (_, report) = text
            .split_once("\nnothing has failed\narmv7a, build ")
            .expect("a report");
        let functions = ["r kernel::scenario::one_call::run", "r kernel_entry"];
        for function in functions {
            assert!(report.contains(function), "{function}: {report}");
        }
        assert!(report.contains("end of backtrace: complete, "), "{report}");
    }
}

/// The whole kernel in Thumb code, but for its assembly: by each way into the kernel, and with each kind of stack.
fn in_thumb_code_it_is_the_same(release: bool) {
    let image = built::image_for_arm(match release {
        true => Profile::ThumbRelease,
        false => Profile::ThumbDebug,
    });
    for scenario in [
        "thumb",
        "ok",
        "null-read",
        "breakpoint",
        "stack-overflow",
        "one-call",
        "nmi",
        "hang",
        "tasks",
        "elsewhere",
        "panic-in-timer",
        "interrupted-places",
        "user-call",
        "deadlock",
    ] {
        let request = Request::of(&image, scenario).limit(LIMIT);
        request.judged().expect(0);
    }
    let words = ["--thumb", "--timeout", "300", "deep"];
    let report = Report::find(&armv7a(release, &words).expect(0).serial);
    report.expect_complete();
    let calls = own(&report, "deep");
    assert_eq!(calls.len(), 201);
    // Its instructions have two bytes.
    assert!(
        calls.iter().any(|frame| frame.address % 4 == 2),
        "{}",
        report.text
    );
}

#[long]
fn in_thumb_code_it_is_the_same_debug() {
    in_thumb_code_it_is_the_same(false);
}

#[long]
fn in_thumb_code_it_is_the_same_release() {
    in_thumb_code_it_is_the_same(true);
}

/// As `what_is_kept_is_written_back_from_the_caches` of the other architectures: DCCMVAC.
#[gate]
fn what_is_kept_is_written_back_from_the_caches() {
    for release in [false, true] {
        let code = symbols::code(&built_image(release), "postmortem::caches::clean");
        let is_there = code.windows(4).any(|it| {
            let [low, high] = [[it[0], it[1]], [it[2], it[3]]].map(u16::from_le_bytes);
            high == 0xee07 && low & 0xfff == 0xf3a
        });
        assert!(is_there, "{code:02x?}");
    }
}
