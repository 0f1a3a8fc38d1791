//! States at addresses that jumps lead to: a bounded list.

use super::state::State;

/// The greatest number of jumps to keep at a time. Twice as many gained nothing in this repository's kernels and in the C library: what has
/// no room is guessed from the rest of the function.
const MOST: usize = 32;

/// The states at targets of jumps.
pub(super) struct Targets {
    list: [Target; MOST],
    count: usize,
}

#[derive(Clone, Copy)]
struct Target {
    /// From the function's start, bytes.
    at: u32,
    /// Whether a later pass needs it: the jump leads back.
    stays: bool,
    state: State,
}

impl Targets {
    pub(super) const fn new() -> Self {
        let nothing = Target {
            at: 0,
            stays: false,
            state: State::at_call(false),
        };
        Self {
            list: [nothing; MOST],
            count: 0,
        }
    }

    /// Notes a jump to an address; returns whether that changes what a jump back says.
    pub(super) fn add(&mut self, at: u32, state: State, back: bool) -> bool {
        let mut known = self.list.iter_mut().take(self.count);
        if let Some(target) = known.find(|target| target.at == at) {
            let before = *target;
            target.state.merge(&state);
            target.stays |= back;
            return target.stays && (before.state != target.state || !before.stays);
        }
        let Some(free) = self.list.get_mut(self.count) else {
            return false;
        };
        *free = Target {
            at,
            stays: back,
            state,
        };
        self.count = self.count.wrapping_add(1);
        back
    }

    /// The state that jumps bring to an address. A target of jumps forwards only is not kept.
    pub(super) fn reach(&mut self, at: u32) -> Option<State> {
        let (last, others) = self.list.get_mut(..self.count)?.split_last_mut()?;
        let found = match others.iter_mut().find(|target| target.at == at) {
            Some(target) if target.stays => return Some(target.state),
            // The last one takes its place.
            Some(target) => core::mem::replace(target, *last),
            None if last.at == at && last.stays => return Some(last.state),
            None if last.at == at => *last,
            None => return None,
        };
        self.count = self.count.saturating_sub(1);
        Some(found.state)
    }
}
