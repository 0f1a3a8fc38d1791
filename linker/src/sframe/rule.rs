//! Rules as text, in the style of `objdump --sframe`.

use unwind::sframe::{Base, Row, Rule, Section};

/// The texts of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Texts {
    pub(crate) cfa: String,
    pub(crate) frame_pointer: String,
    pub(crate) return_address: String,
}

/// The texts of a row: `sp+16`, `c-8`, `(r10+0)` for a word loaded from a register's address, `u` for unchanged, `f`
/// for fixed by the header, `undefined`.
pub(crate) fn texts(row: &Row, section: &Section<'_>) -> Texts {
    let fixed = match section.fixed_return_address_offset() {
        0 => None,
        offset => Some(Rule::Saved {
            base: Base::Cfa,
            offset: offset.into(),
        }),
    };
    Texts {
        cfa: text(row.cfa),
        frame_pointer: text(row.frame_pointer),
        return_address: if fixed == Some(row.return_address) {
            "f".to_owned()
        } else {
            text(row.return_address)
        },
    }
}

/// A row's rules as one text, without reference to the section's header.
pub(crate) fn line(row: &Row) -> String {
    if row.is_outermost() {
        return "no caller".to_owned();
    }
    let signed = if row.signed { "[s]" } else { "" };
    let [cfa, return_address, frame_pointer] =
        [row.cfa, row.return_address, row.frame_pointer].map(text);
    format!("cfa {cfa}, ra {return_address}{signed}, fp {frame_pointer}")
}

/// A rule as text.
pub(crate) fn text(rule: Rule) -> String {
    match rule {
        Rule::Same => "u".to_owned(),
        Rule::Undefined => "undefined".to_owned(),
        Rule::Value { base, offset } => format!("{}{offset:+}", name(base)),
        // No parentheses for the load: the format has no values relative to the CFA with which it could be confused.
        Rule::Saved {
            base: Base::Cfa,
            offset,
        } => format!("c{offset:+}"),
        Rule::Saved { base, offset } => format!("({}{offset:+})", name(base)),
    }
}

fn name(base: Base) -> String {
    match base {
        Base::StackPointer => "sp".to_owned(),
        Base::FramePointer => "fp".to_owned(),
        Base::Cfa => "c".to_owned(),
        Base::Register(number) => format!("r{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_read_as_in_objdump() {
        let base = Base::Register(10);
        assert_eq!(text(Rule::Value { base, offset: 0 }), "r10+0");
        assert_eq!(text(Rule::Saved { base, offset: -8 }), "(r10-8)");
        let base = Base::Cfa;
        assert_eq!(text(Rule::Saved { base, offset: -8 }), "c-8");
        let base = Base::StackPointer;
        assert_eq!(text(Rule::Value { base, offset: 16 }), "sp+16");
        let base = Base::FramePointer;
        assert_eq!(text(Rule::Saved { base, offset: 0 }), "(fp+0)");
    }
}
