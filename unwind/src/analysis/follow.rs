//! Analysis of a function's code from its first instruction to the instruction at an address.

use super::state::State;
use super::targets::Targets;
use crate::code::{Effect, Flow};
use crate::registers::RegisterSet;

/// The maximum number of passes over a function, and of instructions in a pass. Nested loops, laid out backwards, need a third pass.
const PASSES: u32 = 4;
const INSTRUCTIONS: u32 = 1 << 14;

/// Returns the state before the instruction at `pc`, in the function whose code is at `start`.
///
/// Each pass reads the code in the order of its addresses. The state that a jump brings to a later address is known when the pass arrives there;
/// the state that it brings to an earlier address is used in the next pass. The passes end when no such state changes.
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

/// The data that one pass leaves for the next.
struct Follower {
    targets: Targets,
    /// The common state of all calls and jumps through a register or memory while the function has a frame. It is the guess for code that no
    /// known jump reaches, but a jump table or an unwinder does.
    framed: Option<State>,
    /// The common state of calls and jumps while the function has no frame: the guess if the function never has one.
    bare: Option<State>,
    /// Whether another pass may find more.
    again: bool,
}

impl Follower {
    /// Reads the code once, and returns the state before the instruction at `pc`. The outer `None` means that the code cannot be decoded.
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

    /// Sets the state at a place, from the previous instruction and from jumps to the place.
    fn arrive(&mut self, at: &mut Place<'_>) {
        let before = at.state;
        match (&mut at.state, self.targets.reach(at.offset)) {
            // If a jump also leads here, a call before this place probably does not return.
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

    /// Applies an instruction to the state, and records the state for the targets of its jump.
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
        // A guess must not become the reason for another guess.
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
            // Most jumps back lead to an equal state, which need not be stored.
            if !back || to < at.steady {
                self.again |= self.targets.add(to, *state, back);
            }
        }
        if let Flow::Jump(_) | Flow::Anywhere | Flow::End | Flow::Never = effect.flow {
            at.state = None;
        }
    }
}

/// A place in the code.
struct Place<'a> {
    rest: &'a [u8],
    /// The offset from the function's start in bytes.
    offset: u32,
    /// The state, if control flow reaches the place.
    state: Option<State>,
    /// Whether no known control flow reaches the place, and the state comes from elsewhere in the function.
    guessed: bool,
    /// Whether the previous instruction is a call, which may not return.
    may_end: bool,
    /// The offset since which the state is the same.
    steady: u32,
}
