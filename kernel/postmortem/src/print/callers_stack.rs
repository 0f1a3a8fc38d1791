//! In place of `own_stack`, without the feature `report-stack` and on the host: a report runs on the stack from which it is called.

use unwind::Range;

pub(super) const fn give_up() {}

/// Calls `report` with `None`, because the report runs on the caller's stack. Returns no last line, because no own stack can be used up.
pub(super) fn run(report: &mut dyn FnMut(Option<Range>)) -> Option<&'static str> {
    report(None);
    None
}
