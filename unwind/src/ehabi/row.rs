//! The row that is equivalent to an entry's opcodes. The opcodes are executed on locations instead of values: for each register, its location
//! relative to a register of the function. So a walk uses these rows like other rows.

use super::{Entry, Error, Opcode, Opcodes, Unwinding};
use crate::arm::{LR, PC, R11, SP};
use crate::restored::Restored;
use crate::row::{Base, Rule};
use crate::rules::Rules;

/// The virtual stack pointer.
#[derive(Clone, Copy)]
enum Vsp {
    /// So many bytes above a register's value in the function.
    At(Base, i64),
    /// The word that is so many bytes above it.
    Loaded(Base, i64),
}

/// Where the caller's registers are.
struct State {
    vsp: Vsp,
    registers: [Rule; 16],
}

impl Entry<'_> {
    /// Returns the row for the function's calls: its rules, and the rules for further registers.
    ///
    /// # Errors
    /// Returns an error if the entry cannot be used, is "cannot unwind", or has opcodes that a row cannot express.
    ///
    /// ```
    /// use unwind::{Base, Range, Rule, ehabi::Tables};
    ///
    /// // pop {r4, lr}
    /// let index = [0, 0, 0xff, 0x7f, 0xb0, 0xb0, 0xa8, 0x80];
    /// let tables = Tables::new(&index, 0x2_0000, &[], 0, Range::new(0x1_0000, 0x1_1000));
    /// let (rules, restored) = tables.entry_at(0x1_0010).expect("an entry").rules()?;
    /// assert_eq!(rules.cfa(), Rule::Value { base: Base::StackPointer, offset: 8 });
    /// assert_eq!(restored.rule(4), Rule::Saved { base: Base::Cfa, offset: -8 });
    /// # Ok::<(), unwind::ehabi::Error>(())
    /// ```
    pub fn rules(&self) -> Result<(Rules, Restored), Error> {
        Ok(self.executed()?.rules())
    }

    /// Returns the rules, and whether the entry describes trap code: it restores all sixteen registers, also the registers that calls do not
    /// preserve.
    pub(crate) fn rules_and_kind(&self) -> Result<(Rules, bool), Error> {
        let state = self.executed()?;
        let is_saved = |rule: &Rule| matches!(rule, Rule::Saved { .. });
        Ok((state.rules().0, state.registers.iter().all(is_saved)))
    }

    fn executed(&self) -> Result<State, Error> {
        match self.unwinding? {
            Unwinding::Cannot => Err(Error::CannotUnwind),
            Unwinding::By(_, opcodes) => {
                let mut state = State {
                    vsp: Vsp::At(Base::StackPointer, 0),
                    registers: [Rule::Same; 16],
                };
                state.execute(opcodes)?;
                Ok(state)
            }
        }
    }
}

impl State {
    fn execute(&mut self, opcodes: Opcodes<'_>) -> Result<(), Error> {
        for opcode in opcodes {
            match opcode? {
                Opcode::Finish => return Ok(()),
                Opcode::Refuse => return Err(Error::Refused),
                Opcode::Add(bytes) => self.add(bytes.cast_signed())?,
                Opcode::Subtract(bytes) => self.add(i64::from(bytes).wrapping_neg())?,
                Opcode::Pop(mask) => self.pop(mask)?,
                Opcode::Set(register) => self.set(register.into()),
                Opcode::PopDoubles { count, fstmfdx, .. } => {
                    let above = if fstmfdx { 4 } else { 0 };
                    self.add(i64::from(count).wrapping_mul(8).wrapping_add(above))?;
                }
                Opcode::PopWireless { count, .. } => self.add(i64::from(count).wrapping_mul(8))?,
                Opcode::PopWirelessControl(mask) => {
                    self.add(i64::from(mask.count_ones()).wrapping_mul(4))?;
                }
                Opcode::PopAuthenticationCode => self.add(4)?,
                // Return addresses of 32 bits carry no code themselves.
                Opcode::ModifierIsVsp => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, bytes: i64) -> Result<(), Error> {
        let Vsp::At(base, offset) = self.vsp else {
            return Err(Error::AfterStackPointer);
        };
        // No sum of opcodes is that large.
        self.vsp = Vsp::At(base, offset.wrapping_add(bytes));
        Ok(())
    }

    fn pop(&mut self, mask: u16) -> Result<(), Error> {
        let mut stack_pointer = None;
        for (register, rule) in (0..16_u32).zip(&mut self.registers) {
            if mask.wrapping_shr(register) & 1 == 0 {
                continue;
            }
            let Vsp::At(base, offset) = self.vsp else {
                return Err(Error::AfterStackPointer);
            };
            *rule = Rule::Saved { base, offset };
            if register == SP {
                stack_pointer = Some(Vsp::Loaded(base, offset));
            }
            self.vsp = Vsp::At(base, offset.wrapping_add(4));
        }
        if let Some(popped) = stack_pointer {
            self.vsp = popped;
        }
        Ok(())
    }

    fn set(&mut self, register: u32) {
        let rule = self.registers.get(register as usize);
        self.vsp = match rule {
            Some(&Rule::Saved { base, offset }) => Vsp::Loaded(base, offset),
            _ if register == R11 => Vsp::At(Base::FramePointer, 0),
            _ => Vsp::At(Base::Register(register), 0),
        };
    }

    fn rules(&self) -> (Rules, Restored) {
        let mut restored = Restored::NONE;
        restored.only_at_calls = true;
        for (register, rule) in (0..16_u32).zip(&self.registers) {
            if register != R11 {
                restored.set(register, self.counted_from_cfa(*rule));
            }
        }
        let popped = |register| self.registers.get(register as usize).copied();
        let return_address = match (popped(PC), popped(LR)) {
            (Some(saved @ Rule::Saved { .. }), _) | (_, Some(saved)) => saved,
            _ => Rule::Same,
        };
        let frame_pointer = popped(R11).unwrap_or(Rule::Same);
        let cfa = match self.vsp {
            Vsp::At(base, offset) => Rule::Value { base, offset },
            Vsp::Loaded(base, offset) => Rule::Saved { base, offset },
        };
        let rules = Rules::new(
            cfa,
            self.counted_from_cfa(return_address),
            self.counted_from_cfa(frame_pointer),
        );
        (rules, restored)
    }

    /// A rule counted from the frame address, if both are counted from the same register: the form that most rows have.
    fn counted_from_cfa(&self, rule: Rule) -> Rule {
        match (rule, self.vsp) {
            (Rule::Saved { base, offset }, Vsp::At(of_cfa, cfa)) if base == of_cfa => Rule::Saved {
                base: Base::Cfa,
                offset: offset.wrapping_sub(cfa),
            },
            _ => rule,
        }
    }
}
