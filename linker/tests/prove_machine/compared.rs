//! Comparisons and bounds.

use super::*;

#[test]
fn two_numbers_answer_a_comparison() {
    use Condition::{Above, AboveOrEqual, Below, BelowOrEqual, Equal, NotEqual, Other};
    let all = [
        Equal,
        NotEqual,
        Above,
        AboveOrEqual,
        Below,
        BelowOrEqual,
        Other,
    ];
    for (left, right, holding) in [
        (2, 2, vec![Equal, AboveOrEqual, BelowOrEqual, Other]),
        (3, 2, vec![NotEqual, Above, AboveOrEqual, Other]),
        (2, 3, vec![NotEqual, Below, BelowOrEqual, Other]),
    ] {
        let mut machine = machine();
        machine.compare(number(left), number(right));
        for condition in all {
            assert_eq!(machine.may(condition), holding.contains(&condition));
            // It holds, or its opposite does.
            let opposite = condition.negated();
            assert!(condition == Other || machine.may(opposite) != machine.may(condition));
        }
        machine.forget_flags();
        assert!(all.into_iter().all(|condition| machine.may(condition)));
    }
}

#[test]
fn the_stack_pointer_answers_a_comparison_and_other_pointers_do_not() {
    let operand = |register, offset| Operand {
        register: Some(register),
        value: stack(offset),
    };
    let mut machine = machine();
    machine.set(SP, stack(-16));
    machine.set(1, stack(-16));
    machine.compare(operand(SP, -16), operand(1, -16));
    assert!(machine.may(Condition::Equal) && !machine.may(Condition::NotEqual));
    machine.compare(operand(1, -8), operand(SP, -16));
    assert!(!machine.may(Condition::Equal) && machine.may(Condition::NotEqual));
    assert!(machine.may(Condition::Above) && machine.may(Condition::Below));
    machine.compare(operand(1, -8), operand(2, -16));
    assert!(machine.may(Condition::Equal) && machine.may(Condition::NotEqual));
    let elsewhere = Operand {
        register: Some(1),
        value: Value::Stack(Base(4), -8),
    };
    machine.compare(operand(SP, -16), elsewhere);
    assert!(machine.may(Condition::Equal) && machine.may(Condition::NotEqual));
}

#[test]
fn what_equals_a_place_on_the_stack_is_that_place() {
    let on_stack = Operand {
        register: Some(1),
        value: stack(-16),
    };
    let unknown = Operand {
        register: Some(SP),
        value: Value::Unknown,
    };
    for (left, right) in [(on_stack, unknown), (unknown, on_stack)] {
        let mut machine = machine();
        machine.set(SP, Value::Unknown);
        machine.compare(left, right);
        machine.assume(Condition::Equal);
        assert_eq!(machine.sp(), stack(-16));
        // The register has been written to since.
        let mut machine = Machine::at_entry(SP);
        machine.compare(left, right);
        machine.set(SP, Value::Unknown);
        machine.assume(Condition::Equal);
        assert_eq!(machine.sp(), Value::Unknown);
        // It is not equal.
        let mut machine = Machine::at_entry(SP);
        machine.set(SP, Value::Unknown);
        machine.compare(left, right);
        machine.assume(Condition::NotEqual);
        assert_eq!(machine.sp(), Value::Unknown);
    }
}

