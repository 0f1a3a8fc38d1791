//! SFrame's tables as a source of rows.

use super::RowSource;
use crate::lookup::{Described, LookupError};
use crate::registers::Machine;
use crate::row::Row;
use crate::sframe::Tables;
use crate::verdict::End;

impl RowSource for Tables<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        match &self.first {
            Ok(section) if section.abi().machine() == machine => Ok(()),
            Ok(section) => Err(End::WrongAbi(section.abi())),
            Err(error) => Err(End::NoTables(*error)),
        }
    }

    fn read_row(&self, pc: u64, row: &mut Row) -> Result<Described, LookupError> {
        self.find(|section| section.read_row(pc, row))
    }

    fn covers(&self, pc: u64) -> bool {
        self.find(|section| section.covers(pc)).is_ok()
    }

    /// Tables that cannot be parsed have no damage: `describes` refuses them.
    fn doubt(&self) -> Option<End> {
        match (self.first, self.damage) {
            (Ok(_), Some(damage)) => Some(End::DamagedTables(damage)),
            _ => None,
        }
    }
}
