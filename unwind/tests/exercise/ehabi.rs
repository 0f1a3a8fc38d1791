//! ARM's exception tables of any bytes, and walks by them.

use unwind::ehabi::{Entry, Error, Opcode, Opcodes, Personality, Tables, Unwinding};
use unwind::{
    Base, End, Found, LookupError, Machine, Range, RegisterSet, Restored, RowSource, Rule, arm,
};

use super::start::Start;
use super::walk::walk_from;

/// Most entries looked at.
const ENTRIES: usize = 64;

/// The bytes of the longest entry: 256 words.
const LONGEST: usize = 1024;

/// Tables whose index is the first half of the bytes, which lie at the address, and asks them everything. Their code lies below them.
pub fn exception_tables(bytes: &[u8], address: u64, pc: u64) {
    let routines = [pc & 0xffff_fffe];
    let first = [Range::new(pc, pc.saturating_add(16))];
    for tables in [
        tables(bytes, address, &[]),
        tables(bytes, address, &routines).outermost(&first),
    ] {
        let verified = tables.verify();
        if let Err((number, error)) = verified {
            assert!(!error.to_string().is_empty());
            assert!((number as usize) < tables.entries().count());
        }
        assert_eq!(tables.doubt(), None);
        assert_eq!(
            tables.verified(verified).doubt().is_some(),
            verified.is_err()
        );
        assert!(tables.describes(Machine::X86_64).is_err());
        assert_eq!(
            tables.describes(Machine::Arm).is_ok(),
            tables.entries().count() > 0
        );
        for one in tables.entries().take(ENTRIES) {
            entry(&one, &routines);
            if verified.is_ok() && one.range.start < one.range.end {
                asked_for(&tables, &one, one.range.start);
                asked_for(&tables, &one, one.range.end - 1);
            }
        }
        if let Some(found) = tables.entry_at(pc) {
            asked_for(&tables, &found, pc);
        }
        assert!(tables.entry_at(pc | 1 << 32).is_none());
    }
}

fn tables<'a>(bytes: &'a [u8], address: u64, routines: &'a [u64]) -> Tables<'a> {
    let (index, table) = bytes.split_at(bytes.len() / 2);
    let code = Range::new(
        (address & 0xffff_ffff).saturating_sub(1 << 22),
        address & 0xffff_ffff,
    );
    let address = address as u32;
    let table_address = address.wrapping_add(index.len() as u32);
    Tables::new(index, address, table, table_address, code).personalities(routines)
}

/// What a walk is told of an address is what its entry says.
fn asked_for(tables: &Tables<'_>, entry: &Entry<'_>, pc: u64) {
    let found = tables.entry_at(pc).expect("it was found before");
    assert_eq!(found.range, entry.range);
    assert!(entry.range.start <= pc && pc < entry.range.end);
    assert!(tables.covers(pc));
    let (mut row, mut restored) = (Found::EMPTY, Restored::NONE);
    let outcome = tables.look_up(pc, &mut row);
    tables.restored(pc, &mut restored);
    match entry.rules() {
        Ok((rules, further)) => {
            assert_eq!((outcome, row.rules, restored), (Ok(()), rules, further));
            assert_eq!((row.range, row.is_trap), (entry.range, false));
        }
        Err(Error::CannotUnwind) if outcome.is_ok() => {
            assert!(row.rules.is_outermost() && restored == Restored::NONE);
        }
        Err(_) => {
            assert_ne!(outcome, Err(LookupError::NoFunction));
            assert!(outcome.is_err() && restored == Restored::NONE);
        }
    }
}

