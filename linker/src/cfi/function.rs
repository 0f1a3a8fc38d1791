//! One FDE to a function with rows.

use gimli::{
    BaseAddresses, EhFrame, FrameDescriptionEntry, Register, RegisterRule, UnwindContext,
    UnwindContextStorage, UnwindTableRow,
};
use unwind::sframe::{Base, Row, Rule};

use super::augmentation::Letters;
use super::rules::{Context, Converted};
use super::{Frames, Slice};
use crate::architecture::Architecture;
use crate::function::{Construct, Function, LeftOut};

/// Bytes of a lazily bound PLT entry on x86-64.
const PLT_ENTRY: u8 = 16;

/// Room for any number of rules and of nested `remember_state`: gimli's own storage stops at four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unbounded;

impl UnwindContextStorage<usize> for Unbounded {
    type Rules = Vec<(Register, RegisterRule<usize>)>;
    type Stack = Vec<UnwindTableRow<usize, Self>>;
}

/// Converts the FDEs of one section.
pub(super) struct Converter<'a, 'data> {
    architecture: &'static Architecture,
    section: &'a EhFrame<Slice<'data>>,
    bases: &'a BaseAddresses,
    /// Reused, for its memory.
    context: UnwindContext<usize, Unbounded>,
}

/// Why a function has no rows, and from which of its bytes on.
struct Failure {
    offset: Option<u64>,
    why: Construct,
}

impl From<Construct> for Failure {
    fn from(why: Construct) -> Self {
        Self { offset: None, why }
    }
}

impl<'a, 'data> Converter<'a, 'data> {
    pub(super) fn new(
        architecture: &'static Architecture,
        section: &'a EhFrame<Slice<'data>>,
        bases: &'a BaseAddresses,
    ) -> Self {
        Self {
            architecture,
            section,
            bases,
            context: UnwindContext::new_in(),
        }
    }

    /// Adds a function, or why there is none.
    pub(super) fn convert(
        &mut self,
        fde: &FrameDescriptionEntry<Slice<'data>>,
        letters: Letters,
        frames: &mut Frames,
    ) {
        let start = fde.initial_address();
        let size = u32::try_from(fde.len());
        let function = |offset: u32, end: u32, rows, block| Function {
            start: start.wrapping_add(offset.into()),
            size: end - offset,
            rows,
            signal: letters.signal,
            key_b: letters.key_b,
            block,
        };
        let result = size
            .map_err(|_| Construct::TooLong.into())
            .and_then(|size| Ok((size, self.rows(fde, size)?)));
        match result {
            Ok((size, Rows { rows, plt: None })) => {
                frames.functions.push(function(0, size, rows, None));
            }
            Ok((
                size,
                Rows {
                    rows,
                    plt: Some((offset, from)),
                },
            )) => {
                if offset > 0 {
                    frames.functions.push(function(0, offset, rows, None));
                }
                let rows = plt_rows(self.architecture, from);
                let plt = function(offset, size, rows, Some(PLT_ENTRY));
                frames.functions.push(plt);
            }
            Err(Failure { offset, why }) => {
                // That it is a signal frame is worth knowing without rows too: the format has a place for that.
                if let (true, Ok(size)) = (letters.signal, size) {
                    frames.functions.push(function(0, size, Vec::new(), None));
                }
                frames.left_out.push(LeftOut {
                    start,
                    size: fde.len(),
                    at: offset.map(|offset| start.wrapping_add(offset)),
                    why,
                });
            }
        }
    }

    fn rows(
        &mut self,
        fde: &FrameDescriptionEntry<Slice<'data>>,
        size: u32,
    ) -> Result<Rows, Failure> {
        let column = fde.cie().return_address_register();
        if column != self.architecture.return_address {
            return Err(Construct::ReturnColumn(column.0).into());
        }
        let context = Context {
            architecture: self.architecture,
            section: self.section,
            encoding: fde.cie().encoding(),
        };
        let mut rows: Vec<Row> = Vec::new();
        let malformed = |error| Failure::from(Construct::Malformed(error));
        let mut table = fde
            .rows(self.section, self.bases, &mut self.context)
            .map_err(malformed)?;
        while let Some(row) = table.next_row().map_err(malformed)? {
            let offset = row.start_address().wrapping_sub(fde.initial_address());
            // A row that the next one replaces at the same address, or that starts behind the code.
            if row.end_address() <= row.start_address() || offset >= u64::from(size) {
                continue;
            }
            let at = |why| Failure {
                offset: Some(offset),
                why,
            };
            // Below `size`, which fits.
            let row_offset = offset as u32;
            match context.convert(row, row_offset).map_err(at)? {
                Converted::Row(row) => {
                    if rows.last().is_none_or(|last| !says_the_same(last, &row)) {
                        rows.push(row);
                    }
                }
                Converted::Plt(from) => {
                    // The expression looks at the low bits of the address, and the format at the offset in the block.
                    let aligned = row.start_address() % u64::from(PLT_ENTRY) == 0;
                    if row.end_address() != fde.end_address() || !aligned {
                        let rule = "an expression over unaligned PLT entries".to_owned();
                        return Err(at(Construct::Rule { of: "CFA", rule }));
                    }
                    let plt = Some((row_offset, from));
                    return Ok(Rows { rows, plt });
                }
            }
        }
        match rows.len() {
            ..=0xffff => Ok(Rows { rows, plt: None }),
            count => Err(Construct::TooManyRows(count).into()),
        }
    }
}

/// The rows of an FDE.
struct Rows {
    rows: Vec<Row>,
    /// Where repeated PLT entries start, in bytes from the function's start, and from which byte of an entry on its
    /// CFA is 8 higher.
    plt: Option<(u32, u8)>,
}

/// Whether a row only repeats what the one before it said.
fn says_the_same(last: &Row, row: &Row) -> bool {
    *last
        == Row {
            offset: last.offset,
            ..*row
        }
}

fn plt_rows(architecture: &Architecture, from: u8) -> Vec<Row> {
    let row = |offset, cfa| Row {
        offset,
        cfa: Rule::Value {
            base: Base::StackPointer,
            offset: cfa,
        },
        return_address: architecture.default_return_address(),
        frame_pointer: Rule::Same,
        signed: false,
    };
    vec![row(0, 8), row(from.into(), 16)]
}
