//! Following a function's code from its first instruction to the one that is asked for.

use super::state::State;
use super::targets::Targets;
use crate::code::{Effect, Flow};
use crate::registers::RegisterSet;

/// The greatest number of passes over a function, and of instructions in one. Loops in loops, laid out backwards, need a third pass.
const PASSES: u32 = 4;
const INSTRUCTIONS: u32 = 1 << 14;

/// What is known before the instruction that holds `pc`, of the function whose code lies at `start`.
///
/// The code is read in the order of its addresses, once and again: what a jump brings to an address further on is known when the pass
/// gets there, and to one further back in the next pass. The last pass is the one that has nothing for another.
pub(super) fn state_at<R: RegisterSet>(
    code: &[u8],
    start: u64,
    pc: u64,
    has_link: bool,
) -> Option<State> {
    let mut follower = Follower {
        targets: Targets::new(),
        framed: None,
        bare: None,
        again: true,
    };
    let mut found = None;
    for _ in 0..PASSES {
        if !follower.again {
            break;
        }
        found = follower.pass::<R>(code, start, pc, has_link)?;
    }
    found
}

/// What passes know of each other.
struct Follower {
    targets: Targets,
    /// What holds at every call and at every jump through a register or memory, while the function has a frame: and so in the code that
    /// nothing in sight leads to, which is reached by a table of jumps, or by whoever unwinds to it.
    framed: Option<State>,
    /// The same where the function has no frame yet, or not any more: if it never has one.
    bare: Option<State>,
    /// Whether another pass may know more.
    again: bool,
}

impl Follower {
    /// Reads the code once. `None` if it cannot be read; otherwise what is known before the instruction that holds `pc`.
    fn pass<R: RegisterSet>(
        &mut self,
        code: &[u8],
        start: u64,
        pc: u64,
        has_link: bool,
    ) -> Option<Option<State>> {
        self.again = false;
        let mut found = None;
        let mut at = Place {
            rest: code,
            offset: 0,
            state: Some(State::at_call(has_link)),
            guessed: false,
            may_end: false,
            steady: 0,
        };
        let wanted = pc.checked_sub(start)?;
        for _ in 0..INSTRUCTIONS {
            self.arrive(&mut at);
            if at.rest.is_empty() {
                return Some(found);
            }
            let effect = R::effect(at.rest, start.wrapping_add(at.offset.into()))?;
            let length = u32::try_from(effect.length).ok()?;
            let after = at.offset.checked_add(length)?;
            if u64::from(at.offset) <= wanted && wanted < after.into() {
                found = at.state;
            }
            at.rest = at.rest.get(effect.length..)?;
            self.leave(&mut at, &effect, start, code.len(), has_link);
            at.offset = after;
        }
        None
    }

    /// What holds at a place, by the instruction before it and by jumps to it.
    fn arrive(&mut self, at: &mut Place<'_>) {
        let before = at.state;
        match (&mut at.state, self.targets.reach(at.offset)) {
            // A call before a place to which there is another way probably does not return.
            (Some(before), Some(known)) if !at.may_end && !at.guessed => before.merge(&known),
            (state, Some(known)) => {
                *state = Some(known);
                at.guessed = false;
            }
            (None, None) => {
                at.state = self.framed.or(self.bare);
                at.guessed = true;
            }
            (Some(_), None) => {}
        }
        if before != at.state || at.guessed {
            at.steady = at.offset;
        }
    }

    /// What an instruction changes, and where it brings that.
    fn leave(
        &mut self,
        at: &mut Place<'_>,
        effect: &Effect,
        start: u64,
        size: usize,
        has_link: bool,
    ) {
        at.may_end = effect.flow == Flow::Call;
        let Some(state) = &mut at.state else {
            return;
        };
        // A guess only leads to others.
        if let Flow::Anywhere | Flow::Call = effect.flow
            && !at.guessed
        {
            let usual = match state.is_at_call(has_link) {
                true => &mut self.bare,
                false => &mut self.framed,
            };
            match usual {
                Some(usual) => usual.merge(state),
                None => {
                    *usual = Some(*state);
                    self.again = true;
                }
            }
        }
        let before = *state;
        state.apply(effect);
        if before != *state {
            at.steady = at.offset.saturating_add(1);
        }
        if let Flow::Branch(to) | Flow::Jump(to) = effect.flow
            && let Ok(to) = u32::try_from(to.wrapping_sub(start))
            && usize::try_from(to).is_ok_and(|to| to < size)
            && !at.guessed
        {
            let back = to <= at.offset;
            // Most jumps back are to where the same holds, which needs no room.
            if !back || to < at.steady {
                self.again |= self.targets.add(to, *state, back);
            }
        }
        if let Flow::Jump(_) | Flow::Anywhere | Flow::End = effect.flow {
            at.state = None;
        }
    }
}

/// A place in the code.
struct Place<'a> {
    rest: &'a [u8],
    /// From the function's start, bytes.
    offset: u32,
    /// What holds, if anything brings control there.
    state: Option<State>,
    /// Nothing in sight leads there, and what holds is taken from elsewhere in the function.
    guessed: bool,
    /// The instruction before is a call, which may not return.
    may_end: bool,
    /// Since which offset the same holds.
    steady: u32,
}