fn entry(entry: &Entry<'_>, routines: &[u64]) {
    let rules = entry.rules();
    match entry.unwinding {
        Err(error) => assert_eq!(rules.err(), Some(error)),
        Ok(Unwinding::Cannot) => assert_eq!(rules.err(), Some(Error::CannotUnwind)),
        Ok(Unwinding::By(personality, decoded)) => {
            match personality {
                Personality::Own(number) => assert!(number < 3),
                Personality::At(routine) => assert!(routines.contains(&routine)),
            }
            let finishes = opcodes(decoded);
            if let Ok((rules, mut restored)) = rules {
                assert!(finishes && !rules.is_outermost() && restored.only_at_calls);
                for register in 0..20 {
                    let rule = restored.rule(register);
                    assert!(
                        rule == Rule::Same || register < 13 && matches!(rule, Rule::Saved { .. })
                    );
                    let other = Rule::Value {
                        base: Base::Cfa,
                        offset: register.into(),
                    };
                    restored.set(register, other);
                    let expected = if register < 13 { other } else { Rule::Same };
                    assert_eq!(restored.rule(register), expected);
                }
            }
        }
    }
}

/// Looks at all of them. Returns whether there is no error before they finish.
fn opcodes(mut opcodes: Opcodes<'_>) -> bool {
    let (mut left, mut finishes) = (opcodes.bytes().count(), None);
    assert!(left <= LONGEST);
    while let Some(opcode) = opcodes.next() {
        let after = opcodes.bytes().count();
        assert!(after < left);
        left = after;
        match opcode {
            Ok(Opcode::Finish) => finishes = finishes.or(Some(true)),
            Ok(opcode) => {
                assert!(!opcode.to_string().is_empty());
                match opcode {
                    Opcode::Add(bytes) => assert!(bytes >= 4 && bytes % 4 == 0),
                    Opcode::Subtract(bytes) => assert!((4..=256).contains(&bytes)),
                    Opcode::Pop(mask) => assert_ne!(mask, 0),
                    Opcode::Set(register) => assert!(register < 15 && register != 13),
                    Opcode::PopDoubles { first, count, .. } => assert!(first < 32 && count > 0),
                    _ => {}
                }
            }
            Err(error) => {
                assert!(matches!(
                    error,
                    Error::Truncated(_) | Error::Spare(..) | Error::TooLarge
                ));
                assert!(opcodes.next().is_none());
                finishes = finishes.or(Some(false));
                break;
            }
        }
    }
    finishes.unwrap_or(true)
}

/// Walks from `start` with tables of any bytes.
pub fn walk_by_exception_tables(bytes: &[u8], address: u64, start: &Start<'_>) -> Option<End> {
    // Every other byte of code may be an outermost function's.
    let [pc, ..] = start.registers;
    let first = [Range::new(pc & 0xffff_fff0, pc & 0xffff_ffff)];
    let tables = tables(bytes, address, &[]).outermost(&first);
    let word = |address| (start.word)(address) & 0xffff_ffff;
    let registers = start.registers.map(|value| value & 0xffff_fffe);
    let start = Start {
        registers,
        word: &word,
        ..*start
    };
    let [pc, sp, fp, other] = registers;
    let first = arm::Registers::new(pc, sp, fp, other);
    let ended = walk_from(tables, first, &start);
    let core = std::array::from_fn(|register| match register {
        11 => fp as u32,
        13 => sp as u32,
        14 => other as u32,
        15 => pc as u32,
        register => word(sp.wrapping_add(4 * register as u64)) as u32,
    });
    let all = arm::Registers::of(&core);
    assert_eq!(
        (all.pc(), all.sp(), all.fp(), all.link()),
        (pc, sp, fp, Some(other))
    );
    for register in (0..11).chain([12]) {
        assert_eq!(all.other(register), Some(core[register as usize].into()));
    }
    let kept = std::array::from_fn(|index| core[index + 4]);
    let behind = arm::Registers::after_call(pc, sp, &kept);
    assert!(behind.at_call && !all.at_call && behind.link().is_none());
    assert_eq!((behind.fp(), behind.other(4)), (fp, all.other(4)));
    assert_eq!(behind.other(0), None);
    let again = walk_from(tables, all, &start);
    // With more registers known, an end may come later, and never a list that is not complete any more.
    assert!(ended != Some(End::Complete) || again == ended);
    ended
}
