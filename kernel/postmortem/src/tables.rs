//! The unwind tables of an image, and their verified state: the tables that `sframe-link` adds and, on 32-bit ARM, the compiler's exception
//! tables.

use core::fmt;

use unwind::sframe::{Damage, Verified};

#[cfg(not(target_arch = "arm"))]
pub(crate) use sframe::{
    ImageTables, Outcome, both, has_checksum, is_right, is_without_tables, moved_by, none,
    of_module, weakness, write_outcome,
};

#[cfg(target_arch = "arm")]
pub(crate) use arm::{
    ImageTables, Outcome, both, has_checksum, is_right, is_without_tables, moved_by, none,
    of_module, weakness, write_outcome,
};

/// Combines the results of comparing the same tables with two pieces of code.
pub(crate) fn both_pieces(
    one: Result<Verified, Damage>,
    other: Result<Verified, Damage>,
) -> Result<Verified, Damage> {
    let (one, other) = (one?, other?);
    Ok(Verified {
        code: one.code && other.code,
        ..one
    })
}

/// Writes the state of tables that are not damaged. `names_code`: the text that follows names code that was not compared.
fn write_verified(
    f: &mut fmt::Formatter<'_>,
    verified: &Verified,
    names_code: bool,
) -> fmt::Result {
    f.write_str(match *verified {
        Verified {
            checksum: false, ..
        } => "tables without checksum",
        Verified { code: true, .. } => "tables and code verified",
        Verified { code: false, .. } if names_code => "tables verified",
        Verified { code: false, .. } => "tables verified, code not compared",
    })
}

#[cfg(not(target_arch = "arm"))]
mod sframe {
    use core::fmt;

    pub(crate) use unwind::ImageTables;
    use unwind::sframe::{Damage, ParseError};
    use unwind::{End, RegisterSet as _, RowSource as _};

    pub(crate) use super::both_pieces as both;
    use super::{Verified, write_verified};
    use crate::arch::Registers;

    /// What verifying them has found.
    pub(crate) type Outcome = Result<Verified, Damage>;

    /// Those of an image that has none.
    pub(crate) const fn none() -> ImageTables<'static> {
        ImageTables::none()
    }

    /// Those of a module, if they can be used.
    pub(crate) fn of_module(
        bytes: &'static [u8],
        address: u64,
    ) -> Result<ImageTables<'static>, End> {
        let tables = ImageTables::new(bytes, address);
        tables.describes(Registers::MACHINE)?;
        Ok(tables)
    }

    /// How far they lie above the address that they were written for, modulo 2^64, if they tell. Of tables that are damaged the address
    /// may be, too.
    pub(crate) fn moved_by(tables: &ImageTables<'_>, outcome: &Outcome) -> Option<u64> {
        tables.moved_by().filter(|_| is_right(outcome))
    }

    /// Whether nothing in them is damaged.
    pub(crate) const fn is_right(outcome: &Outcome) -> bool {
        outcome.is_ok()
    }

    /// Whether a checksum of all bytes is right. Tables whose mark of a checksum is damaged count as tables without one.
    pub(crate) const fn has_checksum(outcome: &Outcome) -> bool {
        matches!(outcome, Ok(Verified { checksum: true, .. }))
    }

    /// Whether there are none at all.
    pub(crate) const fn is_without_tables(outcome: &Outcome) -> bool {
        matches!(outcome, Err(Damage::Section(ParseError::Empty)))
    }

    /// How little the tables are worth: the least number is that of the best.
    pub(crate) const fn weakness(outcome: &Outcome) -> u8 {
        match outcome {
            Ok(Verified {
                checksum: true,
                code: true,
            }) => 0,
            Ok(Verified { checksum: true, .. }) => 1,
            Ok(Verified {
                checksum: false, ..
            }) => 2,
            Err(_) => 3,
        }
    }

    pub(crate) fn write_outcome(
        f: &mut fmt::Formatter<'_>,
        outcome: &Outcome,
        names_code: bool,
    ) -> fmt::Result {
        match outcome {
            Ok(verified) => write_verified(f, verified, names_code),
            Err(Damage::Section(ParseError::Empty)) => f.write_str("no tables"),
            Err(damage @ Damage::Code { .. }) => write!(f, "tables verified, {damage}"),
            Err(damage) => write!(f, "tables damaged: {damage}"),
        }
    }
}

#[cfg(target_arch = "arm")]
mod arm {
    use core::fmt;

    use unwind::sframe::{Damage, ParseError};
    use unwind::{ArmTables, ArmVerified, End};

    use super::{Verified, both_pieces, write_verified};

    pub(crate) type ImageTables<'a> = ArmTables<'a>;

    /// What verifying them has found.
    pub(crate) type Outcome = ArmVerified;

    /// Combines the results of comparing the same tables with two pieces of code.
    pub(crate) fn both(one: Outcome, other: Outcome) -> Outcome {
        ArmVerified {
            map: both_pieces(one.map, other.map),
            ..one
        }
    }

    /// Those of an image that has none.
    pub(crate) const fn none() -> ImageTables<'static> {
        ArmTables::none()
    }

    /// A module would have three sections of them, and [`Module`](crate::Module) has room for one.
    pub(crate) const fn of_module(_: &'static [u8], _: u64) -> Result<ImageTables<'static>, End> {
        Err(End::Unusable(
            "unwind tables of modules are not supported on 32-bit ARM",
        ))
    }

    /// How far the rule map lies above the address that it was written for, modulo 2^64, if there is one. Of one that is damaged the
    /// address may be, too.
    pub(crate) fn moved_by(tables: &ImageTables<'_>, outcome: &Outcome) -> Option<u64> {
        tables.moved_by().filter(|_| is_right(outcome))
    }

    /// Whether nothing in the rule map is damaged.
    pub(crate) const fn is_right(outcome: &Outcome) -> bool {
        outcome.map.is_ok()
    }

    /// Whether the checksum of the rule map is right.
    pub(crate) const fn has_checksum(outcome: &Outcome) -> bool {
        matches!(outcome.map, Ok(Verified { checksum: true, .. }))
    }

    /// Whether there are none at all. Modules have none.
    pub(crate) const fn is_without_tables(_: &Outcome) -> bool {
        true
    }

    /// How little the tables of a module are worth.
    pub(crate) const fn weakness(_: &Outcome) -> u8 {
        0
    }

    pub(crate) fn write_outcome(
        f: &mut fmt::Formatter<'_>,
        outcome: &Outcome,
        names_code: bool,
    ) -> fmt::Result {
        match outcome.map {
            Ok(verified) => {
                write_verified(f, &verified, names_code)?;
                f.write_str(", ")?;
            }
            Err(Damage::Section(ParseError::Empty)) => {}
            Err(damage @ Damage::Code { .. }) => write!(f, "tables verified, {damage}, ")?,
            Err(damage) => write!(f, "tables damaged: {damage}, ")?,
        }
        match outcome.exceptions {
            // Nobody has compared them with the code.
            Ok(()) => f.write_str("exception tables are valid only at calls"),
            Err((number, error)) => {
                write!(f, "exception tables damaged at entry {number}: {error}")
            }
        }
    }
}