#[test]
fn bounds() {
    let of = Origin::Entry(1);
    let (whole, low) = (Value::Same(of), Value::Low(of, 32));
    let compared = |value, condition, with: u64| {
        let mut machine = machine();
        let left = Operand {
            register: None,
            value,
        };
        machine.compare(left, number(with));
        machine.assume(condition);
        machine
    };
    assert_eq!(
        compared(whole, Condition::BelowOrEqual, 5).most(whole),
        Some(5)
    );
    assert_eq!(compared(whole, Condition::Below, 5).most(whole), Some(4));
    assert_eq!(compared(whole, Condition::Below, 0).most(whole), None);
    assert_eq!(compared(whole, Condition::Above, 5).most(whole), None);
    // Of the whole and of the lowest bits.
    assert_eq!(compared(whole, Condition::Below, 5).most(low), Some(4));
    assert_eq!(compared(low, Condition::Below, 5).most(low), Some(4));
    assert_eq!(compared(low, Condition::Below, 5).most(whole), None);
    assert_eq!(
        compared(low, Condition::Below, 5).most(Value::Low(of, 8)),
        Some(4)
    );
    // A bound that is larger than the bits can be bounds nothing.
    assert_eq!(
        compared(whole, Condition::Below, 300).most(Value::Low(of, 8)),
        Some(255)
    );
    assert_eq!(
        compared(low, Condition::Below, 300).most(Value::Low(of, 8)),
        Some(255)
    );
    assert_eq!(
        compared(whole, Condition::BelowOrEqual, 255).most(Value::Low(of, 8)),
        Some(255)
    );
    assert_eq!(machine().most(low), Some(u32::MAX.into()));
    assert_eq!(machine().most(whole), None);
    assert_eq!(machine().most(Value::Constant(7)), Some(7));
    // The smaller one of two.
    let mut machine = compared(whole, Condition::Below, 5);
    machine.assume(Condition::BelowOrEqual);
    assert_eq!(machine.most(whole), Some(4));
    let mut machine = compared(whole, Condition::BelowOrEqual, 5);
    machine.assume(Condition::Below);
    assert_eq!(machine.most(whole), Some(4));
}

#[test]
fn a_comparison_is_forgotten_when_one_side_is_made_anew() {
    let place = Operand {
        register: None,
        value: stack(-8),
    };
    for named_first in [true, false] {
        let mut machine = machine();
        machine.at = 0x100;
        let named = Operand {
            register: Some(2),
            value: machine.name(),
        };
        match named_first {
            true => machine.compare(named, place),
            false => machine.compare(place, named),
        }
        let holds = Consequence::Holds(2, stack(-8));
        assert_eq!(machine.consequence(Condition::Equal), Some(holds));
        machine.name();
        assert_eq!(machine.consequence(Condition::Equal), None);
    }
}

/// A bound that a type gives and one that a comparison tells, of the same size: both ways of it have to be told.
#[test]
fn who_says_how_large_a_value_can_be() {
    let told = |most: u64| {
        Some(Limit {
            most,
            is_compared: true,
        })
    };
    let of_type = |most: u64| {
        Some(Limit {
            most,
            is_compared: false,
        })
    };
    let mut typed = machine();
    typed.at = 0x100;
    let value = typed.load(at(-64), 1);
    assert_eq!(typed.limit(value), of_type(255));
    let mut compared = typed.clone();
    let operand = Operand {
        register: None,
        value,
    };
    compared.compare(operand, number(255));
    compared.assume(Condition::BelowOrEqual);
    assert_eq!(compared.limit(value), told(255));
    let mut smaller = typed.clone();
    smaller.compare(operand, number(7));
    smaller.assume(Condition::BelowOrEqual);
    assert_eq!(smaller.limit(value), told(7));
    for (one, other, both) in [
        (&typed, &compared, of_type(255)),
        (&compared, &typed, of_type(255)),
        (&compared, &compared, told(255)),
        (&compared, &smaller, told(255)),
        (&smaller, &typed, of_type(255)),
    ] {
        let mut joined = one.clone();
        joined.join(other, 0x200);
        assert_eq!(joined.limit(value), both);
    }
}

#[test]
fn each_value_has_its_own_bound() {
    let mut machine = machine();
    for (register, most) in [(1, 5), (2, 9), (1, 3)] {
        let value = Operand {
            register: None,
            value: Value::entry(register),
        };
        machine.compare(value, number(most));
        machine.assume(Condition::BelowOrEqual);
    }
    assert_eq!(machine.most(Value::entry(1)), Some(3));
    assert_eq!(machine.most(Value::entry(2)), Some(9));
    // A bound that is larger on another way is less.
    let mut other = machine.clone();
    machine.at = 0x100;
    let tight = machine.name_at_most(3);
    other.at = 0x100;
    assert_eq!(other.name_at_most(9), tight);
    assert!(machine.join(&other, 0x400));
    assert_eq!(machine.most(tight), Some(9));
    assert!(!machine.join(&other, 0x400));
}
