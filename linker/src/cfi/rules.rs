//! Converts one row of DWARF's table to one row of SFrame.

use gimli::{CfaRule, Encoding, Register, RegisterRule, UnwindSection, UnwindTableRow};
use unwind::Kept;
use unwind::sframe::{Base, Row, Rule};

use super::Slice;
use super::expression::{Pattern, recognise};
use super::function::{PLT_ENTRY, Unbounded};
use crate::architecture::Architecture;
use crate::function::Construct;

pub(super) type DwarfRow = UnwindTableRow<usize, Unbounded>;

/// A converted row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Converted {
    /// To a row.
    Row(Row),
    /// To the rows of repeated PLT entries, whose CFA grows by 8 from this byte of an entry on.
    Plt(u8),
}

/// What is needed to convert the rules of an FDE.
pub(super) struct Context<'a, S> {
    pub(super) architecture: &'static Architecture,
    pub(super) section: &'a S,
    pub(super) encoding: Encoding,
    /// The CIE has a rule for the CFA.
    pub(super) has_cfa: bool,
}

impl<'data, S: UnwindSection<Slice<'data>>> Context<'_, S> {
    /// Converts a row. The result has offset 0, which the caller changes.
    pub(super) fn convert(&self, row: &DwarfRow, signal: bool) -> Result<Converted, Construct> {
        let architecture = self.architecture;
        let column = architecture.return_address;
        let return_address = row.register(column);
        if return_address == Some(RegisterRule::Undefined) {
            return Ok(Converted::Row(OUTERMOST));
        }
        if !self.has_cfa && *row.cfa() == CfaRule::default() {
            return Err(Construct::NoCfa);
        }
        let return_address = match return_address {
            // A call leaves it in memory, so there must be a rule; DWARF has no default for this column.
            None | Some(RegisterRule::SameValue) if architecture.fixed_return_address.is_some() => {
                return Err(rule("return address", "no rule"));
            }
            other => self.register("return address", column, other)?,
        };
        let column = architecture.frame_pointer();
        let frame_pointer = match self.register("frame pointer", column, row.register(column))? {
            Rule::Undefined => return Err(rule("frame pointer", "undefined")),
            known => known,
        };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Rule::Value {
                base: architecture.base(*register),
                offset: *offset,
            },
            CfaRule::Expression(expression) => match self.pattern(expression)? {
                Pattern::Sum(register, offset) => Rule::Value {
                    base: architecture.base(register),
                    offset,
                },
                Pattern::Load(register, offset) => Rule::Saved {
                    base: architecture.base(register),
                    offset,
                },
                // The expression uses the low bits of the address, SFrame the offset in the block: equal if blocks are aligned.
                Pattern::Plt(from)
                    if row.start_address().is_multiple_of(PLT_ENTRY.into())
                        && return_address == architecture.default_return_address()
                        && frame_pointer == Rule::Same =>
                {
                    return Ok(Converted::Plt(from));
                }
                other => return Err(rule("CFA", &describe(other))),
            },
        };
        let converted = Row {
            offset: 0,
            cfa,
            return_address,
            frame_pointer,
            signed: self.is_signed(row),
            kept: self.kept(row),
        };
        let converted = match self.stack_pointer(row, signal)? {
            Some(stack_pointer) => self.with_cfa_by(converted, stack_pointer)?,
            None => without_values_of_cfa(converted)?,
        };
        for rule in [
            converted.cfa,
            converted.return_address,
            converted.frame_pointer,
        ] {
            fits(rule)?;
        }
        if let Rule::Value { offset, .. } | Rule::Saved { offset, .. } = converted.cfa
            && architecture.stored_cfa_offset(offset).is_none()
        {
            let scale = architecture.cfa_scale;
            return Err(rule(
                "CFA",
                &format!("the CFA offset is not a multiple of {scale}"),
            ));
        }
        Ok(Converted::Row(converted))
    }

    /// The rule of one register. The caller has to handle [`Rule::Undefined`] and values relative to the CFA.
    fn register(
        &self,
        of: &'static str,
        register: Register,
        dwarf: Option<RegisterRule<usize>>,
    ) -> Result<Rule, Construct> {
        let base = |register| self.architecture.base(register);
        let saved_at_cfa = |offset| Rule::Saved {
            base: Base::Cfa,
            offset,
        };
        Ok(match dwarf {
            None | Some(RegisterRule::SameValue) => Rule::Same,
            Some(RegisterRule::Undefined) => Rule::Undefined,
            Some(RegisterRule::Offset(offset)) => saved_at_cfa(offset),
            Some(RegisterRule::Register(other)) if other == register => Rule::Same,
            Some(RegisterRule::Register(other)) => Rule::Value {
                base: base(other),
                offset: 0,
            },
            // The expression yields the address of the value.
            Some(RegisterRule::Expression(expression)) => match self.pattern(&expression)? {
                Pattern::Sum(register, offset) => Rule::Saved {
                    base: base(register),
                    offset,
                },
                Pattern::FromCfa(offset) => saved_at_cfa(offset),
                other => return Err(rule(of, &describe(other))),
            },
            // The expression yields the value.
            Some(RegisterRule::ValExpression(expression)) => match self.pattern(&expression)? {
                Pattern::Sum(register, offset) => Rule::Value {
                    base: base(register),
                    offset,
                },
                Pattern::Load(register, offset) => Rule::Saved {
                    base: base(register),
                    offset,
                },
                Pattern::FromCfa(offset) => Rule::Value {
                    base: Base::Cfa,
                    offset,
                },
                other => return Err(rule(of, &describe(other))),
            },
            Some(RegisterRule::ValOffset(offset)) => Rule::Value {
                base: Base::Cfa,
                offset,
            },
            Some(other) => return Err(rule(of, &format!("{other:?}"))),
        })
    }

    /// The rules of further registers.
    fn kept(&self, row: &DwarfRow) -> Kept {
        let mut kept = Kept::ALL;
        for number in self.architecture.kept.clone() {
            let column = Register(number);
            let rule = self.register("register", column, row.register(column));
            // One that no row can express is not known then.
            kept.set(number.into(), rule.unwrap_or(Rule::Undefined));
        }
        kept
    }

    /// The rule of the caller's stack pointer, if it is not the one that the ABI implies.
    fn stack_pointer(&self, row: &DwarfRow, signal: bool) -> Result<Option<Rule>, Construct> {
        let of = "stack pointer";
        let architecture = self.architecture;
        let column = architecture.stack_pointer();
        match row.register(column) {
            None => Ok(None),
            Some(RegisterRule::ValOffset(offset))
                if offset == architecture.stack_pointer_offset =>
            {
                Ok(None)
            }
            // s390x: saved with other registers in the caller's register save area, with the value that the ABI implies.
            Some(RegisterRule::Offset(offset))
                if (architecture.stack_pointer_offset..0).contains(&offset) && !signal =>
            {
                Ok(None)
            }
            other => match self.register(of, column, other)? {
                Rule::Undefined => Err(rule(of, "undefined")),
                Rule::Same => Ok(Some(Rule::Value {
                    base: Base::StackPointer,
                    offset: 0,
                })),
                known => Ok(Some(known)),
            },
        }
    }

    /// SFrame has no rule for the caller's stack pointer: it follows from the CFA. If DWARF has one, as in trap code that runs
    /// on its own stack, it becomes the CFA's rule, and rules relative to DWARF's CFA are rewritten to that CFA's base.
    fn with_cfa_by(&self, row: Row, stack_pointer: Rule) -> Result<Row, Construct> {
        let of = "stack pointer";
        let cfa = match rebase(of, stack_pointer, row.cfa)? {
            Rule::Value { base, offset } => Rule::Value {
                base,
                offset: offset - self.architecture.stack_pointer_offset,
            },
            Rule::Saved { .. } if self.architecture.stack_pointer_offset != 0 => {
                return Err(rule(
                    of,
                    "unsupported rule: SFrame cannot express a stack pointer that is loaded from memory and differs from the CFA",
                ));
            }
            other => other,
        };
        Ok(Row {
            cfa,
            return_address: rebase("return address", row.return_address, row.cfa)?,
            frame_pointer: rebase("frame pointer", row.frame_pointer, row.cfa)?,
            // They count from the CFA, and from nothing else.
            kept: without_saved(row.kept),
            ..row
        })
    }

    fn is_signed(&self, row: &DwarfRow) -> bool {
        self.architecture
            .sign_state
            .and_then(|column| row.register(column))
            == Some(RegisterRule::Constant(1))
    }

    fn pattern(&self, expression: &gimli::UnwindExpression<usize>) -> Result<Pattern, Construct> {
        let expression = expression.get(self.section).map_err(Construct::Malformed)?;
        Ok(recognise(expression, self.encoding))
    }
}

