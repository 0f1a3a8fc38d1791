//! A bounded list of states at jump targets.

use super::state::State;

/// The maximum number of jump targets at a time. Twice as many did not improve the result for this repository's kernels and the C library, because
/// other targets get a guess from the rest of the function.
const MOST: usize = 32;

/// The states at jump targets.
pub(super) struct Targets {
    list: [Target; MOST],
    count: usize,
}

#[derive(Clone, Copy)]
struct Target {
    /// The offset from the function's start in bytes.
    at: u32,
    /// Whether a later pass needs the target, because a jump leads back to it.
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

    /// Records a jump to an address. Returns whether this changes the state of a target of a jump back.
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

    /// Returns the state recorded for jump target `at`. Removes the entry if only forward jumps lead there, because it is not needed again.
    pub(super) fn reach(&mut self, at: u32) -> Option<State> {
        let (last, others) = self.list.get_mut(..self.count)?.split_last_mut()?;
        let found = match others.iter_mut().find(|target| target.at == at) {
            Some(target) if target.stays => return Some(target.state),
            // The last target replaces it.
            Some(target) => core::mem::replace(target, *last),
            None if last.at == at && last.stays => return Some(last.state),
            None if last.at == at => *last,
            None => return None,
        };
        self.count = self.count.saturating_sub(1);
        Some(found.state)
    }
}
