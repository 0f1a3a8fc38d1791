//! Tests of the judgement of a boot.

use std::time::Duration;

use super::*;

const REPORT: &str = "kernel\r\npanicked at src/a.rs:1:2: no\r\n   0: 0x0000000000000000 p a\r\n\
                      end of backtrace: complete, 1 frames\r\n";

fn booted(verdict: Verdict, serial: &str) -> Booted {
    Booted {
        verdict,
        serial: serial.into(),
        has_report: report::has_failure(serial.as_bytes()),
        asked: Vec::new(),
        took: Duration::from_secs(5),
        lacks: None,
    }
}

#[test]
fn a_panic_needs_a_whole_report() {
    let whole = scenario(Outcome::Panics, &booted(Verdict::Panicked, REPORT));
    assert_eq!(whole.status, Status::Success, "{}", whole.words);
    assert!(whole.words.contains("1 frames"), "{}", whole.words);
    let spoilt = [
        ("panicked at ", "paniced at ", "no line"),
        (
            "end of",
            "end with",
            "the last line of its backtrace is missing",
        ),
        ("complete,", "incomplete: no row,", "not complete"),
    ];
    for (from, to, words) in spoilt {
        let serial = REPORT.replace(from, to);
        let judged = scenario(Outcome::Panics, &booted(Verdict::Panicked, &serial));
        assert_eq!(judged.status, Status::Failed);
        assert!(judged.words.contains(words), "{}", judged.words);
    }
}

/// The end line of a different backtrace does not end the backtrace of the failure.
#[test]
fn a_panic_needs_all_frames_of_its_own_list() {
    let frame = |number| format!("{number:>4}: 0x0000000000000000 r a\n");
    let end = |count| format!("end of backtrace: complete, {count} frames\n");
    let begin = "panicked at a:1:2: no\ncpu 0, x86_64\n".to_owned();
    let other = "cpu 1, task main1, stopped at 0x10, stack boot of cpu 1\n".to_owned();
    let task = "task first: ready\n".to_owned();
    let out = "   ----- 40 frames left out -----\n".to_owned();
    let compact = |number| format!("{number:>3} r a (a:1)\n");
    let judged = |lines: &[String]| {
        let serial = lines.concat();
        scenario(Outcome::Panics, &booted(Verdict::Panicked, &serial)).status
    };
    let whole = [
        vec![begin.clone(), frame(0), frame(1), end(2)],
        vec![begin.clone(), frame(0), out.clone(), frame(41), end(42)],
        vec![begin.clone(), frame(0), end(1), other.clone(), end(3)],
        vec![begin.clone(), compact(0), compact(1), end(2)],
        vec![begin.clone(), compact(0), compact(41), end(42)],
    ];
    for lines in whole {
        assert_eq!(judged(&lines), Status::Success, "{lines:?}");
    }
    let lacking = [
        vec![begin.clone(), end(2)],
        vec![begin.clone(), compact(0), end(2)],
        vec![begin.clone(), compact(1), compact(0), end(1)],
        vec![begin.clone(), frame(0), end(2)],
        vec![begin.clone(), frame(1), end(1)],
        vec![begin.clone(), frame(0), frame(2), end(2)],
        vec![begin.clone(), frame(0), frame(41), end(42)],
        vec![begin.clone(), frame(0), other.clone(), frame(0), end(1)],
        vec![begin.clone(), other, frame(0), end(1)],
        vec![begin.clone(), frame(0), task.clone(), frame(1), end(2)],
        vec![begin, task, frame(0), end(1)],
    ];
    for lines in lacking {
        assert_eq!(judged(&lines), Status::Failed, "{lines:?}");
    }
}

#[test]
fn a_scenario_that_should_hang_must_not_succeed() {
    let judged = |verdict| scenario(Outcome::Hangs, &booted(verdict, ""));
    let success = judged(Verdict::Success);
    assert_eq!(success.status, Status::Failed);
    assert_eq!(success.words, "succeeded, but should have hung");
    assert_eq!(judged(Verdict::TimedOut).status, Status::TimedOut);
}