/// The same, but what is saved counts as lost.
fn without_saved(kept: Kept) -> Kept {
    let mut rest = Kept::ALL;
    for (number, rule) in kept.rules() {
        if rule != Rule::Same {
            rest.set(number, Rule::Undefined);
        }
    }
    rest
}

/// Rewrites a rule that is relative to the CFA to one relative to the CFA's base.
fn rebase(of: &'static str, relative: Rule, cfa: Rule) -> Result<Rule, Construct> {
    let (Rule::Saved { base, offset } | Rule::Value { base, offset }) = relative else {
        return Ok(relative);
    };
    if base != Base::Cfa {
        return Ok(relative);
    }
    let Rule::Value {
        base,
        offset: of_cfa,
    } = cfa
    else {
        return Err(rule(
            of,
            "unsupported rule: the value is relative to a CFA that is loaded from memory",
        ));
    };
    let offset = of_cfa
        .checked_add(offset)
        .ok_or(Construct::Offset(offset))?;
    Ok(match relative {
        Rule::Value { .. } => Rule::Value { base, offset },
        _ => Rule::Saved { base, offset },
    })
}

/// Rewrites values relative to the CFA to its base: SFrame cannot express them, because their control word would be 0, which
/// means the default rule.
fn without_values_of_cfa(row: Row) -> Result<Row, Construct> {
    let change = |of, rule| match rule {
        Rule::Value {
            base: Base::Cfa, ..
        } => rebase(of, rule, row.cfa),
        other => Ok(other),
    };
    Ok(Row {
        return_address: change("return address", row.return_address)?,
        frame_pointer: change("frame pointer", row.frame_pointer)?,
        ..row
    })
}

