//! What is known of registers, of the stack and of comparisons: what a read gives back, what a write or a call makes
//! unknown, and what is left where two ways meet.

use linker::prove::compare::{Condition, Consequence, Limit, Operand};
use linker::prove::machine::Machine;
use linker::prove::value::{Address, Base, Origin, REGISTERS, Register, Value};

const SP: Register = 7;
const ENTRY: Base = Base::ENTRY;

fn machine() -> Machine {
    let mut machine = Machine::at_entry(SP);
    machine.at = 0x100;
    machine
}

/// A number that stands in no register.
fn number(value: u64) -> Operand {
    Operand {
        register: None,
        value: Value::Constant(value),
    }
}

fn stack(offset: i64) -> Value {
    Value::Stack(ENTRY, offset)
}

fn at(offset: i64) -> Address {
    Address::Stack(ENTRY, offset)
}

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
fn what_was_stored_is_read_back() {
    let mut machine = machine();
    machine.set(SP, stack(-64));
    machine.store(at(-16), 8, Value::entry(3));
    machine.store(at(-24), 8, Value::Constant(0x1234));
    assert_eq!(machine.load(at(-16), 8), Value::entry(3));
    // The lowest bytes of it.
    assert_eq!(machine.load(at(-24), 1), Value::Constant(0x34));
    assert_eq!(machine.peek(ENTRY, -16, 4), Value::entry(3).low(32));
    // Two neighbours at once, or a part that is not the lowest.
    assert_eq!(machine.peek(ENTRY, -24, 16), Value::Unknown);
    assert_eq!(machine.peek(ENTRY, -20, 4), Value::Unknown);
    assert_eq!(machine.peek(Base(4), -16, 8), Value::Unknown);
    // Nothing is remembered of what is too wide for a register.
    machine.store(at(-48), 16, Value::entry(3));
    assert_eq!(machine.peek(ENTRY, -48, 8), Value::Unknown);
}

#[test]
fn what_was_read_is_still_there() {
    let mut machine = machine();
    let first = machine.load(at(-16), 8);
    machine.at = 0x104;
    assert_eq!(machine.load(at(-16), 8), first);
    let other = Address::From(Origin::Entry(1), 8);
    let first = machine.load(other, 8);
    machine.at = 0x108;
    assert_eq!(machine.load(other, 8), first);
    assert_eq!(machine.load(other, 2), first.low(16));
    let further = machine.load(Address::From(Origin::Entry(1), 16), 8);
    assert_ne!(further, first);
    machine.at = 0x10c;
    let elsewhere = machine.load(Address::From(Origin::Entry(2), 8), 8);
    assert_ne!(elsewhere, first);
    // Until somebody may have written there.
    machine.at = 0x110;
    machine.store(Address::Unknown, 8, Value::Unknown);
    assert_ne!(machine.load(other, 8), first);
}

#[test]
fn a_list_that_is_walked_is_read_anew() {
    let mut machine = machine();
    machine.set(0, Value::Constant(0));
    // mov rax, [rax], twice at the same place: the address has the name that the value gets.
    let first = machine.load(Address::of(Value::Same(Origin::Named(0x100)), 0), 8);
    machine.set(0, first);
    machine.at = 0x104;
    let next = machine.load(Address::of(first, 0), 8);
    assert_eq!(next, Value::Same(Origin::Named(0x104)));
}

#[test]
fn a_store_overwrites_what_it_touches() {
    for (offset, size, is_left) in [
        (-32, 8, true),
        (-31, 8, false),
        (-24, 1, false),
        (-17, 1, false),
        (-16, 8, true),
        (-32, 32, false),
    ] {
        let mut machine = machine();
        machine.store(at(-24), 8, Value::entry(3));
        machine.store(at(offset), size, Value::Unknown);
        let left = machine.peek(ENTRY, -24, 8) == Value::entry(3);
        assert_eq!(left, is_left, "{size} bytes at {offset}");
        let mut machine = Machine::at_entry(SP);
        machine.store(at(-24), 8, Value::entry(3));
        machine.store(Address::Stack(Base(4), offset), size, Value::Unknown);
        assert_eq!(machine.peek(ENTRY, -24, 8), Value::entry(3));
    }
}

