//! Loads and stores. Manual: C4.1, "Loads and Stores".

use super::super::isa::Flow;
use super::super::value::{Address, Register, Value};
use super::Run;

/// What happens to the base register.
#[derive(Clone, Copy)]
enum Indexing {
    /// Nothing.
    Offset,
    /// The offset is added to it, after the access.
    Post,
    /// The offset is added to it, before the access.
    Pre,
}

/// What an access does with a register.
#[derive(Clone, Copy)]
struct Access {
    loads: bool,
    /// A SIMD and floating-point register: its value is not followed.
    simd: bool,
    /// Bytes.
    size: u8,
    /// The value is extended with its sign.
    signed: bool,
    /// Bits of the register.
    bits: u8,
}

impl Run<'_> {
    /// Whether an instruction of the classes for one register is one of the memory tagging extension.
    pub(super) fn is_tag_access(&self) -> bool {
        self.bits(24, 6) == 0b01_1001 && self.bit(21)
    }

    /// One register, with an offset of any kind.
    pub(super) fn single(&mut self) -> Flow {
        let (size, opc, simd) = (self.bits(30, 2), self.bits(22, 2), self.bit(26));
        let (scale, access) = match simd {
            true => {
                let scale = (opc >> 1) << 2 | size;
                let access = Access {
                    loads: opc & 1 == 1,
                    simd,
                    size: 1 << scale.min(4),
                    signed: false,
                    bits: 64,
                };
                (scale, access)
            }
            // prfm and its like
            false if size == 3 && opc == 2 => return Flow::Next,
            false => {
                let access = Access {
                    loads: opc != 0,
                    simd,
                    size: 1 << size,
                    signed: opc >= 2,
                    bits: if opc == 2 || size == 3 { 64 } else { 32 },
                };
                (size, access)
            }
        };
        let indexing = match (self.bit(24), self.bit(21), self.bits(10, 2)) {
            // ldapur and stlur, which acquire and release.
            _ if self.bits(27, 3) == 0b011 => Indexing::Offset,
            (true, ..) => {
                let offset = i64::from(self.bits(10, 12)) << scale;
                return self.access(Indexing::Offset, offset, access);
            }
            (_, true, 2) => {
                let address = self.indexed(scale as u8, access);
                self.transfer(self.number(0), address, access);
                return Flow::Next;
            }
            (_, _, 1) => Indexing::Post,
            (_, _, 3) => Indexing::Pre,
            _ => Indexing::Offset,
        };
        self.access(indexing, self.signed(12, 9), access)
    }

    /// Loads or stores register Rt at the base register, and writes the base register back.
    fn access(&mut self, indexing: Indexing, offset: i64, access: Access) -> Flow {
        let base = self.base();
        let address = self.before(indexing, base, offset);
        self.transfer(self.number(0), address, access);
        self.after(indexing, base, offset)
    }

    /// The value of the base register. It is not named: an instruction has one name, and the loaded value needs it.
    pub(super) fn base(&mut self) -> Value {
        self.read_or_sp(self.number(5), 64)
    }

    fn before(&mut self, indexing: Indexing, base: Value, offset: i64) -> Address {
        match indexing {
            Indexing::Post => Address::of(base, 0),
            _ => Address::of(base, offset),
        }
    }

    fn after(&mut self, indexing: Indexing, base: Value, offset: i64) -> Flow {
        match indexing {
            Indexing::Offset => Flow::Next,
            _ => {
                let moved = base.plus(Value::Constant(offset.cast_unsigned()));
                self.write_or_sp(self.number(5), 64, moved)
            }
        }
    }

    /// The address of an access with a register as offset. An unknown offset from a constant means a table.
    fn indexed(&mut self, scale: u8, access: Access) -> Address {
        let base = self.base();
        let shift = if self.bit(12) { scale } else { 0 };
        let (bits, signed) = self.extension();
        let index = self.read(self.number(16), 64);
        let index = self.extend(index, bits, signed);
        match (base, index) {
            (_, Value::Constant(index)) => Address::of(base, (index << shift).cast_signed()),
            (Value::Constant(table), _) if shift == scale && access.loads && !access.simd => {
                let limit = self.machine.limit(index);
                // Sign extension to 32 bits only cannot be expressed.
                let signed = access.signed && access.bits == 64;
                match self.tables.read(table, access.size, signed, limit) {
                    Value::Table(number) if signed == access.signed => Address::Table(number),
                    _ => Address::Unknown,
                }
            }
            _ => Address::Unknown,
        }
    }

    /// Loads or stores a register.
    fn transfer(&mut self, register: Register, address: Address, access: Access) {
        let Access { size, bits, .. } = access;
        match (access.loads, access.simd) {
            (true, true) => {}
            (true, false) => {
                let value = self.machine.load(address, size);
                let value = match value {
                    Value::Table(_) => value,
                    value => self.extend(value, size * 8, access.signed),
                };
                self.write(register, bits, value);
            }
            (false, true) => self.machine.store(address, size, Value::Unknown),
            (false, false) => {
                let value = self.read_named(register, size * 8);
                self.machine.store(address, size, value);
            }
        }
    }

    pub(super) fn pair(&mut self) -> Flow {
        let (opc, simd) = (self.bits(30, 2), self.bit(26));
        let size = match (simd, opc) {
            (true, _) => 4 << opc.min(2),
            (false, 0 | 1) => 4,
            (false, _) => 8,
        };
        let signed = !simd && opc == 1;
        let access = Access {
            loads: self.bit(22),
            simd,
            size,
            signed,
            bits: 64,
        };
        let indexing = match self.bits(23, 2) {
            1 => Indexing::Post,
            3 => Indexing::Pre,
            _ => Indexing::Offset,
        };
        let offset = self.signed(15, 7) * i64::from(size);
        let base = self.base();
        let address = self.before(indexing, base, offset);
        self.transfer(self.number(0), address, access);
        self.transfer(self.number(10), further(address, size), access);
        self.after(indexing, base, offset)
    }

    /// A load relative to the program counter.
    pub(super) fn literal(&mut self) -> Flow {
        let opc = self.bits(30, 2);
        if self.bit(26) || opc == 3 {
            return Flow::Next;
        }
        let access = Access {
            loads: true,
            simd: false,
            size: if opc == 1 { 8 } else { 4 },
            signed: opc == 2,
            bits: if opc == 0 { 32 } else { 64 },
        };
        // Literal pools are not read.
        self.transfer(self.number(0), Address::Unknown, access);
        Flow::Next
    }

    /// Exclusive accesses, and those that acquire or release.
    pub(super) fn exclusive(&mut self) -> Flow {
        let size = 1_u8 << self.bits(30, 2);
        let (ordered, loads, pair) = (self.bit(23), self.bit(22), self.bit(21));
        let base = self.base();
        let address = Address::of(base, 0);
        let access = Access {
            loads,
            simd: false,
            size,
            signed: false,
            bits: 64,
        };
        if loads || ordered {
            self.transfer(self.number(0), address, access);
            if pair {
                self.transfer(self.number(10), further(address, size), access);
            }
            return Flow::Next;
        }
        // An exclusive store writes its status to a register.
        self.machine
            .store(address, if pair { 2 * size } else { size }, Value::Unknown);
        let value = self.machine.name();
        self.write(self.number(16), 32, value)
    }

    /// Structures of SIMD and floating-point registers.
    pub(super) fn structures(&mut self) -> Flow {
        let base = self.base();
        let size = match self.bit(24) {
            false => {
                let registers = match self.bits(12, 4) {
                    0 | 2 => 4,
                    4 | 6 => 3,
                    7 => 1,
                    _ => 2,
                };
                registers * if self.bit(30) { 16 } else { 8 }
            }
            true => {
                let elements = (self.bits(13, 1) << 1 | self.bits(21, 1)) + 1;
                let scale = match (self.bits(14, 2), self.bits(10, 2)) {
                    (2, 1) => 3,
                    (3, size) => size,
                    (scale, _) => scale,
                };
                elements << scale
            }
        };
        if !self.bit(22) {
            self.machine
                .store(Address::of(base, 0), size as u8, Value::Unknown);
        }
        if !self.bit(23) {
            return Flow::Next;
        }
        let by = match self.number(16) {
            31 => Value::Constant(size.into()),
            register => self.read(register, 64),
        };
        let moved = match (base.plus(by), base) {
            (Value::Unknown, Value::Stack(..)) => self.machine.new_base(),
            (moved, _) => moved,
        };
        self.write_or_sp(self.number(5), 64, moved)
    }
}

/// The address `bytes` bytes further.
fn further(address: Address, bytes: u8) -> Address {
    let bytes = i64::from(bytes);
    match address {
        Address::Stack(base, offset) => Address::Stack(base, offset.wrapping_add(bytes)),
        Address::From(origin, offset) => Address::From(origin, offset.wrapping_add(bytes)),
        Address::At(address) => Address::At(address.wrapping_add_signed(bytes)),
        other => other,
    }
}
