//! Translates loads and stores.

use arm_instructions::{Indexing, LR, PC, Place, Register, SP, Source};

use super::read::constant;
use super::translate::Translation;
use crate::instruction::{Effect, Flow, Operand, Size};
use crate::program::Mode;

const WORD: u8 = 4;
/// The first register of which a mode may have its own.
const FIRST_OF_MODES: Register = 8;

impl Translation<'_> {
    /// The base register and the distance of an access. `None`: an index or the program counter is added.
    fn location(place: Place) -> Option<(Register, i32)> {
        match (place.base, place.indexing, place.offset) {
            (PC, ..) => None,
            (base, Indexing::Post, _) => Some((base, 0)),
            (base, _, Source::Constant(bytes)) => Some((base, bytes.cast_signed())),
            _ => None,
        }
    }

    /// Moves the base register of an access, if the access does that.
    pub(super) fn moves(&mut self, place: Place) -> Option<()> {
        if place.indexing == Indexing::Offset {
            return Some(());
        }
        let value = self.sum(place.base, place.offset, false);
        self.set(place.base, value)
    }

    pub(super) fn load(
        &mut self,
        to: Register,
        size: u8,
        signed: bool,
        place: Place,
    ) -> Option<()> {
        let is_word = size == WORD && !signed;
        let literal = self.read.literal(self.program, place).filter(|_| is_word);
        let value = match (literal, Self::location(place)) {
            (Some(value), _) => constant(self.program, value),
            (None, Some((base, bytes))) if is_word => Operand::Load(base, bytes),
            (None, None) if is_word && to != SP => Operand::Word,
            _ => Operand::Unknown,
        };
        self.moves(place)?;
        if to == PC {
            return match is_word {
                true => self.load_target(place, literal, value),
                false => None,
            };
        }
        // Unpredictable.
        let is_base = place.base == to && place.indexing != Indexing::Offset;
        self.set(to, if is_base { Operand::Unknown } else { value })
    }

    /// Jumps to a word in memory: a return if it is popped, and a jump to an address that is known if it is a literal.
    fn load_target(&mut self, place: Place, literal: Option<u32>, value: Operand) -> Option<()> {
        if let (SP, Indexing::Post, Source::Constant(_)) =
            (place.base, place.indexing, place.offset)
        {
            self.flow = Flow::Return;
            return self.set(LR, value);
        }
        self.jump_to(value);
        if let Some(literal) = literal.filter(|_| !self.program.is_relocatable) {
            let target = self.program.instruction_at(literal.into());
            if self.program.code(target).is_some() && self.program.mode(target) != Mode::Data {
                self.jump(target);
            }
        }
        Some(())
    }

    /// Stores a register, whose value is kept if it is a whole word.
    pub(super) fn store_one(&mut self, from: Register, size: u8, place: Place) -> Option<()> {
        // Unpredictable if the base is moved.
        let is_known = from != PC && (from != place.base || place.indexing == Indexing::Offset);
        let value = match is_known && size == WORD {
            true => Operand::Sum(from, 0),
            false => Operand::Unknown,
        };
        self.store(Self::location(place), size, value);
        self.moves(place)
    }

    /// Stores something else.
    pub(super) fn store_unknown(&mut self, size: u8, place: Place) -> Option<()> {
        self.store(Self::location(place), size, Operand::Unknown);
        self.moves(place)
    }

    /// Adds a store. `None`: its place is not known.
    fn store(&mut self, location: Option<(Register, i32)>, size: u8, value: Operand) {
        match location {
            Some((base, offset)) => self.effect(Effect::Store {
                base,
                offset,
                size: Size::Bytes(size.into()),
                value,
            }),
            None => self.store_anywhere(value),
        }
    }

    /// Adds a store to an unknown place.
    pub(super) fn store_anywhere(&mut self, value: Operand) {
        self.effect(Effect::Store {
            base: SP,
            offset: 0,
            size: Size::Anywhere,
            value,
        });
    }

    /// Loads or stores two registers.
    pub(super) fn pair(
        &mut self,
        loads: bool,
        registers: [Register; 2],
        place: Place,
    ) -> Option<()> {
        let is_moved = place.indexing != Indexing::Offset;
        if registers.contains(&PC) || is_moved && registers.contains(&place.base) {
            return None;
        }
        let first = Self::location(place);
        let second = first.map(|(base, bytes)| (base, bytes.wrapping_add(WORD.into())));
        for (register, location) in registers.into_iter().zip([first, second]) {
            match (loads, location) {
                (true, Some((base, bytes))) => self.set(register, Operand::Load(base, bytes))?,
                (true, None) => self.set(register, Operand::Unknown)?,
                (false, _) => self.store(location, WORD, Operand::Sum(register, 0)),
            }
        }
        self.moves(place)
    }

    /// The registers of a list, with the distance of each from the base.
    fn listed(registers: u16, start: i32) -> impl Iterator<Item = (Register, i32)> {
        let listed = (0..=PC).filter(move |register| registers >> register & 1 != 0);
        listed.zip((0..).map(move |number| start + i32::from(WORD) * number))
    }

    fn moves_by(&mut self, base: Register, bytes: Option<i32>) -> Option<()> {
        match bytes {
            Some(bytes) => self.set(base, Operand::Sum(base, bytes)),
            None => Some(()),
        }
    }

    pub(super) fn load_several(
        &mut self,
        base: Register,
        registers: u16,
        (start, moves): (i32, Option<i32>),
        user: bool,
    ) -> Option<()> {
        if base == PC {
            return None;
        }
        self.moves_by(base, moves)?;
        for (register, bytes) in Self::listed(registers, start) {
            match register {
                // Another mode's.
                SP | LR if user => {}
                // Perhaps another mode's, too.
                FIRST_OF_MODES.. if user => self.set(register, Operand::Unknown)?,
                // The last one, so that the link register has the address that is returned to.
                PC if base == SP && moves.is_some() || registers >> SP & 1 != 0 => {
                    self.flow = Flow::Return;
                    self.set(LR, Operand::Load(base, bytes))?;
                }
                PC => self.jump_to(Operand::Load(base, bytes)),
                _ if register == base && moves.is_some() => self.set(base, Operand::Unknown)?,
                _ => self.set(register, Operand::Load(base, bytes))?,
            }
        }
        Some(())
    }

    pub(super) fn store_several(
        &mut self,
        base: Register,
        registers: u16,
        (start, moves): (i32, Option<i32>),
        user: bool,
    ) -> Option<()> {
        if base == PC {
            return None;
        }
        let lowest = registers.trailing_zeros();
        for (register, bytes) in Self::listed(registers, start) {
            let is_other = user && register >= FIRST_OF_MODES;
            // A base that is moved is stored as it was only if it is the first one.
            let is_moved = register == base && moves.is_some() && u32::from(base) != lowest;
            let value = match register == PC || is_other || is_moved {
                true => Operand::Unknown,
                false => Operand::Sum(register, 0),
            };
            self.store(Some((base, bytes)), WORD, value);
        }
        self.moves_by(base, moves)
    }
}