#[test]
fn a_store_somewhere_overwrites_variables_but_no_saved_register() {
    let mut machine = machine();
    machine.store(at(-16), 8, Value::entry(3));
    machine.store(at(-24), 8, Value::Signed(3));
    machine.store(at(-32), 8, stack(0));
    machine.store(at(-40), 8, Value::Constant(1));
    machine.store(Address::At(0x4000), 8, Value::Constant(2));
    let found = [-16, -24, -32, -40].map(|offset| machine.peek(ENTRY, offset, 8));
    let expected = [Value::entry(3), Value::Signed(3), stack(0), Value::Unknown];
    assert_eq!(found, expected);
}

#[test]
fn below_the_red_zone_nothing_is_kept() {
    let mut machine = machine();
    machine.set(SP, stack(-256));
    machine.store(at(-128), 8, Value::entry(3));
    machine.store(at(-136), 8, Value::entry(4));
    machine.set(SP, stack(0));
    assert_eq!(machine.peek(ENTRY, -128, 8), Value::entry(3));
    assert_eq!(machine.peek(ENTRY, -136, 8), Value::Unknown);
}

#[test]
fn what_counts_from_another_base_lies_below_the_entrys_frame() {
    let mut machine = machine();
    machine.store(at(-16), 8, Value::entry(3));
    let aligned = machine.new_base();
    machine.set(SP, aligned);
    let Value::Stack(base, 0) = aligned else {
        panic!("{aligned:?}")
    };
    machine.store(Address::Stack(base, 8), 8, Value::entry(4));
    assert_eq!(machine.peek(ENTRY, -16, 8), Value::entry(3));
    machine.set(SP, stack(-16));
    assert_eq!(machine.peek(base, 8, 8), Value::Unknown);
    assert_eq!(machine.peek(ENTRY, -16, 8), Value::entry(3));
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
fn what_is_read_is_no_larger_than_its_bytes() {
    for (size, most) in [
        (1, Some(0xff)),
        (2, Some(0xffff)),
        (4, Some(0xffff_ffff)),
        (8, None),
    ] {
        let mut machine = machine();
        let value = machine.load(Address::Unknown, size);
        assert_eq!(machine.most(value), most);
        let value = machine.load(at(-8), size);
        assert_eq!(machine.most(value), most);
    }
    let mut machine = machine();
    let value = machine.name_at_most(63);
    assert_eq!(machine.most(value), Some(63));
}

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
fn a_frame_full_of_variables_still_has_room_for_saved_registers() {
    let mut machine = machine();
    machine.set(SP, stack(-0x10000));
    for index in 0..1000 {
        machine.store(at(-0x8000 + 8 * index), 8, Value::Constant(1));
    }
    machine.store(at(-16), 8, Value::entry(3));
    machine.store(at(-24), 8, Value::entry(5));
    assert_eq!(machine.peek(ENTRY, -16, 8), Value::entry(3));
    assert_eq!(machine.peek(ENTRY, -24, 8), Value::entry(5));
}

#[test]
fn what_was_read_or_compared_by_a_name_is_forgotten_with_it() {
    let mut machine = machine();
    let first = machine.name();
    machine.at = 0x200;
    let other = Address::of(first, 8);
    let read = machine.load(other, 8);
    machine.compare(
        number(1),
        Operand {
            register: None,
            value: first,
        },
    );
    machine.at = 0x100;
    machine.name();
    machine.at = 0x300;
    assert_ne!(machine.load(other, 8), read);
    // Only what has another name is still known.
    let mut machine = Machine::at_entry(SP);
    machine.at = 0x100;
    let first = machine.name();
    let place = Address::From(Origin::Entry(1), 8);
    machine.at = 0x200;
    let read = machine.load(place, 8);
    machine.set(2, first);
    machine.at = 0x100;
    machine.name();
    machine.at = 0x300;
    assert_eq!(machine.load(place, 8), read);
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
fn more_bytes_than_were_read_are_read_anew() {
    let mut machine = machine();
    let place = Address::From(Origin::Entry(1), 8);
    let half = machine.load(place, 4);
    machine.at = 0x200;
    assert_ne!(machine.load(place, 8), half);
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
