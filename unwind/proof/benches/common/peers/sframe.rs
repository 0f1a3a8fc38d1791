//! This crate.

use unwind::map::Map;
use unwind::sframe::{Base, LookupError, Rule, Tables};
use unwind::{Cached, End, Found, RowSource, RuleCache, Stacks, Unwinder, x86_64};

use super::{Answer, Registers};
use crate::common::shape::Rules;
use crate::common::stack::Stack;
use crate::common::tables::Section;

pub struct Peer<S> {
    rows: S,
}

impl<'a> Peer<Tables<'a>> {
    pub fn new(section: &'a Section) -> Self {
        Self {
            rows: Tables::new(&section.bytes, section.address),
        }
    }
}

impl<'a> Peer<Map<'a>> {
    /// By a rule map.
    pub fn by_map(section: &'a Section) -> Self {
        Self {
            rows: Map::parse(&section.bytes, section.address).expect("a map"),
        }
    }
}

/// Entries of a lent cache.
const ENTRIES: usize = 2048;

impl<'a> Peer<Cached<'static, Map<'a>, ENTRIES>> {
    /// By a rule map, with a cache.
    pub fn cached(section: &'a Section) -> Self {
        let map = Map::parse(&section.bytes, section.address).expect("a map");
        Self {
            rows: Cached::new(map, Box::leak(Box::new(RuleCache::new()))),
        }
    }
}

impl<S: RowSource + Copy> Peer<S> {
    /// As a walk does.
    pub fn look_up(&self, pc: u64) -> Result<Found, LookupError> {
        let mut found = Found::EMPTY;
        self.rows.look_up(pc, &mut found).map(|()| found)
    }

    pub fn answer(&self, pc: u64) -> Answer {
        let rules = self.look_up(pc).ok()?.rules;
        let Rule::Value { base, offset } = rules.cfa() else {
            assert!(rules.is_outermost());
            return Some(None);
        };
        Some(Some(Rules {
            from_fp: base == Base::FramePointer,
            cfa: offset as i32,
            fp: match rules.frame_pointer() {
                Rule::Saved {
                    base: Base::Cfa,
                    offset,
                } => Some(offset as i32),
                _ => None,
            },
        }))
    }

    /// Walks a whole stack, and hands each address to `found`.
    pub fn walk(
        &self,
        stack: &Stack,
        (pc, sp, fp): Registers,
        mut found: impl FnMut(u64),
    ) -> Option<End> {
        // SAFETY: `Stacks` asks for words inside the range only.
        let read = |address| Some(unsafe { stack.read(address) });
        let ranges = [stack.range()];
        let registers = x86_64::Registers::new(pc, sp, fp);
        let code = [stack.code()];
        let unwinder = Unwinder::new(self.rows).code(&code);
        let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
        for frame in frames.by_ref() {
            found(frame.pc);
        }
        frames.end()
    }
}