#[test]
fn an_exception_is_reported_too() {
    let fault = REPORT.replace(
        "panicked at src/a.rs:1:2: no",
        "fault on cpu 0 at 0x0: page fault",
    );
    let judged = scenario(Outcome::Panics, &booted(Verdict::Panicked, &fault));
    assert_eq!(judged.status, Status::Success, "{}", judged.words);
}

#[test]
fn a_doubt_must_be_said() {
    let status =
        |serial: &str| scenario(Outcome::PanicsInDoubt, &booted(Verdict::Panicked, serial)).status;
    assert_eq!(status(REPORT), Status::Failed);
    assert_eq!(
        status(&REPORT.replace("complete", "incomplete: no")),
        Status::Success
    );
    assert_eq!(
        status(&REPORT.replace("end of", "end with")),
        Status::Failed
    );
}

#[test]
fn a_report_without_a_verdict_is_not_enough() {
    let failed = Verdict::Failed("reset".into());
    let status = |verdict| scenario(Outcome::Panics, &booted(verdict, REPORT)).status;
    assert_eq!(status(failed), Status::Failed);
    assert_eq!(status(Verdict::Success), Status::Failed);
    assert_eq!(status(Verdict::TimedOut), Status::TimedOut);
}

#[test]
fn what_is_lacking_hides_no_verdict() {
    let judged = |verdict| {
        let booted = Booted {
            lacks: Some("no picture".into()),
            ..booted(verdict, "")
        };
        image(&booted)
    };
    let expected = |status, words: &str| Judgement::new(status, words);
    assert_eq!(
        judged(Verdict::Success),
        expected(Status::Failed, "succeeded; no picture")
    );
    assert_eq!(
        judged(Verdict::Panicked),
        expected(Status::Panicked, "panicked; no picture")
    );
}

#[test]
fn success_must_be_meant() {
    let status = |verdict| scenario(Outcome::Succeeds, &booted(verdict, REPORT)).status;
    assert_eq!(status(Verdict::Success), Status::Success);
    assert_eq!(status(Verdict::Panicked), Status::Failed);
    assert_eq!(status(Verdict::TimedOut), Status::TimedOut);
    assert_eq!(status(Verdict::Left), Status::Panicked);
}

#[test]
fn a_report_that_fails_says_so_in_one_line() {
    let status =
        |serial: &str| scenario(Outcome::FailsToReport, &booted(Verdict::Panicked, serial)).status;
    let failed =
        "kernel\npanicked at a:1:2: no\nduring the report: panicked at b\nfirst failure: no\n";
    assert_eq!(status(failed), Status::Success);
    assert_eq!(status(&failed.replace("during", "in")), Status::Failed);
    assert_eq!(
        status(&failed.replace("panicked at a", "a")),
        Status::Failed
    );
    assert_eq!(status(&(failed.to_owned() + REPORT)), Status::Failed);
}

#[test]
fn an_interactive_scenario_ends_as_it_is_told_to() {
    let status = |verdict| scenario(Outcome::Interactive, &booted(verdict, "")).status;
    assert_eq!(status(Verdict::Success), Status::Success);
    assert_eq!(status(Verdict::Panicked), Status::Panicked);
    // A user who leaves gives no verdict, but the report of the kernel is one.
    assert_eq!(status(Verdict::Left), Status::Success);
    let serial = "panicked at src/main.rs:1:2:\noh\n";
    for judge in [image, |booted: &Booted| {
        scenario(Outcome::Interactive, booted)
    }] {
        let left = judge(&booted(Verdict::Left, serial));
        assert_eq!(left.status, Status::Panicked);
    }
}

#[test]
fn an_image_is_taken_at_its_word() {
    let status = |verdict| image(&booted(verdict, "")).status;
    assert_eq!(status(Verdict::Success), Status::Success);
    assert_eq!(status(Verdict::Panicked), Status::Panicked);
    assert_eq!(status(Verdict::TimedOut), Status::TimedOut);
    assert_eq!(status(Verdict::Failed("reset".into())), Status::Failed);
}
