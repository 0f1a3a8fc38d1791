//! Checks reports of a recursion that overflowed its stack, whose middle frames are left out.

use super::report::Report;

/// The function that calls itself.
const DESCEND: &str = "kernel::scenario::overflow::descend";

/// Fails unless the report has the two ends of the recursion, and says how many frames are between them.
#[track_caller]
pub fn expect_ends(report: &Report) {
    let (at, left_out) = &report.words[0];
    assert!((4..10).contains(at), "in:\n{}", report.text);
    let left_out: usize = left_out
        .strip_suffix(" frames left out")
        .and_then(|count| count.parse().ok())
        .unwrap_or_else(|| panic!("no count in:\n{}", report.text));
    let all = report.frames.len() + left_out;
    assert_eq!(
        report.end,
        format!("end of backtrace: complete, {all} frames")
    );
}

/// The report from the recursion on, and the expected trace for that. The frames before it depend on where the stack overflowed:
/// in the function itself, or in one that it calls.
#[track_caller]
pub fn from_recursion(mut report: Report) -> (Report, String) {
    assert_eq!(report.frames[0].letter, 'p', "in:\n{}", report.text);
    let mut frames = report.frames.iter();
    let innermost = frames.position(|frame| frame.name.as_deref() == Some(DESCEND));
    let innermost = innermost.unwrap_or_else(|| panic!("no recursion in:\n{}", report.text));
    assert!(innermost < 3, "in:\n{}", report.text);
    report.frames.drain(..innermost);
    for (before, _) in &mut report.words {
        *before -= innermost;
    }
    let letter = if innermost == 0 { 'p' } else { 'r' };
    (report, format!("{letter} {DESCEND}\nr* {DESCEND}"))
}
