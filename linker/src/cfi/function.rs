//! Converts one FDE to functions with rows.

use gimli::{
    BaseAddresses, CallFrameInstruction, CommonInformationEntry, FrameDescriptionEntry, Register,
    RegisterRule, UnwindContext, UnwindContextStorage, UnwindSection, UnwindTableRow,
};
use unwind::sframe::{Base, Row, Rule};

use super::augmentation::{Kind, Letters};
use super::rules::{Context, Converted};
use super::{Frames, Slice};
use crate::architecture::Architecture;
use crate::function::{Construct, Function, LeftOut, says_the_same};

/// Bytes of a lazily bound PLT entry on x86-64.
pub(super) const PLT_ENTRY: u8 = 16;

/// Storage for any number of rules and of nested `remember_state`: gimli's default allows four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unbounded;

impl UnwindContextStorage<usize> for Unbounded {
    type Rules = Vec<(Register, RegisterRule<usize>)>;
    type Stack = Vec<UnwindTableRow<usize, Self>>;
}

/// Converts the FDEs of one section.
pub(super) struct Converter<'a, S> {
    architecture: &'static Architecture,
    section: &'a S,
    bases: &'a BaseAddresses,
    kind: Kind,
    /// Kept to reuse its allocations.
    context: UnwindContext<usize, Unbounded>,
}

/// A part of a function with one list of rows; almost always the whole function. Offsets are in bytes from the function's
/// start.
struct Piece {
    start: u32,
    end: u32,
    /// With offsets from the piece's start.
    rows: Vec<Row>,
    block: Option<u8>,
}

impl Piece {
    /// Whether a row loads the caller's stack pointer from the stack, where the processor saves it at an exception.
    fn is_trap_code(&self) -> bool {
        let is_saved = |row: &Row| {
            matches!(
                row.cfa,
                Rule::Saved {
                    base: Base::StackPointer,
                    ..
                }
            )
        };
        self.rows.iter().any(is_saved)
    }
}

impl<'a, 'data, S: UnwindSection<Slice<'data>>> Converter<'a, S> {
    pub(super) fn new(
        architecture: &'static Architecture,
        section: &'a S,
        bases: &'a BaseAddresses,
        kind: Kind,
    ) -> Self {
        Self {
            architecture,
            section,
            bases,
            kind,
            context: UnwindContext::new_in(),
        }
    }

    /// Adds a function. A row that cannot be converted leaves a gap: the code before and after it becomes a function each, and
    /// the gap is added to the code that is left out.
    pub(super) fn convert(
        &mut self,
        fde: &FrameDescriptionEntry<Slice<'data>>,
        letters: Letters,
        frames: &mut Frames,
    ) {
        let start = fde.initial_address();
        match self.pieces(fde, letters.signal, &mut frames.left_out) {
            Ok(pieces) => {
                // LLVM emits only `.debug_frame` for assembly without unwind tables, and does not mark signal frames there, so
                // that they are recognised by their rows. In `.eh_frame` the mark decides: code that switches stacks has such
                // rows, too.
                let has_no_marks = self.kind == Kind::DebugFrame;
                let signal =
                    letters.signal || has_no_marks && pieces.iter().any(Piece::is_trap_code);
                frames
                    .functions
                    .extend(pieces.into_iter().map(|piece| Function {
                        start: start.wrapping_add(piece.start.into()),
                        size: piece.end - piece.start,
                        rows: piece.rows,
                        signal,
                        key_b: letters.key_b,
                        continues: false,
                        block: piece.block,
                    }));
            }
            Err(why) => frames.left_out.push(LeftOut {
                start,
                size: fde.len(),
                why,
            }),
        }
    }

