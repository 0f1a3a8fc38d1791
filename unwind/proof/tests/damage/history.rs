//! Whether a list can be the truth of another run: what no reader of the stack can tell from damage. Read from the code, from
//! each function's first instruction on, by another decoder than the walk's.

use std::collections::{HashMap, HashSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, OpKind};
use qemu::machine::Arch;
use unwind::FrameKind;
use unwind::sframe::Tables;

use crate::damage::capture::Situation;
use crate::damage::walk::{List, Place};

/// What calls lead to, and where instructions begin.
pub struct History {
    /// By return address; `None`: by a pointer.
    pub calls: HashMap<u64, Option<u64>>,
    instructions: HashSet<u64>,
    functions: Vec<(u64, u64)>,
    arch: Arch,
}

impl History {
    pub fn read(situation: &Situation) -> Self {
        let section = Tables::new(&situation.tables.bytes, situation.tables.address);
        let section = section.first().expect("a table");
        let functions = section.functions();
        let functions: Vec<_> = functions
            .map(|one| (one.start(), one.start() + u64::from(one.size())))
            .collect();
        let mut history = Self {
            calls: HashMap::new(),
            instructions: HashSet::new(),
            functions,
            arch: situation.arch,
        };
        for (start, end) in history.functions.clone() {
            let base = situation.code.address;
            let from = start.checked_sub(base).map(|at| at as usize);
            let Some(bytes) = from.and_then(|from| {
                situation
                    .code
                    .bytes
                    .get(from..from + (end - start) as usize)
            }) else {
                continue;
            };
            match situation.arch {
                Arch::X86_64 => history.read_x86_64(bytes, start),
                Arch::Aarch64 => history.read_aarch64(bytes, start),
            }
        }
        history
    }

    fn read_x86_64(&mut self, bytes: &[u8], start: u64) {
        for instruction in &mut Decoder::with_ip(64, bytes, start, DecoderOptions::NONE) {
            self.instructions.insert(instruction.ip());
            let target = match instruction.flow_control() {
                FlowControl::Call if instruction.op0_kind() == OpKind::NearBranch64 => {
                    Some(instruction.near_branch64())
                }
                FlowControl::IndirectCall => None,
                _ => continue,
            };
            self.calls.insert(instruction.next_ip(), target);
        }
    }

    fn read_aarch64(&mut self, bytes: &[u8], start: u64) {
        for (word, at) in bytes.as_chunks().0.iter().zip((start..).step_by(4)) {
            self.instructions.insert(at);
            let word = u32::from_le_bytes(*word);
            let target = if word >> 26 == 0b100101 {
                let distance = i64::from((word << 6).cast_signed() >> 6) * 4;
                Some(at.wrapping_add_signed(distance))
            } else if word & 0xffff_fc1f == 0xd63f_0000 {
                None
            } else {
                continue;
            };
            self.calls.insert(at + 4, target);
        }
    }

    /// The first instruction of the function with this one, and its end.
    pub fn function(&self, pc: u64) -> Option<(u64, u64)> {
        let mut functions = self.functions.iter();
        functions
            .find(|(start, end)| (*start..*end).contains(&pc))
            .copied()
    }

    /// Why this list, which is not the `truth`, can be that of another run; or why not.
    pub fn explain(&self, list: &List, truth: &List) -> Result<&'static str, String> {
        let mut kinds = Vec::new();
        for (index, [callee, caller]) in list.places.array_windows().enumerate() {
            let kind = self.link(callee, caller)?;
            let is_new = truth.places.get(index) != Some(callee)
                || truth.places.get(index + 1) != Some(caller);
            if is_new {
                kinds.push(kind);
            }
        }
        let kind = kinds.into_iter().max().ok_or("nothing differs")?;
        let same_sizes = list.cfas == truth.cfas;
        Ok(match (kind, same_sizes) {
            (Link::Called, true) => "another call of the function, from a frame of that size",
            (Link::Called, false) => "another call of the function",
            (Link::Interrupted, true) => {
                "another instruction interrupted, with a frame of that size"
            }
            (Link::Interrupted, false) => "another instruction interrupted",
            (Link::Between, true) => {
                "x86-64: interrupted in the middle of an instruction, with a frame of that size"
            }
            (Link::Between, false) => "x86-64: interrupted in the middle of an instruction",
            (Link::Jumped, _) => "a call of a function that jumps on",
            (Link::Pointer, true) => "a call by a pointer, from a frame of that size",
            (Link::Pointer, false) => "a call by a pointer",
        })
    }

    fn link(&self, callee: &Place, caller: &Place) -> Result<Link, String> {
        let pc = caller.pc;
        if caller.kind == FrameKind::Exact {
            return match (self.instructions.contains(&pc), self.arch) {
                (true, _) => Ok(Link::Interrupted),
                // Only a decoder of all instructions could tell.
                (false, Arch::X86_64) if self.function(pc).is_some() => Ok(Link::Between),
                (false, _) => Err(format!("{pc:#x} is no instruction")),
            };
        }
        let Some(called) = self.calls.get(&pc) else {
            return Err(format!("there is no call before {pc:#x}"));
        };
        let start = self.function(callee.lookup_pc()).map(|(start, _)| start);
        match *called {
            None => Ok(Link::Pointer),
            Some(target) if Some(target) == start => Ok(Link::Called),
            Some(target) if caller.tail_call == Some(target) => Ok(Link::Jumped),
            Some(target) => Err(format!("{pc:#x} called {target:#x}, not {:#x}", callee.pc)),
        }
    }
}

/// How a frame is reached from its caller, from the surest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    Called,
    Interrupted,
    Jumped,
    Pointer,
    Between,
}