/// The row of a function without a caller, as the reader gives it.
const OUTERMOST: Row = Row {
    offset: 0,
    cfa: Rule::Undefined,
    return_address: Rule::Undefined,
    frame_pointer: Rule::Undefined,
    signed: false,
    kept: Kept::ALL,
};

fn rule(of: &'static str, rule: &str) -> Construct {
    Construct::Rule {
        of,
        rule: rule.to_owned(),
    }
}

fn describe(pattern: Pattern) -> String {
    match pattern {
        Pattern::Sum(register, offset) => {
            format!(
                "unsupported DWARF expression (register {number}{offset:+})",
                number = register.0
            )
        }
        Pattern::Load(register, offset) => {
            format!(
                "unsupported DWARF expression (word at register {number}{offset:+})",
                number = register.0
            )
        }
        Pattern::FromCfa(offset) => format!("unsupported DWARF expression (CFA{offset:+})"),
        Pattern::Plt(_) => "unsupported DWARF expression for unaligned PLT entries".to_owned(),
        Pattern::Other(operations) => {
            format!("unsupported DWARF expression ({operations} operations)")
        }
    }
}

/// Checks that a rule's offset fits in a word of 32 bits, the widest there is.
fn fits(rule: Rule) -> Result<(), Construct> {
    match rule {
        Rule::Value { offset, .. } | Rule::Saved { offset, .. }
            if i32::try_from(offset).is_err() =>
        {
            Err(Construct::Offset(offset))
        }
        _ => Ok(()),
    }
}
