//! Sums, names and bases.

use super::*;

#[test]
fn sums_and_differences() {
    let number = Value::Constant;
    assert_eq!(number(2).plus(number(3)), number(5));
    assert_eq!(number(u64::MAX).plus(number(3)), number(2));
    assert_eq!(stack(-8).plus(number(3)), stack(-5));
    assert_eq!(number(3).plus(stack(-8)), stack(-5));
    assert_eq!(Value::entry(1).plus(number(0)), Value::entry(1));
    assert_eq!(number(0).plus(Value::entry(1)), Value::entry(1));
    assert_eq!(Value::entry(1).plus(number(1)), Value::Unknown);
    assert_eq!(number(5).minus(number(3)), number(2));
    assert_eq!(stack(-8).minus(number(3)), stack(-11));
    // Two places of one frame.
    assert_eq!(stack(-8).minus(stack(-24)), number(16));
    let other = Value::Stack(Base(4), -24);
    assert_eq!(stack(-8).minus(other), Value::Unknown);
    assert_eq!(Value::entry(1).minus(Value::entry(1)), Value::Unknown);
}

#[test]
fn lowest_bits() {
    let number = Value::Constant(0x1234_5678_9abc_def0);
    assert_eq!(number.low(64), number);
    assert_eq!(number.low(32), Value::Constant(0x9abc_def0));
    assert_eq!(number.low(8), Value::Constant(0xf0));
    let of = Origin::Entry(1);
    assert_eq!(Value::Same(of).low(64), Value::Same(of));
    assert_eq!(Value::Same(of).low(16), Value::Low(of, 16));
    assert_eq!(Value::Low(of, 16).low(32), Value::Low(of, 16));
    assert_eq!(Value::Low(of, 16).low(8), Value::Low(of, 8));
    assert_eq!(stack(0).low(32), Value::Unknown);
    assert_eq!(stack(0).low(64), stack(0));
}

#[test]
fn values_as_addresses() {
    assert_eq!(Address::of(stack(-8), 3), at(-5));
    let of = Origin::Entry(1);
    assert_eq!(Address::of(Value::Same(of), -4), Address::From(of, -4));
    assert_eq!(Address::of(Value::Constant(16), -4), Address::At(12));
    assert_eq!(Address::of(Value::Low(of, 32), 0), Address::Unknown);
}

#[test]
fn an_instruction_that_runs_again_makes_something_else() {
    let mut machine = machine();
    let first = machine.name();
    machine.set(1, first);
    machine.store(at(-16), 8, first);
    machine.set(2, first.low(32));
    machine.compare(
        Operand {
            register: None,
            value: first,
        },
        number(3),
    );
    machine.assume(Condition::Below);
    assert_eq!(machine.most(first), Some(2));
    let again = machine.name();
    assert_eq!(again, first);
    assert_eq!(machine.get(1), Value::Unknown);
    assert_eq!(machine.get(2), Value::Unknown);
    assert_eq!(machine.peek(ENTRY, -16, 8), Value::Unknown);
    assert_eq!(machine.most(again), None);
    // What has another name keeps it.
    machine.set(1, again);
    machine.at = 0x104;
    machine.name();
    assert_eq!(machine.get(1), again);
}

#[test]
fn a_base_that_is_made_again_is_another_place() {
    let mut machine = machine();
    let first = machine.new_base();
    let Value::Stack(base, 0) = first else {
        panic!("{first:?}")
    };
    machine.set(1, first);
    machine.store(Address::Stack(base, 8), 8, Value::entry(3));
    machine.store(at(-16), 8, Value::entry(3));
    machine.new_base();
    assert_eq!(machine.get(1), Value::Unknown);
    assert_eq!(machine.peek(base, 8, 8), Value::Unknown);
    assert_eq!(machine.peek(ENTRY, -16, 8), Value::entry(3));
}

#[test]
fn a_value_without_a_name_gets_one() {
    let mut machine = machine();
    machine.set(1, Value::Unknown);
    let named = machine.named(1);
    assert_eq!(named, Value::Same(Origin::Named(0x100)));
    assert_eq!(machine.get(1), named);
    assert_eq!(machine.named(2), Value::entry(2));
}

#[test]
fn a_callee_keeps_what_it_has_to() {
    let mut machine = machine();
    machine.set(SP, stack(-32));
    machine.store(at(-16), 8, Value::entry(3));
    machine.store(at(-24), 8, Value::Constant(1));
    machine.store(at(-32), 8, Value::entry(6));
    machine.store(at(-40), 8, Value::entry(5));
    machine.compare(number(1), number(2));
    machine.call(1 << 3 | 1 << SP);
    for register in 0..REGISTERS as Register {
        let expected = match register {
            3 => Value::entry(3),
            SP => stack(-32),
            _ => Value::Unknown,
        };
        assert_eq!(machine.get(register), expected, "{register}");
    }
    // Variables may be written to; what lies below the stack pointer is the callee's.
    let found = [-16, -24, -32, -40].map(|offset| machine.peek(ENTRY, offset, 8));
    let entry = Value::entry;
    assert_eq!(found, [entry(3), Value::Unknown, entry(6), Value::Unknown]);
    assert!(machine.may(Condition::Equal));
}
