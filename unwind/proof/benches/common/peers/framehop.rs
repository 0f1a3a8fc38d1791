//! framehop: `.eh_frame_hdr` and `.eh_frame` through gimli, with a cache of 509 rules.

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{CacheStats, ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder};

use super::Registers;
use crate::common::program::Program;
use crate::common::stack::Stack;
use crate::common::tables::Tables;

/// Entries of framehop's cache; an address has the one of this remainder.
pub const CACHE_SLOTS: u64 = 509;

pub struct Peer<'a> {
    unwinder: UnwinderX86_64<&'a [u8]>,
    cache: CacheX86_64,
}

impl<'a> Peer<'a> {
    pub fn new(program: &Program, tables: &'a Tables) -> Self {
        let (start, end) = program.text();
        let range = |section: &super::super::tables::Section| {
            section.address..section.address + section.bytes.len() as u64
        };
        let sections = ExplicitModuleSectionInfo {
            base_svma: start,
            text_svma: Some(start..end),
            eh_frame_svma: Some(range(&tables.eh_frame)),
            eh_frame: Some(&*tables.eh_frame.bytes),
            eh_frame_hdr_svma: Some(range(&tables.eh_frame_hdr)),
            eh_frame_hdr: Some(&*tables.eh_frame_hdr.bytes),
            ..ExplicitModuleSectionInfo::default()
        };
        let mut unwinder = UnwinderX86_64::new();
        unwinder.add_module(Module::new(
            "program".to_owned(),
            start..end,
            start,
            sections,
        ));
        Self {
            unwinder,
            cache: CacheX86_64::new(),
        }
    }

    /// One step; framehop has no look-up apart from it. `None`: there is no caller.
    pub fn step(
        &mut self,
        (pc, sp, fp): Registers,
        mut read: impl FnMut(u64) -> Result<u64, ()>,
    ) -> Option<Registers> {
        let mut registers = UnwindRegsX86_64::new(pc, sp, fp);
        let address = FrameAddress::from_instruction_pointer(pc);
        let (unwinder, cache) = (&self.unwinder, &mut self.cache);
        let caller = unwinder.unwind_frame(address, &mut registers, cache, &mut read);
        let caller = caller.ok()??;
        Some((caller, registers.sp(), registers.bp()))
    }

    /// Walks a whole stack, and hands each address to `found`. Whether the outermost function was reached.
    pub fn walk(
        &mut self,
        stack: &Stack,
        (pc, sp, fp): Registers,
        mut found: impl FnMut(u64),
    ) -> bool {
        let registers = UnwindRegsX86_64::new(pc, sp, fp);
        let range = stack.range();
        let mut read = |address| match range.holds(address, 8) {
            // SAFETY: the address was just checked.
            true => Ok(unsafe { stack.read(address) }),
            false => Err(()),
        };
        let mut frames = self
            .unwinder
            .iter_frames(pc, registers, &mut self.cache, &mut read);
        loop {
            match frames.next() {
                Ok(Some(frame)) => found(frame.address()),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// How often the cache has helped so far.
    pub fn stats(&self) -> CacheStats {
        self.cache.stats()
    }
}
