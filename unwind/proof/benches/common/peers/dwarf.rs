//! gimli: the search table of `.eh_frame_hdr`, then the instructions of one function up to the address.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, ParsedEhFrameHdr,
    RegisterRule, UnwindContext, UnwindSection, UnwindTableRow, X86_64,
};

use super::Answer;
use crate::common::shape::Rules;
use crate::common::tables::Tables;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

pub struct Peer<'a> {
    header: ParsedEhFrameHdr<Slice<'a>>,
    section: EhFrame<Slice<'a>>,
    bases: BaseAddresses,
    context: UnwindContext<usize>,
}

impl<'a> Peer<'a> {
    pub fn new(tables: &'a Tables) -> Self {
        let bases = BaseAddresses::default()
            .set_eh_frame(tables.eh_frame.address)
            .set_eh_frame_hdr(tables.eh_frame_hdr.address);
        let mut section = EhFrame::new(&tables.eh_frame.bytes, LittleEndian);
        section.set_address_size(8);
        Self {
            header: EhFrameHdr::new(&tables.eh_frame_hdr.bytes, LittleEndian)
                .parse(&bases, 8)
                .expect("an .eh_frame_hdr"),
            section,
            bases,
            context: UnwindContext::new(),
        }
    }

    pub fn row(&mut self, pc: u64) -> Option<&UnwindTableRow<usize>> {
        let table = self.header.table()?;
        let (section, context) = (&self.section, &mut self.context);
        table
            .unwind_info_for_address(section, &self.bases, context, pc, EhFrame::cie_from_offset)
            .ok()
    }

    pub fn answer(&mut self, pc: u64) -> Answer {
        let row = self.row(pc)?;
        if row.register(X86_64::RA) == Some(RegisterRule::Undefined) {
            return Some(None);
        }
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else {
            panic!("a CFA by expression at {pc:#x}");
        };
        Some(Some(Rules {
            from_fp: register == X86_64::RBP,
            cfa: offset as i32,
            fp: match row.register(X86_64::RBP) {
                Some(RegisterRule::Offset(offset)) => Some(offset as i32),
                _ => None,
            },
        }))
    }
}
