//! Jump tables: their address, their length, and how targets are computed from their entries.

use super::compare::Limit;
use super::value::Value;

/// A jump table, as the code that reads it uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Address of its first entry.
    pub address: u64,
    /// Bytes of an entry.
    pub size: u8,
    /// The entries are signed.
    pub signed: bool,
    /// An upper bound of the number of entries, if the index has one.
    pub count: Option<u64>,
    /// `count` comes from a comparison, or from a mask that is not a power of two less one, so that it is the real length.
    pub is_bounded: bool,
    /// A target is the entry shifted left by this,
    pub shift: u8,
    /// plus this.
    pub base: u64,
}

/// The largest number of entries. A larger bound of the index is not meant as the table's length.
const MAX_ENTRIES: u64 = 1 << 14;

/// The tables that a function reads, by number.
#[derive(Clone, Debug, Default)]
pub struct Tables(Vec<Table>);

impl Tables {
    /// A table's number.
    pub fn number(&mut self, table: Table) -> u32 {
        let number = self.0.iter().position(|known| *known == table);
        let number = number.unwrap_or_else(|| {
            self.0.push(table);
            self.0.len() - 1
        });
        number as u32
    }

    /// A table by its number.
    #[must_use]
    pub fn get(&self, number: u32) -> Table {
        self.0[number as usize]
    }

    /// The addresses of the tables.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|table| table.address)
    }

    /// The value of an entry that was loaded from a table; `size` is the size of an entry, `limit` the bound of the index.
    pub fn read(&mut self, address: u64, size: u8, signed: bool, limit: Option<Limit>) -> Value {
        let count = limit
            .and_then(|limit| limit.most.checked_add(1))
            .filter(|count| *count <= MAX_ENTRIES);
        // A power of two may be just the range of a type or of a mask, and the table shorter than that.
        let is_compared = limit.is_some_and(|limit| limit.is_compared);
        let is_bounded = count.is_some_and(|count| is_compared || !count.is_power_of_two());
        Value::Table(self.number(Table {
            address,
            size,
            signed,
            count,
            is_bounded,
            shift: 0,
            base: 0,
        }))
    }

    /// The lowest `bits` bits of a value, sign- or zero-extended; `None` if that cannot be expressed. Whether an entry is
    /// signed is often known only from the instruction that adds it.
    pub fn extended(&mut self, number: u32, bits: u8, signed: bool) -> Option<Value> {
        let table = self.get(number);
        let is_entry = (table.shift, table.base) == (0, 0);
        let entry = 8 * table.size;
        match table.signed {
            _ if bits >= 64 => Some(Value::Table(number)),
            _ if is_entry && bits == entry => {
                Some(Value::Table(self.number(Table { signed, ..table })))
            }
            false if is_entry && bits > entry => Some(Value::Table(number)),
            true if is_entry && bits > entry && signed => Some(Value::Table(number)),
            _ => None,
        }
    }

    /// The sum of two values, either of which may be computed from a table's entry. `other` is shifted left first.
    pub fn sum(&mut self, one: Value, other: Value, shift: u8) -> Value {
        match (one, other) {
            (Value::Constant(base), Value::Table(number))
                if self.get(number).shift + shift < 64 =>
            {
                let table = self.get(number);
                Value::Table(self.number(Table {
                    shift: table.shift + shift,
                    base: (table.base << shift).wrapping_add(base),
                    ..table
                }))
            }
            (Value::Table(_), Value::Constant(_)) if shift == 0 => self.sum(other, one, 0),
            (_, Value::Constant(value)) => one.plus(Value::Constant(value << shift)),
            _ if shift == 0 => one.plus(other),
            _ => Value::Unknown,
        }
    }
}

impl Table {
    /// The targets of its entries; `None` if they cannot be computed. `read` reads constants of an address and a size;
    /// `is_target` tells whether the jump may lead to an address.
    ///
    /// If no comparison bounds the index, because the range of its type does, the table is taken to end where the next one
    /// starts, at `end`, or at the first entry that leads out of the function. Too many entries are safe: what holds on
    /// additional paths, too, holds on the real ones.
    pub fn targets(
        &self,
        read: impl Fn(u64, u8) -> Option<u64>,
        mut is_target: impl FnMut(u64) -> bool,
        end: Option<u64>,
    ) -> Option<Vec<u64>> {
        let most = self.count.unwrap_or(MAX_ENTRIES);
        let room = end.map(|end| end.saturating_sub(self.address) / u64::from(self.size.max(1)));
        let most = match (room, self.is_bounded) {
            (Some(room), false) => most.min(room),
            _ => most,
        };
        let mut targets = Vec::new();
        for index in 0..most {
            match self.target(index, &read).filter(|to| is_target(*to)) {
                Some(to) => targets.push(to),
                None if self.is_bounded => return None,
                None => break,
            }
        }
        (!targets.is_empty()).then_some(targets)
    }

    fn target(&self, index: u64, read: impl Fn(u64, u8) -> Option<u64>) -> Option<u64> {
        let offset = index.checked_mul(self.size.into())?;
        let entry = read(self.address.checked_add(offset)?, self.size)?;
        let unused = 64 - 8 * u32::from(self.size);
        let entry = match self.signed {
            true => (entry << unused)
                .cast_signed()
                .wrapping_shr(unused)
                .cast_unsigned(),
            false => entry,
        };
        Some((entry << self.shift).wrapping_add(self.base))
    }
}
