//! What is left where two ways meet.

use super::*;

#[test]
fn where_ways_meet_only_what_holds_on_both_is_left() {
    let way = |saved: Register, most: u64| {
        let mut machine = machine();
        machine.set(1, Value::Constant(1));
        machine.set(2, Value::Constant(saved.into()));
        machine.store(at(-16), 8, Value::entry(3));
        machine.store(at(-24), 8, Value::entry(saved));
        let value = Operand {
            register: None,
            value: Value::entry(4),
        };
        machine.compare(value, number(most));
        machine.assume(Condition::BelowOrEqual);
        machine
    };
    let (one, other) = (way(5, 9), way(6, 3));
    let mut met = one.clone();
    assert!(met.join(&other, 0x200));
    assert_eq!(met.get(1), Value::Constant(1));
    assert_eq!(met.get(2), Value::Unknown);
    assert_eq!(met.peek(ENTRY, -16, 8), Value::entry(3));
    assert_eq!(met.peek(ENTRY, -24, 8), Value::Unknown);
    // The larger one of two bounds.
    assert_eq!(met.most(Value::entry(4)), Some(9));
    let mut met = other.clone();
    assert!(met.join(&one, 0x200));
    assert_eq!(met.most(Value::entry(4)), Some(9));
    // Once more, and nothing changes.
    assert!(!met.join(&one, 0x200));
    assert!(!met.join(&other, 0x200));
    // A bound on one way only is none.
    let mut met = one;
    assert!(met.join(&machine(), 0x200));
    assert_eq!(met.most(Value::entry(4)), None);
}

#[test]
fn where_ways_meet_each_thing_that_is_less_is_noticed() {
    let other = machine();
    let meets = |with: fn(&mut Machine)| {
        let mut machine = machine();
        with(&mut machine);
        machine.join(&other, 0x200)
    };
    assert!(!meets(|_| {}));
    assert!(meets(|machine| machine.set(1, Value::Constant(1))));
    assert!(!meets(|machine| machine.set(1, Value::Unknown)));
    assert!(meets(|machine| machine.set(SP, stack(-8))));
    assert!(meets(|machine| machine.store(at(-16), 8, Value::entry(3))));
    assert!(meets(|machine| {
        machine.load(Address::From(Origin::Entry(1), 0), 8);
    }));
    assert!(meets(|machine| {
        machine.name_at_most(3);
    }));
    assert!(meets(|machine| machine.compare(number(1), number(2))));
    // The same comparison on both ways is one.
    let mut machine = machine();
    machine.compare(number(1), number(2));
    let same = machine.clone();
    assert!(!machine.join(&same, 0x200));
    assert!(!machine.may(Condition::Equal));
}

#[test]
fn two_places_that_are_equal_stay_what_they_are() {
    let mut machine = machine();
    let elsewhere = Value::Stack(Base(4), 0);
    machine.set(1, elsewhere);
    let operand = |register, value| Operand {
        register: Some(register),
        value,
    };
    machine.compare(operand(2, stack(-8)), operand(1, elsewhere));
    machine.assume(Condition::Equal);
    assert_eq!(machine.get(1), elsewhere);
}
