//! SFrame's tables.

use std::fmt;

use anyhow::Result;
use object::{Object, ObjectSection};
use unwind::ImageTables;
use unwind::sframe::{self, Damage, Verified};

use super::Rows;

/// The bytes of a table, and their address.
#[derive(Clone, Debug)]
pub(in crate::outside) struct SFrame {
    bytes: Vec<u8>,
    address: u64,
    origin: Origin,
}

/// Where rows come from.
#[derive(Clone, Debug)]
enum Origin {
    /// The image's `.sframe`.
    Own(Result<Verified, Damage>),
    /// Made and proven here from the image's code and call frame information.
    Made(Result<Verified, Damage>),
    /// From nowhere: nothing can be made, for this reason.
    Nowhere(String),
}

impl SFrame {
    pub(super) fn read(data: &[u8]) -> Result<Self> {
        let file = object::File::parse(data)?;
        let own = file.section_by_name(".sframe");
        let own = own.and_then(|section| Some((section.data().ok()?.to_vec(), section.address())));
        let ((bytes, address), origin) = match own.filter(|(bytes, _)| !bytes.is_empty()) {
            Some(own) => {
                let verified = sframe::Tables::new(&own.0, own.1).verify();
                (own, Origin::Own(verified))
            }
            None => match linker::make::rows_beside(data) {
                // Any address will do: starts of functions are relative to it, in 64 bits.
                Ok(bytes) => {
                    let verified = sframe::Tables::new(&bytes, 0).verify();
                    ((bytes, 0), Origin::Made(verified))
                }
                Err(error) => ((Vec::new(), 0), Origin::Nowhere(format!("{error:#}"))),
            },
        };
        Ok(Self {
            bytes,
            address,
            origin,
        })
    }

    pub(super) const fn move_by(&mut self, bytes: u64) {
        self.address = self.address.wrapping_add(bytes);
    }

    pub(super) fn verify_code(&self, code: &[u8], at: u64) -> Option<Result<Verified, Damage>> {
        let is_there = matches!(self.origin, Origin::Own(_) | Origin::Made(_));
        is_there.then(|| ImageTables::new(&self.bytes, self.address).verify_code(code, at))
    }

    pub(super) fn rows(&self) -> Rows<'_> {
        let tables = sframe::Tables::new(&self.bytes, self.address);
        match self.origin {
            // Whoever has written them does not say that they are whole.
            Origin::Own(Ok(Verified {
                checksum: false, ..
            })) => Rows::not_compared(tables),
            Origin::Own(verified) | Origin::Made(verified) => Rows::new(tables.verified(verified)),
            Origin::Nowhere(_) => Rows::new(tables),
        }
    }
}

/// What is known of the rows, as text.
impl fmt::Display for SFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Own(Ok(Verified { checksum: true, .. })) => f.write_str("tables verified"),
            Origin::Own(Ok(Verified {
                checksum: false, ..
            })) => f.write_str("tables without checksum"),
            Origin::Own(Err(damage)) => write!(f, "tables damaged: {damage}"),
            Origin::Made(_) => f.write_str("unwind tables were synthesized from the image's code"),
            Origin::Nowhere(why) => write!(f, "no tables: {why}"),
        }
    }
}
