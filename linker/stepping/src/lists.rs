//! Walks the whole list of callers with `unwind`, as a kernel does, and compares the list with the truth.

use object::Architecture;
use unwind::{
    Code, End, Fallbacks, FrameKind, ImageTables, Range, RegisterSet, Stacks, Unwinder, aarch64,
    arm, x86_64,
};

use crate::machine::{Machine, State};
use crate::modules::Modules;
use crate::truth::Truth;

/// Bytes below the stack pointer that a walk may read.
const BELOW: u64 = 256;
/// Largest stack that is read, in bytes.
const LARGEST: u64 = 8 << 20;
/// Bits of an AArch64 return address that authentication uses in user programs without tags.
const AUTHENTICATION: u64 = 0xff7f_0000_0000_0000;

/// A frame of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Program counter.
    pub pc: u64,
    /// Stack pointer.
    pub sp: u64,
}

/// The result of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The list is not called complete.
    Incomplete,
    /// The list is called complete.
    Complete {
        /// The list is equal to the truth.
        is_right: bool,
        /// All rows used are proven.
        is_proven: bool,
    },
}

/// A list, and what came of its comparison.
#[derive(Clone, Debug)]
pub struct Walked {
    /// The result.
    pub outcome: Outcome,
    /// Frames, innermost first.
    pub frames: Vec<Listed>,
    /// Why the list is not called complete.
    pub reason: Option<End>,
}

/// Walks from `state`, on the stack that ends at the truth's base.
#[must_use]
pub fn walk(modules: &Modules, state: &State, machine: &impl Machine, truth: &Truth) -> Walked {
    let State {
        pc,
        sp,
        fp,
        ref registers,
    } = *state;
    let architecture = modules
        .at(pc)
        .map(|loaded| loaded.module.architecture.machine);
    match architecture {
        Some(Architecture::Aarch64) => {
            let registers = aarch64::Registers::new(pc, sp, fp, registers[30])
                .with_authentication_bits(AUTHENTICATION);
            walk_from(modules, state, registers, machine, truth)
        }
        Some(Architecture::Arm) => {
            let [core @ .., _] = registers.first_chunk::<17>().copied().unwrap_or_default();
            let registers = arm::Registers::of(&core.map(|value| value as u32));
            walk_from(modules, state, registers, machine, truth)
        }
        _ => walk_from(
            modules,
            state,
            x86_64::Registers::new(pc, sp, fp),
            machine,
            truth,
        ),
    }
}

fn walk_from<R: RegisterSet>(
    modules: &Modules,
    state: &State,
    registers: R,
    machine: &impl Machine,
    truth: &Truth,
) -> Walked {
    let base = truth.base().unwrap_or(state.sp);
    let start = (state.sp & !7).saturating_sub(BELOW);
    let mut stack = vec![0; base.saturating_sub(start).min(LARGEST) as usize];
    let read = machine.read(start, &mut stack);
    stack.truncate(read);
    let word = |address: u64| {
        let at = usize::try_from(address.checked_sub(start)?).ok()?;
        let bytes = stack.get(at..at.checked_add(R::WORD as usize)?)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte)),
        )
    };
    let tables = modules.loaded.iter().map(|loaded| {
        let (bytes, address) = &loaded.module.table;
        ImageTables::new(bytes, address.wrapping_add(loaded.moved_by))
    });
    let tables: Vec<ImageTables<'_>> = tables.collect();
    let code = modules.loaded.iter().flat_map(|loaded| {
        let code = loaded.module.code.iter();
        code.map(|(bytes, address)| Code::new(bytes, address.wrapping_add(loaded.moved_by)))
    });
    let code: Vec<Code<'_>> = code.collect();
    let ranges = [Range::new(start, base)];
    let unwinder = Unwinder::new(&tables[..])
        .code(&code)
        .fallbacks(Fallbacks::empty());
    let mut walk = unwinder.frames(registers, Stacks::new(&ranges, word));
    let mut is_proven = true;
    let frames = walk.by_ref().map(|frame| {
        let place = match frame.kind {
            FrameKind::Exact => frame.pc,
            FrameKind::ReturnAddress => frame.pc.wrapping_sub(1),
        };
        let loaded = modules.at(place);
        is_proven &= loaded.is_some_and(|loaded| {
            loaded
                .module
                .judged(place.wrapping_sub(loaded.moved_by))
                .is_proven()
        });
        Listed {
            pc: frame.pc,
            sp: frame.registers.map_or(0, |registers| registers.sp()),
        }
    });
    let frames: Vec<Listed> = frames.collect();
    let end = walk.end().filter(|end| !end.is_complete());
    let reason = walk.doubt().map(|doubt| doubt.reason).or(end);
    let outcome = match reason {
        None => Outcome::Complete {
            is_right: is_right(&frames, state, truth),
            is_proven,
        },
        Some(_) => Outcome::Incomplete,
    };
    Walked {
        outcome,
        frames,
        reason,
    }
}

/// Whether a list is the truth, from which optional entries may be missing.
fn is_right(frames: &[Listed], state: &State, truth: &Truth) -> bool {
    let Some((first, rest)) = frames.split_first() else {
        return false;
    };
    let mut rest = rest.iter().peekable();
    for entry in truth.entries() {
        let listed = Listed {
            pc: entry.pc,
            sp: entry.sp,
        };
        if rest.next_if(|frame| **frame == listed).is_none() && !entry.is_optional {
            return false;
        }
    }
    rest.next().is_none()
        && *first
            == Listed {
                pc: state.pc,
                sp: state.sp,
            }
}
