//! Jump tables: where they lie, how they are indexed, and what their entries become.

use super::compare::Limit;
use super::value::Value;

/// A jump table, as the code that reads it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Address of its first entry.
    pub address: u64,
    /// Bytes of an entry.
    pub size: u8,
    /// The entries are signed.
    pub signed: bool,
    /// How many entries there are at most, if the code says so.
    pub count: Option<u64>,
    /// A comparison says how many there are, or a mask of which that is certain.
    pub is_bounded: bool,
    /// What an entry is multiplied by: 2 to the power of this.
    pub shift: u8,
    /// What is added then.
    pub base: u64,
}

/// More entries than this are not read: the bound is one by chance.
const MOST_ENTRIES: u64 = 1 << 14;

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

    /// Where they lie.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|table| table.address)
    }

    /// An entry of a table that was read, so many bytes each, `limit` being how large the index can be.
    pub fn read(&mut self, address: u64, size: u8, signed: bool, limit: Option<Limit>) -> Value {
        let count = limit
            .and_then(|limit| limit.most.checked_add(1))
            .filter(|count| *count <= MOST_ENTRIES);
        // As many as there are values of some bits: a byte's, or what a mask leaves. That is no bound of a table's.
        let is_told = limit.is_some_and(|limit| limit.is_told);
        let is_bounded = count.is_some_and(|count| is_told || !count.is_power_of_two());
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

    /// The lowest bits of a value, so many, which the sign or zeros extend; `None` when that is not known. An entry's sign
    /// is often only told by the instruction that adds it.
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

    /// The sum of two values, one of which may be made from a table's entry; it is shifted to the left first.
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
    /// The addresses that its entries stand for; `None` when they cannot be told. `read` gives so many bytes at an address, if
    /// nothing can write there; `is_target` says whether the jump may lead to an address.
    ///
    /// Where the code does not compare the index with anything, because the type of a value bounds it, the table is taken to
    /// end where the next one starts, at `end`, or where an entry leads out of the function. Entries too many do no harm: what
    /// holds on more ways than there are holds on those that there are.
    pub fn targets(
        &self,
        read: impl Fn(u64, u8) -> Option<u64>,
        mut is_target: impl FnMut(u64) -> bool,
        end: Option<u64>,
    ) -> Option<Vec<u64>> {
        let most = self.count.unwrap_or(MOST_ENTRIES);
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
