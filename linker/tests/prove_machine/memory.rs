//! What is stored and read back, and what is overwritten.

use super::*;

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
fn more_bytes_than_were_read_are_read_anew() {
    let mut machine = machine();
    let place = Address::From(Origin::Entry(1), 8);
    let half = machine.load(place, 4);
    machine.at = 0x200;
    assert_ne!(machine.load(place, 8), half);
}
