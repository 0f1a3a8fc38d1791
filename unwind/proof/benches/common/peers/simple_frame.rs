//! simple-frame-rs: the same `.sframe`.

use simple_frame_rs::{SFrameFRE, SFrameSection};

use super::Answer;
use crate::common::shape::Rules;
use crate::common::tables::Tables;

pub struct Peer<'a> {
    section: SFrameSection<'a>,
}

impl<'a> Peer<'a> {
    pub fn new(tables: &'a Tables) -> Self {
        let (bytes, address) = (&tables.sframe.bytes, tables.sframe.address);
        Self {
            section: SFrameSection::from(bytes, address).expect("an .sframe"),
        }
    }

    pub fn row(&self, pc: u64) -> Option<SFrameFRE> {
        let function = self.section.find_fde(pc).ok()??;
        function.find_fre(&self.section, pc).ok()?
    }

    /// The rules of a row, and its CFA's offset, which is all that the benchmark asks of one.
    pub fn rules(&self, row: &SFrameFRE) -> Option<Rules> {
        let cfa = row.get_cfa_offset(&self.section).ok()??;
        Some(Rules {
            from_fp: row.get_cfa_base_reg_id() == 0,
            cfa,
            fp: row.get_fp_offset(&self.section).ok()?,
        })
    }

    pub fn answer(&self, pc: u64) -> Answer {
        self.row(pc).map(|row| self.rules(&row))
    }
}
