//! Jump tables: what their entries become, how many there are, and where they lead.

use linker::prove::compare::Limit;
use linker::prove::table::{Table, Tables};
use linker::prove::value::{Base, Value};

/// A table of signed offsets from its own start, of as many entries as the code says.
fn table(size: u8, count: Option<u64>) -> Table {
    Table {
        address: 0x1000,
        size,
        signed: true,
        count,
        is_bounded: count.is_some_and(|count| !count.is_power_of_two()),
        shift: 0,
        base: 0x1000,
    }
}

fn limit(most: u64, is_compared: bool) -> Option<Limit> {
    Some(Limit { most, is_compared })
}

/// An unsigned entry of so many bytes of a table that was read just now.
fn entry(tables: &mut Tables, size: u8, signed: bool) -> u32 {
    match tables.read(0x1000, size, signed, limit(3, false)) {
        Value::Table(number) => number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_table_has_one_number() {
    let mut tables = Tables::default();
    let (one, other) = (table(4, None), table(2, None));
    let numbers = [one, other, one].map(|table| tables.number(table));
    assert_eq!(numbers, [0, 1, 0]);
    assert_eq!((tables.get(0), tables.get(1)), (one, other));
    assert_eq!(tables.addresses().collect::<Vec<_>>(), [0x1000, 0x1000]);
}

#[test]
fn a_largest_index_is_a_count() {
    let mut tables = Tables::default();
    for (most, count) in [
        (None, None),
        (Some(0), Some(1)),
        (Some(5), Some(6)),
        (Some((1 << 14) - 1), Some(1 << 14)),
        // By chance.
        (Some(1 << 14), None),
        (Some(u64::MAX), None),
    ] {
        for is_compared in [false, true] {
            let limit = most.and_then(|most| limit(most, is_compared));
            let Value::Table(number) = tables.read(0x1000, 4, true, limit) else {
                panic!()
            };
            let as_typed = table(4, count);
            let expected = Table {
                base: 0,
                // A comparison tells how many there are; a type or a mask may allow more than there are.
                is_bounded: as_typed.is_bounded || is_compared && count.is_some(),
                ..as_typed
            };
            assert_eq!(tables.get(number), expected);
        }
    }
}

#[test]
fn an_entry_is_extended_as_it_was_read_or_as_it_is_used() {
    let mut tables = Tables::default();
    let signed = |tables: &Tables, value: Option<Value>| match value? {
        Value::Table(number) => Some(tables.get(number).signed),
        other => panic!("{other:?}"),
    };
    for (is_signed, bits, with_sign, expected) in [
        // As wide as it is: the extension tells the sign.
        (false, 16, true, Some(true)),
        (true, 16, false, Some(false)),
        // Wider: an unsigned one is no other number, a signed one only with its sign.
        (false, 32, true, Some(false)),
        (false, 32, false, Some(false)),
        (true, 32, true, Some(true)),
        (true, 32, false, None),
        // Not all of it.
        (false, 8, false, None),
        (true, 8, true, None),
        (true, 64, false, Some(true)),
    ] {
        let number = entry(&mut tables, 2, is_signed);
        let value = tables.extended(number, bits, with_sign);
        let found = signed(&tables, value);
        assert_eq!(found, expected, "{is_signed} {bits} {with_sign}");
    }
    // What is no entry any more only stays as it is.
    let number = entry(&mut tables, 2, false);
    for sum in [
        tables.sum(Value::Constant(0), Value::Table(number), 2),
        tables.sum(Value::Constant(8), Value::Table(number), 0),
    ] {
        let Value::Table(number) = sum else {
            panic!("{sum:?}")
        };
        assert_eq!(tables.extended(number, 16, false), None);
        assert_eq!(tables.extended(number, 32, false), None);
        assert_eq!(tables.extended(number, 64, false), Some(sum));
    }
}

#[test]
fn sums_with_entries() {
    let mut tables = Tables::default();
    let number = entry(&mut tables, 1, false);
    let of = Value::Table(number);
    let (zero, one) = (Value::Constant(0), Value::Constant(0x10));
    let sum = |tables: &mut Tables, left, right, shift| match tables.sum(left, right, shift) {
        Value::Table(number) => {
            let table = tables.get(number);
            Some((table.shift, table.base))
        }
        Value::Unknown => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(sum(&mut tables, one, of, 2), Some((2, 0x10)));
    assert_eq!(sum(&mut tables, of, one, 0), Some((0, 0x10)));
    // Shifted, and added to; once more, both are shifted.
    let Value::Table(shifted) = tables.sum(one, of, 2) else {
        panic!()
    };
    let shifted = Value::Table(shifted);
    assert_eq!(sum(&mut tables, one, shifted, 1), Some((3, 0x30)));
    assert_eq!(sum(&mut tables, zero, shifted, 61), Some((63, 0)));
    assert_eq!(sum(&mut tables, zero, shifted, 62), None);
    // Of an entry and a number that is shifted nothing is known, nor of two entries.
    assert_eq!(sum(&mut tables, of, one, 1), None);
    assert_eq!(sum(&mut tables, of, of, 0), None);
}

#[test]
fn sums_without_entries() {
    let mut tables = Tables::default();
    let (stack, number) = (Value::Stack(Base::ENTRY, -8), Value::Constant(3));
    let mut sum = |one, other, shift| tables.sum(one, other, shift);
    assert_eq!(sum(stack, number, 2), Value::Stack(Base::ENTRY, 4));
    assert_eq!(sum(number, number, 4), Value::Constant(0x33));
    assert_eq!(sum(number, stack, 0), Value::Stack(Base::ENTRY, -5));
    assert_eq!(sum(Value::Constant(0), Value::entry(1), 0), Value::entry(1));
    assert_eq!(sum(Value::Constant(0), Value::entry(1), 1), Value::Unknown);
}

/// Reads from words at 0x1000.
fn read(words: &[i32]) -> impl Fn(u64, u8) -> Option<u64> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    move |address, size| {
        let from = usize::try_from(address.checked_sub(0x1000)?).ok()?;
        let bytes = bytes.get(from..from + usize::from(size))?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    }
}

#[test]
fn targets() {
    let words = [0x100, -0x100, 0x104, 0x108, 0x10c, 0x110];
    let is_target = |to: u64| (0xf00..0x1110).contains(&to);
    let targets = |table: Table, end| table.targets(read(&words), is_target, end);
    // As many as the code says.
    let three = vec![0x1100, 0xf00, 0x1104];
    assert_eq!(targets(table(4, Some(3)), None), Some(three.clone()));
    // Though another table starts before their end.
    assert_eq!(
        targets(table(4, Some(3)), Some(0x1004)),
        Some(three.clone())
    );
    // One of them leads elsewhere: it is not as it seems.
    assert_eq!(targets(table(4, Some(6)), None), None);
    // Nothing says how many: up to the next table, or to where one leads elsewhere.
    assert_eq!(targets(table(4, None), Some(0x100c)), Some(three.clone()));
    assert_eq!(targets(table(4, None), Some(0x100f)), Some(three.clone()));
    let five = vec![0x1100, 0xf00, 0x1104, 0x1108, 0x110c];
    assert_eq!(targets(table(4, None), None), Some(five.clone()));
    // As many as there are values of some bits: that says nothing of the table.
    assert_eq!(targets(table(4, Some(8)), None), Some(five));
    assert_eq!(targets(table(4, Some(8)), Some(0x100c)), Some(three));
    assert_eq!(targets(table(4, Some(2)), None), Some(vec![0x1100, 0xf00]));
    assert_eq!(targets(table(4, None), Some(0x1000)), None);
    let far = table(4, Some(1)).targets(read(&[0x1234_5678]), |_| true, None);
    assert_eq!(far, Some(vec![0x1234_6678]));
    // Unsigned, shifted and without a base.
    let other = Table {
        signed: false,
        shift: 4,
        base: 8,
        ..table(4, Some(1))
    };
    assert_eq!(
        other.targets(read(&[0x100]), is_target, None),
        Some(vec![0x1008])
    );
    let signed = Table {
        signed: true,
        ..other
    };
    assert_eq!(
        signed.targets(read(&[-0x100]), |_| true, None),
        Some(vec![(-0xff8_i64).cast_unsigned()])
    );
    let unsigned = [0xffff_ff00_u32.cast_signed()];
    assert_eq!(
        other.targets(read(&unsigned), |_| true, None),
        Some(vec![0xf_ffff_f008])
    );
}
