//! Loads and stores.

use arm_instructions::{Indexing, PC, Place, Source};

use super::super::compare::Limit;
use super::super::isa::Flow;
use super::super::value::{Address, Register, Value};
use super::arithmetic::sum;
use super::{Arm, LR, Run, SP};
use crate::prove::isa::Isa as _;

const WORD: u8 = Arm::WORD;

impl Run<'_> {
    /// The value of a place's base register.
    fn base(&self, place: Place) -> Value {
        match place.base {
            PC => Value::Constant(self.pc & !3),
            base => self.read(base),
        }
    }

    /// The address of an access of so many bytes.
    fn address(&mut self, place: Place, size: u8, signed: bool, loads: bool) -> Address {
        let base = self.base(place);
        let offset = match place.offset {
            _ if place.indexing == Indexing::Post => Value::Constant(0),
            offset => self.source(offset),
        };
        match (base, offset, place.offset) {
            // One that is known, too, and constants that lie behind a function.
            (Value::Constant(table), Value::Constant(by), Source::Register(_, 2))
            | (Value::Constant(table), Value::Constant(by), Source::Constant(_))
                if loads
                    && size == WORD
                    && (place.base == PC || matches!(place.offset, Source::Register(..))) =>
            {
                let at = table.wrapping_add(by) & 0xffff_ffff;
                match (self.tables).read(at, size, false, Some(Limit::compared(0))) {
                    Value::Table(number) => Address::Table(number),
                    _ => Address::Unknown,
                }
            }
            // An unknown offset from a constant means a table.
            (Value::Constant(table), _, Source::Register(index, shift))
                if loads
                    && !matches!(offset, Value::Constant(_))
                    && 1_u32 << shift == u32::from(size) =>
            {
                let index = self.read(index);
                let limit = self.machine.limit(index);
                match self.tables.read(table, size, signed, limit) {
                    Value::Table(number) => Address::Table(number),
                    _ => Address::Unknown,
                }
            }
            (_, Value::Constant(offset), _) => match sum(base, Value::Constant(offset)) {
                Value::Unknown => {
                    let offset = i64::from((offset as u32).cast_signed());
                    Address::of(base, offset)
                }
                moved => Address::of(moved, 0),
            },
            _ => Address::Unknown,
        }
    }

    /// Moves the base register, if the access does that.
    fn moved(&mut self, place: Place, base: Value) -> Option<Flow> {
        if place.indexing == Indexing::Offset {
            return Some(Flow::Next);
        }
        let offset = self.source(place.offset);
        let value = match (sum(base, offset), base) {
            (Value::Unknown, Value::Stack(..)) => self.machine.new_base(),
            (value, _) => value,
        };
        self.write(place.base, value)
    }

    pub(super) fn load(
        &mut self,
        to: Register,
        size: u8,
        signed: bool,
        place: Place,
    ) -> Option<Flow> {
        let base = self.base(place);
        let address = self.address(place, size, signed, true);
        let value = self.machine.load(address, size);
        self.moved(place, base)?;
        if to == PC {
            // What is popped is a return address.
            let is_popped = place.base == SP && size == WORD;
            return Some(self.jump(value, is_popped));
        }
        let value = match value {
            Value::Table(_) => value,
            // The sign goes into the bits above.
            value if signed => match value {
                Value::Constant(_) => self.machine.name(),
                _ => Value::Unknown,
            },
            value => value,
        };
        self.write(to, value)
    }

    pub(super) fn store(&mut self, from: Register, size: u8, place: Place) -> Option<Flow> {
        let base = self.base(place);
        let address = self.address(place, size, false, false);
        let value = match size {
            WORD => self.read_named(from),
            _ => Value::Unknown,
        };
        self.machine.store(address, size, value);
        self.moved(place, base)
    }

    pub(super) fn pair(
        &mut self,
        loads: bool,
        registers: [Register; 2],
        place: Place,
    ) -> Option<Flow> {
        let base = self.base(place);
        let address = self.address(place, 2 * WORD, false, false);
        let places = [address, further(address, WORD.into())];
        let values = places.map(|place| self.machine.load_known(place, WORD));
        for ((register, place), value) in registers.into_iter().zip(places).zip(values) {
            match loads {
                true => {
                    self.write(register, value)?;
                }
                false => {
                    let value = self.read(register);
                    self.machine.store(place, WORD, value);
                }
            }
        }
        let is_loaded = loads && registers.contains(&place.base);
        match is_loaded && place.indexing != Indexing::Offset {
            true => None,
            false => self.moved(place, base),
        }
    }

    pub(super) fn store_exclusive(
        &mut self,
        status: Register,
        size: u8,
        place: Place,
    ) -> Option<Flow> {
        let address = self.address(place, size, false, false);
        self.machine.store(address, size, Value::Unknown);
        let value = self.machine.name();
        self.write(status, value)
    }

    pub(super) fn other(&mut self, loads: bool, size: u8, place: Place) -> Option<Flow> {
        let base = self.base(place);
        if !loads {
            let address = self.address(place, size, false, false);
            self.machine.store(address, size, Value::Unknown);
        }
        self.moved(place, base)
    }

    pub(super) fn multiple(
        &mut self,
        loads: bool,
        base: Register,
        registers: u16,
        (start, moves): (i32, Option<i32>),
        user: bool,
    ) -> Option<Flow> {
        let from = self.read(base);
        let listed = (0..=PC).filter(|register| registers >> register & 1 != 0);
        let mut address = match from {
            Value::Stack(..) | Value::Same(_) => Address::of(from, start.into()),
            Value::Constant(_) => {
                Address::of(sum(from, Value::Constant(start.cast_unsigned().into())), 0)
            }
            _ => Address::Unknown,
        };
        let mut loaded = Vec::new();
        for register in listed {
            if loads {
                loaded.push((register, self.machine.load_known(address, WORD)));
            } else {
                // What is stored of a base that is moved is not known, unless it is the lowest register.
                let is_unknown = user && register >= SP || register == base && moves.is_some();
                let value = match is_unknown {
                    true => Value::Unknown,
                    false => self.read(register),
                };
                self.machine.store(address, WORD, value);
            }
            address = further(address, WORD.into());
        }
        if let Some(by) = moves {
            let value = sum(from, Value::Constant(by.cast_unsigned().into()));
            self.write(base, value)?;
        }
        let mut target = None;
        for (register, value) in loaded {
            match register {
                PC => target = Some(value),
                // Another mode's.
                SP | LR if user => {}
                // A base that is loaded and moved has an unknown value.
                _ if register == base && moves.is_some() => self.machine.set(base, Value::Unknown),
                _ => self.machine.set(register, value),
            }
        }
        Some(target.map_or(Flow::Next, |value| self.jump(value, base == SP)))
    }
}

/// The address `bytes` bytes further.
fn further(address: Address, bytes: i64) -> Address {
    match address {
        Address::Stack(base, offset) => Address::Stack(base, offset.wrapping_add(bytes)),
        Address::From(origin, offset) => Address::From(origin, offset.wrapping_add(bytes)),
        Address::At(address) => Address::At(address.wrapping_add_signed(bytes)),
        other => other,
    }
}
