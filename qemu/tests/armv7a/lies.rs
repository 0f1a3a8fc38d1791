//! Rules that contradict the code: the link mends them, or leaves them out where it cannot.

use std::path::Path;

use qemu::build::Profile;

use super::{LIMIT, built_image};
use crate::support::boots::Request;
use crate::support::built::image_for_arm;
use crate::support::report::Report;

/// The functions of `lies.s` in the order in which they are called, each with the frames that it has itself; and whether what is behind them
/// is sure.
const LIES: [(&[&str], bool); 9] = [
    (&["lie_early_save"], true),
    (&["lie_early_frame"], true),
    (&["lie_push"], true),
    (&["lie_push_constant"], true),
    (&["lie_callee", "lie_call"], true),
    (&["lie_epilogue"], true),
    (&["lie_late_prologue"], true),
    (&["lie_beyond_proof"], false),
    (&["lie_callee", "lie_register"], false),
];

/// Who has called them.
const CALLERS: [&str; 2] = [
    "kernel::scenario::lies::call",
    "kernel::scenario::lies::run",
];

fn lies_are_mended_or_in_doubt(image: &Path) {
    let ran = Request::of(image, "lies").limit(LIMIT).run().expect(0);
    // Their code is right.
    assert!(
        ran.text().ends_with("all 9 functions returned\n"),
        "{}",
        ran.text()
    );
    let reports = Report::find_all(&ran.serial);
    assert_eq!(reports.len(), LIES.len(), "{}", ran.text());
    for (report, (own, is_sure)) in reports.iter().zip(LIES) {
        assert!(report.panicked.starts_with("breakpoint on cpu 0 at "));
        let begin = format!("{:?}: {}", report.names(), report.end);
        let letters = report.frames.iter().map(|frame| frame.letter);
        let letters: String = letters.collect();
        assert_eq!(report.names()[..own.len()], *own, "{begin}");
        if is_sure {
            let behind = &report.names()[own.len()..][..CALLERS.len()];
            assert_eq!(behind, CALLERS, "{begin}");
            assert!(report.end.contains(": complete, "), "{begin}");
            assert_eq!(report.names().last(), Some(&"kernel_entry"), "{begin}");
            assert_eq!(letters.trim_start_matches('p').trim_matches('r'), "");
        } else {
            let reason = "the unwind table has no rows for the function";
            assert!(report.end.contains(reason), "{begin}");
            let from = format!("from frame {} on", own.len());
            assert!(report.end.contains(&from), "{begin}");
            assert!(!report.end.contains(": complete"), "{begin}");
            let marked = letters.chars().nth(own.len());
            assert!(
                marked.is_none_or(|letter| "fl?".contains(letter)),
                "{begin}"
            );
        }
    }
}

#[gate]
fn lies_are_mended_or_in_doubt_debug() {
    lies_are_mended_or_in_doubt(&built_image(false));
}

#[gate]
fn lies_are_mended_or_in_doubt_release() {
    lies_are_mended_or_in_doubt(&built_image(true));
}

#[long]
fn lies_are_mended_or_in_doubt_in_thumb_code() {
    lies_are_mended_or_in_doubt(&image_for_arm(Profile::ThumbRelease));
}
