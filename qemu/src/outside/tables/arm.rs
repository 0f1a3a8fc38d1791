//! The tables of 32-bit ARM: a rule map, whose rows hold at every instruction, and the compiler's exception tables, which hold at calls.

use std::fmt;

use anyhow::Result;
use linker::map;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};
use unwind::ehabi;
use unwind::sframe::{Damage, ParseError, Verified};
use unwind::{ArmTables, ArmVerified, Range};

use super::Rows;

/// Bytes of the image, and their address.
type Part = (Vec<u8>, u64);

/// The bytes of both, and where they lie.
#[derive(Clone, Debug)]
pub(in crate::outside) struct Arm {
    map: Part,
    /// `.ARM.exidx` and `.ARM.extab`.
    exceptions: [Part; 2],
    /// From the first address of code to the last: exception tables do not say where their last function ends.
    code: Range,
    /// Code whose functions have no caller, which exception tables do not tell.
    outermost: [Range; 1],
    verified: ArmVerified,
    /// The map was made here from the image's code and call frame information.
    is_made: bool,
}

impl Arm {
    pub(super) fn read(data: &[u8]) -> Result<Self> {
        let file = object::File::parse(data)?;
        let section = |name| {
            let section = file.section_by_name(name);
            section.and_then(|section| Some((section.data().ok()?.to_vec(), section.address())))
        };
        let own = section(map::SECTION).filter(|(bytes, _)| !bytes.is_empty());
        let is_made = own.is_none();
        let made = || linker::make::rows_beside(data).map(|made| (made, 0));
        let map = own.or_else(|| made().ok()).unwrap_or_default();
        let code = file
            .sections()
            .filter(|one| one.kind() == SectionKind::Text && one.size() > 0);
        let code = code.map(|one| (one.address(), one.address().saturating_add(one.size())));
        let code = code.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        let (start, end) = code.unwrap_or_default();
        let symbol = |name| file.symbol_by_name(name).map(|symbol| symbol.address());
        let outermost = symbol("__outermost_start").zip(symbol("__outermost_end"));
        let (first, last) = outermost.unwrap_or_default();
        let mut tables = Self {
            map,
            exceptions: [".ARM.exidx", ".ARM.extab"].map(|name| section(name).unwrap_or_default()),
            code: Range::new(start, end),
            outermost: [Range::new(first, last)],
            verified: ArmTables::none().verify(),
            is_made,
        };
        tables.verified = tables.tables().verify();
        Ok(tables)
    }

    pub(super) fn move_by(&mut self, bytes: u64) {
        let [index, table] = &mut self.exceptions;
        for (_, address) in [&mut self.map, index, table] {
            *address = address.wrapping_add(bytes);
        }
        for range in [&mut self.code, &mut self.outermost[0]] {
            let Range { start, end } = *range;
            *range = Range::new(start.wrapping_add(bytes), end.wrapping_add(bytes));
        }
    }

    pub(super) fn verify_code(&self, code: &[u8], at: u64) -> Option<Result<Verified, Damage>> {
        (!self.map.0.is_empty()).then(|| self.tables().verify_code(code, at).map)
    }

    pub(super) fn rows(&self) -> Rows<'_> {
        let tables = self.tables().verified(self.verified);
        match self.verified.map {
            Ok(Verified { checksum, .. }) if !checksum => Rows::not_compared(tables),
            _ => Rows::new(tables),
        }
    }

    fn tables(&self) -> ArmTables<'_> {
        let [(index, at), (table, table_at)] = &self.exceptions;
        let (at, table_at) = (*at as u32, *table_at as u32);
        let exceptions = ehabi::Tables::new(index, at, table, table_at, self.code);
        let (map, address) = &self.map;
        ArmTables::new(map, *address, exceptions).outermost(&self.outermost)
    }
}

/// What is known of them, in the words of a kernel.
impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_exceptions = !self.exceptions[0].0.is_empty();
        let after = if has_exceptions { ", " } else { "" };
        match (self.verified.map, self.is_made) {
            (Ok(_), true) => {
                f.write_str("unwind tables were synthesized from the image's code")?;
                f.write_str(after)?;
            }
            (Ok(Verified { checksum: true, .. }), false) => write!(f, "tables verified{after}")?,
            (
                Ok(Verified {
                    checksum: false, ..
                }),
                false,
            ) => write!(f, "tables without checksum{after}")?,
            (Err(Damage::Section(ParseError::Empty)), _) if has_exceptions => {}
            (Err(Damage::Section(ParseError::Empty)), _) => {
                f.write_str("no tables: the image has no unwind rule map, no symbols, no .debug_frame and no exception tables")?;
            }
            (Err(damage), _) => write!(f, "tables damaged: {damage}{after}")?,
        }
        match self.verified.exceptions {
            _ if !has_exceptions => Ok(()),
            // Nobody has compared them with the code.
            Ok(()) => f.write_str("exception tables are valid only at calls"),
            Err((number, error)) => {
                write!(f, "exception tables damaged at entry {number}: {error}")
            }
        }
    }
}