    /// Whether a CIE has a rule for the CFA. Without one, gimli starts with "register 0, offset 0", which is also a real rule,
    /// as in AArch64's `longjmp`.
    fn has_cfa(&self, cie: &CommonInformationEntry<Slice<'data>>) -> bool {
        let mut instructions = cie.instructions(self.section, self.bases);
        while let Ok(Some(instruction)) = instructions.next() {
            if matches!(
                instruction,
                CallFrameInstruction::DefCfa { .. }
                    | CallFrameInstruction::DefCfaSf { .. }
                    | CallFrameInstruction::DefCfaExpression { .. }
            ) {
                return true;
            }
        }
        false
    }

    fn pieces(
        &mut self,
        fde: &FrameDescriptionEntry<Slice<'data>>,
        signal: bool,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<Vec<Piece>, Construct> {
        let column = fde.cie().return_address_register();
        if column != self.architecture.return_address {
            return Err(Construct::ReturnColumn(column.0));
        }
        let size = u32::try_from(fde.len()).map_err(|_| Construct::TooLong)?;
        let context = Context {
            architecture: self.architecture,
            section: self.section,
            encoding: fde.cie().encoding(),
            has_cfa: self.has_cfa(fde.cie()),
        };
        let mut pieces: Vec<Piece> = Vec::new();
        let mut table = fde
            .rows(self.section, self.bases, &mut self.context)
            .map_err(Construct::Malformed)?;
        while let Some(row) = table.next_row().map_err(Construct::Malformed)? {
            // Skip a row that the next one replaces at the same address, or that starts after the function's end.
            let start = row.start_address().wrapping_sub(fde.initial_address());
            let end = row.end_address().wrapping_sub(fde.initial_address());
            let Ok(start) = u32::try_from(start) else {
                continue;
            };
            let end = u32::try_from(end).map_or(size, |end| end.min(size));
            if start >= end {
                continue;
            }
            match context.convert(row, signal) {
                Ok(Converted::Row(row)) => add_row(&mut pieces, start, end, row),
                Ok(Converted::Plt(from)) => pieces.push(Piece {
                    start,
                    end,
                    rows: plt_rows(self.architecture, from),
                    block: Some(PLT_ENTRY),
                }),
                Err(why) => {
                    // Without rows, too, the function is added, because its mark as a signal frame is useful.
                    if signal {
                        add_gap(&mut pieces, start, end);
                        // The FDE has only that mark, so nothing is left out.
                        if why == Construct::NoCfa {
                            continue;
                        }
                    }
                    let address = row.start_address();
                    add_left_out(left_out, address, (end - start).into(), why);
                }
            }
        }
        Ok(pieces)
    }
}

/// Adds a row to the piece that it continues, unless it has the same rules as the row before.
fn add_row(pieces: &mut Vec<Piece>, start: u32, end: u32, row: Row) {
    match pieces.last_mut() {
        Some(piece) if piece.end == start && piece.block.is_none() && !piece.rows.is_empty() => {
            piece.end = end;
            let offset = start - piece.start;
            if piece
                .rows
                .last()
                .is_none_or(|last| !says_the_same(last, &row))
            {
                piece.rows.push(Row { offset, ..row });
            }
        }
        _ => pieces.push(Piece {
            start,
            end,
            rows: vec![row],
            block: None,
        }),
    }
}

/// Adds code without rows: extends the last piece if that ends at `start` and has no rows, otherwise starts a new piece.
fn add_gap(pieces: &mut Vec<Piece>, start: u32, end: u32) {
    match pieces.last_mut() {
        Some(piece) if piece.end == start && piece.rows.is_empty() => piece.end = end,
        _ => pieces.push(Piece {
            start,
            end,
            rows: Vec::new(),
            block: None,
        }),
    }
}

/// Adds code that is left out, joined with adjacent code before it that is left out for the same reason.
fn add_left_out(left_out: &mut Vec<LeftOut>, start: u64, size: u64, why: Construct) {
    match left_out.last_mut() {
        Some(last) if last.start.wrapping_add(last.size) == start && last.why == why => {
            last.size += size;
        }
        _ => left_out.push(LeftOut { start, size, why }),
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
        kept: unwind::Kept::ALL,
    };
    vec![row(0, 8), row(from.into(), 16)]
}
