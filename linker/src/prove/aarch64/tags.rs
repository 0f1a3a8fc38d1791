//! Loads and stores of allocation tags (MTE), some of which store data, too. Manual: C4.1, "Load/store memory tags" and C6,
//! `STGP`.

use disarm64::InsnOpcode;

use super::super::isa::Flow;
use super::super::value::{Address, Value};
use super::Run;

/// Bytes that one tag belongs to.
const GRANULE: i64 = 16;

impl Run<'_> {
    /// Tags of one or two granules.
    pub(super) fn tags(&mut self) -> Flow {
        let (base, offset) = (self.base(), self.signed(12, 9) * GRANULE);
        let (writes_back, is_post) = (self.bit(10), !self.bit(11));
        let zeroed = match self.opcode.definition().mnemonic {
            "ldg" => {
                // The tag goes into the bits above an address.
                let value = self.machine.name();
                return self.write(self.number(0), 64, value);
            }
            "stzg" => 16,
            "stz2g" => 32,
            _ => 0,
        };
        let address = Address::of(base, if is_post { 0 } else { offset });
        if zeroed != 0 {
            self.machine.store(address, zeroed, Value::Unknown);
        }
        self.moved_base(writes_back, base, offset)
    }

    /// Stores a pair of registers, and the tag of their granule.
    pub(super) fn tagged_pair(&mut self) -> Flow {
        let (base, offset) = (self.base(), self.signed(15, 7) * GRANULE);
        let (writes_back, is_post) = (self.bit(23), !self.bit(24));
        let from = if is_post { 0 } else { offset };
        for (field, further) in [(0, 0), (10, 8)] {
            let value = self.read_named(self.number(field), 64);
            let address = Address::of(base, from.wrapping_add(further));
            self.machine.store(address, 8, value);
        }
        self.moved_base(writes_back, base, offset)
    }

    fn moved_base(&mut self, writes_back: bool, base: Value, offset: i64) -> Flow {
        if writes_back {
            let moved = base.plus(Value::Constant(offset.cast_unsigned()));
            self.write_or_sp(self.number(5), 64, moved);
        }
        Flow::Next
    }
}
