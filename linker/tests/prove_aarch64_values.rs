//! What A64 instructions make of numbers, of bounds and of copies.

#[path = "common/a64.rs"]
mod a64;
mod common;

use a64::{START, run, run_assuming};
use linker::prove::aarch64::A64;
use linker::prove::compare::Condition;
use linker::prove::isa::{Flow, Isa};
use linker::prove::machine::Machine;
use linker::prove::table::Tables;
use linker::prove::value::{Base, Register, Value};

/// Runs a text and compares registers with numbers; `None`: any other value than a number.
fn numbers(name: &str, text: &str, expected: &[(Register, Option<u64>)]) {
    let ran = run(&format!("a64_values_{name}"), text);
    for (register, number) in expected {
        let found = match ran.machine.get(*register) {
            Value::Constant(number) => Some(number),
            _ => None,
        };
        assert_eq!(
            found,
            *number,
            "x{register}: {:?}",
            ran.machine.get(*register)
        );
    }
}

#[test]
fn sums_of_numbers() {
    numbers(
        "sums",
        "mov x0, #0x1000\n mov x1, #3\n add x2, x0, x1\n sub x3, x0, x1\n add x4, x0, x1, lsl #4\n sub x5, x0, x1, lsl #4\n
         add w6, w0, w1\n sub w7, w1, w0\n add x8, x0, x1, lsr #1\n add x9, x0, w1, uxtb #2\n sub x10, x10, x10\n
         add x11, x0, #1, lsl #12\n sub x12, x0, x1, asr #1\n add w13, w0, w1, lsl #1\n subs x14, x0, #1\n
         sub x15, x16, x17\n add w16, w17, w1\n sub w17, w18, w18\n sub x18, x19, x19, lsl #1\n add x20, x0, x1, lsr #0\n
         mov x21, #0xff\n add x22, x0, w21, uxtb\n add x23, x0, w21, sxtb\n sub x24, x25, x26\n add w25, w0, wzr\n
         sub w26, w27, w27, uxtw",
        &[
            (2, Some(0x1003)),
            (3, Some(0xffd)),
            (4, Some(0x1030)),
            (5, Some(0xfd0)),
            (6, Some(0x1003)),
            (7, Some(0xffff_f003)),
            (8, None),
            (9, Some(0x100c)),
            (10, Some(0)),
            (11, Some(0x2000)),
            (12, None),
            (14, Some(0xfff)),
            (15, None),
            (16, None),
            (17, Some(0)),
            (18, None),
            (20, Some(0x1003)),
            (22, Some(0x10ff)),
            (23, Some(0xfff)),
            (24, None),
            (25, Some(0x1000)),
            (26, Some(0)),
        ],
    );
}

#[test]
fn logic_of_numbers() {
    numbers(
        "logic",
        "mov x0, #0xff\n mov x1, #0x0ff0\n and x2, x0, #0x3c\n orr x3, x0, #0xff0\n eor x4, x0, #0xff0\n orr x5, x0, x1\n
         orn x6, x0, x1\n eor x7, x8, x8\n mvn x9, xzr\n ands x10, x0, #0xf\n orr x11, x0, x1, lsl #4\n and x12, x0, x1\n
         eor x13, x0, x1\n eon x14, x15, x15\n eor x16, x17, x17, lsl #1\n orr w18, w0, w1\n mov x19, x20\n orr x21, x20, xzr\n
         mvn x22, x20\n mov x23, #0x5555555555555555\n mov w24, #0xf000000f\n mov x25, #0xffffffff00000000\n mov x26, #0xc000000000000001\n
         orr x27, x20, x20, lsl #3\n mov w28, #0x00ff00ff",
        &[
            (2, Some(0x3c)),
            (3, Some(0xfff)),
            (4, Some(0xf0f)),
            (5, Some(0xfff)),
            (6, Some(!0xf00)),
            (7, Some(0)),
            (9, Some(u64::MAX)),
            (10, Some(0xf)),
            (11, None),
            (14, Some(u64::MAX)),
            (16, None),
            (18, Some(0xfff)),
            (22, None),
            (23, Some(0x5555_5555_5555_5555)),
            (24, Some(0xf000_000f)),
            (25, Some(0xffff_ffff_0000_0000)),
            (26, Some(0xc000_0000_0000_0001)),
            (27, None),
            (28, Some(0x00ff_00ff)),
        ],
    );
    let ran = run(
        "a64_values_copies",
        "mov x19, x20\n orr x21, x20, xzr\n mov w22, w20\n orr x23, xzr, x20, lsl #1\n orn x24, x20, xzr\n orr x25, x20, xzr, lsl #2",
    );
    let entry = Value::entry(20);
    let get = |register| ran.machine.get(register);
    assert_eq!((get(19), get(21), get(22)), (entry, entry, entry.low(32)));
    assert!([23, 24].into_iter().all(|register| get(register) != entry));
}

#[test]
fn moves_of_numbers() {
    numbers(
        "moves",
        "movz x0, #0x1234, lsl #48\n movk x0, #0x5678, lsl #32\n movk x0, #0x9abc\n movn x1, #0x1234, lsl #16\n movn w2, #0x12\n
         movz w3, #1, lsl #16\n movk x4, #5\n movk w3, #2\n mov x5, #0x1111111111111111\n movk x5, #0x2222, lsl #16",
        &[
            (0, Some(0x1234_5678_0000_9abc)),
            (1, Some(!0x1234_0000)),
            (2, Some(0xffff_ffed)),
            (3, Some(0x1_0002)),
            (4, None),
            (5, Some(0x1111_1111_2222_1111)),
        ],
    );
}

#[test]
fn bits_of_numbers() {
    numbers(
        "bits",
        "mov x0, #0x8765\n movk x0, #0x4321, lsl #16\n lsl x1, x0, #8\n lsr x2, x0, #8\n ubfx x3, x0, #4, #8\n lsl w4, w0, #8\n
         uxtb w5, w0\n sxth x6, w0\n sxtw x7, w0\n asr x8, x0, #4\n ubfiz x9, x0, #4, #8\n bfi x10, x0, #4, #8\n sbfx x11, x0, #4, #8\n
         lsl x12, x0, #63\n lsr w13, w0, #31\n sxtb w14, w0",
        &[
            (1, Some(0x43_2187_6500)),
            (2, Some(0x43_2187)),
            (3, Some(0x76)),
            (4, Some(0x2187_6500)),
            (5, Some(0x65)),
            (6, Some(0xffff_ffff_ffff_8765)),
            (7, Some(0x4321_8765)),
            (8, None),
            (9, None),
            (10, None),
            (11, None),
            (12, Some(1 << 63)),
            (13, Some(0)),
            (14, Some(0x65)),
        ],
    );
}

#[test]
fn selects_of_the_same() {
    numbers(
        "selects",
        "mov x0, #5\n mov x1, #5\n mov x2, #6\n csel x3, x0, x1, eq\n csel x4, x0, x2, eq\n csinc x5, x0, x1, eq\n
         csinv x6, x0, x1, eq\n csneg x7, x0, x1, eq\n csel w8, w0, w1, ne",
        &[(3, Some(5)), (4, None), (5, None), (6, None), (7, None), (8, Some(5))],
    );
    // What is known of neither is not the same.
    let ran = run("a64_values_select_unknown", "svc #0\n csel x2, x0, x1, eq");
    assert!(matches!(ran.machine.get(2), Value::Same(_)));
}

#[test]
fn places_of_code_and_of_constants() {
    numbers(
        "places",
        "adr x0, .+8\n adr x1, .-4\n .inst 0xb0000002\n .inst 0xf0ffffe3\n adr x4, .+3",
        &[
            (0, Some(START + 8)),
            (1, Some(START)),
            (2, Some(START + 0x1000)),
            (3, Some(START - 0x1000)),
            (4, Some(START + 16 + 3)),
        ],
    );
}

#[test]
fn bounds() {
    for (name, text, register, most) in [
        ("and", "and x0, x1, #0x3f", 0, Some(0x3f)),
        ("ands", "ands x0, x1, #0x3f", 0, Some(0x3f)),
        ("ubfx", "ubfx x0, x1, #4, #5", 0, Some(0x1f)),
        ("lsr", "lsr w0, w1, #28", 0, Some(0xf)),
        ("lsr_all", "lsr x0, x1, #60", 0, Some(0xf)),
        ("sign", "and x0, x1, #0xfffffffffffffffe", 0, None),
        ("byte", "ldrb w0, [x1]", 0, Some(0xff)),
        ("uxtb", "uxtb w0, w1", 0, Some(0xff)),
        // A number with a sign that is positive is the same without.
        ("positive", "ldrb w0, [x1]\n sxth x0, w0", 0, Some(0xff)),
        ("negative", "ldrh w0, [x1]\n sxth x0, w0", 0, None),
        ("edge", "and x0, x1, #0x7f\n sxtb x0, w0", 0, Some(0x7f)),
        ("over", "ldrb w0, [x1]\n sxtb x0, w0", 0, None),
    ] {
        let ran = run(&format!("a64_values_bound_{name}"), text);
        let value = ran.machine.get(register);
        assert_eq!(ran.machine.most(value), most, "{text}");
    }
}

#[test]
fn comparisons() {
    let le = Condition::BelowOrEqual;
    for (name, text, at, register, most) in [
        ("cmp", "cmp x1, #5", 1, 1, Some(5)),
        ("cmp_w", "mov w2, w1\n cmp w1, #5", 2, 2, Some(5)),
        ("cmp_shift", "cmp x1, #1, lsl #12", 1, 1, Some(0x1000)),
        ("cmp_register", "mov x2, #7\n cmp x1, x2", 2, 1, Some(7)),
        (
            "cmp_shifted",
            "mov x2, #7\n cmp x1, x2, lsl #1",
            2,
            1,
            Some(14),
        ),
        (
            "cmp_extended",
            "mov x2, #7\n cmp x1, w2, uxtb",
            2,
            1,
            Some(7),
        ),
        (
            "sxtb_within",
            "cmp x1, #0x7f\n sxtb x0, w1",
            1,
            0,
            Some(0x7f),
        ),
        ("sxtb_over", "cmp x1, #0x80\n sxtb x0, w1", 1, 0, None),
        ("subs", "subs x2, x1, #5", 1, 1, Some(5)),
        ("subs_result", "subs x2, x1, #5", 1, 2, None),
        ("subs_same", "svc #0\n subs x1, x1, #5", 2, 1, None),
        (
            "cmp_copy",
            "svc #0\n mov x2, x1\n cmp x1, #5",
            3,
            2,
            Some(5),
        ),
        // Of a sum nothing follows, nor of flags that something else has set since.
        ("cmn", "cmn x1, #5", 1, 1, None),
        ("adds", "cmp x1, #5\n adds x2, x3, #5", 2, 1, None),
        ("ands", "cmp x1, #5\n ands x2, x3, #7", 2, 1, None),
        ("bics", "cmp x1, #5\n bics x2, x3, x4", 2, 1, None),
        ("ccmp", "cmp x1, #5\n ccmp x2, #5, #0, eq", 2, 1, None),
        ("call", "cmp x1, #5\n svc #0", 2, 1, None),
        ("msr", "cmp x1, #5\n msr nzcv, x2", 2, 1, None),
        ("fcmp", "cmp x1, #5\n fcmp d0, d1", 2, 1, None),
        // These leave them alone.
        ("add", "cmp x1, #5\n add x2, x3, #5", 2, 1, Some(5)),
        ("and", "cmp x1, #5\n and x2, x3, x4", 2, 1, Some(5)),
        ("madd", "cmp x1, #5\n madd x2, x3, x4, x5", 2, 1, Some(5)),
        ("udiv", "cmp x1, #5\n udiv x2, x3, x4", 2, 1, Some(5)),
        ("extr", "cmp x1, #5\n extr x2, x3, x4, #5", 2, 1, Some(5)),
        ("barrier", "cmp x1, #5\n dsb sy\n isb", 3, 1, Some(5)),
        ("load", "cmp x1, #5\n ldr x2, [x3]", 2, 1, Some(5)),
    ] {
        let ran = run_assuming(&format!("a64_values_{name}"), text, &[(at, le)]);
        let value = ran.machine.get(register);
        assert_eq!(ran.machine.most(value), most, "{text}");
    }
    // The stack pointer is where the comparison says.
    let ran = run_assuming(
        "a64_values_cmp_sp",
        "sub x9, sp, #64\n and x10, x10, #0xff\n mov sp, x10\n cmp sp, x9",
        &[(4, Condition::Equal)],
    );
    assert_eq!(ran.machine.sp(), Value::Stack(Base::ENTRY, -64));
    let ran = run_assuming(
        "a64_values_cmp_shifted_sp",
        "sub x9, sp, #64\n cmp x10, x9, lsl #1",
        &[(2, Condition::Equal)],
    );
    assert_eq!(ran.machine.get(10), Value::entry(10));
}

/// What is equal to an address on the stack is that address: in a register that holds what was compared, as a whole.
#[test]
fn registers_that_are_equal_to_an_address() {
    let place = Value::Stack(Base::ENTRY, -64);
    for (name, text, register, is_place) in [
        ("right", "cmp x10, x9", 10, true),
        ("left", "cmp x9, x10", 10, true),
        ("another_result", "subs x11, x10, x9", 10, true),
        ("left_another_result", "subs x11, x9, x10", 10, true),
        ("result", "subs x10, x10, x9", 10, false),
        ("left_result", "subs x10, x9, x10", 10, false),
        ("shifted", "mov x10, #2\n cmp x9, x10, lsl #1", 10, false),
        ("shifted_unknown", "svc #0\n cmp x9, x0, lsl #1", 0, false),
        // The lower half of one is equal to the lower half of the other; `uxtx` does not make it more.
        ("half", "cmp w10, w9", 10, false),
        (
            "half_extended",
            "mov w10, w10\n .inst 0x6b29615f",
            10,
            false,
        ),
        // The number stands where another instruction has a register: 10.
        ("number", "cmp x9, #0x280", 10, false),
    ] {
        let text = format!("sub x9, sp, #64\n {text}");
        let equal = text.lines().count();
        let name = format!("a64_values_equal_{name}");
        let ran = run_assuming(&name, &text, &[(equal, Condition::Equal)]);
        assert_eq!(ran.machine.get(register) == place, is_place, "{text}");
    }
}

#[test]
fn rooms_of_unknown_size() {
    for (name, text) in [
        ("sub", "sub x9, sp, x0"),
        ("add", "mov x8, sp\n add x9, x0, x8"),
        ("and", "mov x8, sp\n and x9, x8, x0"),
        ("bic", "mov x8, sp\n bic x9, x8, x0"),
        ("mask", "mov x8, sp\n and x9, x8, #0xfffffffffffffff0"),
    ] {
        let ran = run(&format!("a64_values_room_{name}"), text);
        let value = ran.machine.get(9);
        assert!(
            matches!(value, Value::Stack(base, 0) if base != Base::ENTRY),
            "{text}: {value:?}"
        );
    }
    for (name, text) in [
        ("minus", "mov x8, sp\n sub x9, x0, x8"),
        ("half", "mov w8, wsp\n sub w9, w8, w0"),
        ("or", "mov x8, sp\n orr x9, x8, x0"),
    ] {
        let ran = run(&format!("a64_values_room_{name}"), text);
        let value = ran.machine.get(9);
        assert!(!matches!(value, Value::Stack(..)), "{text}: {value:?}");
    }
}

#[test]
fn loads_with_an_index() {
    let text = "sub sp, sp, #64\n str x19, [sp, #16]\n mov x1, #2\n ldr x2, [sp, x1, lsl #3]\n mov x3, #16\n ldr x4, [sp, x3]\n
         mov w5, #-16\n add x6, sp, #32\n ldr x7, [x6, w5, sxtw]\n ldr x8, [sp, x9]\n str x20, [sp, x1, lsl #3]";
    let ran = run("a64_values_index", text);
    for register in [2, 4, 7] {
        assert_eq!(ran.machine.get(register), Value::entry(19), "x{register}");
    }
    assert_ne!(ran.machine.get(8), Value::entry(19));
    assert_eq!(ran.saved(-48), Some(20));
}

#[test]
fn pairs_and_literals() {
    let ran = run(
        "a64_values_pairs",
        "stp w19, w20, [sp, #-16]!\n ldpsw x0, x1, [sp]\n ldp w2, w3, [sp], #16\n stnp x21, x22, [sp, #-32]\n ldp x4, x5, [sp, #-32]",
    );
    let low = |register| Value::entry(register).low(32);
    let get = |register| ran.machine.get(register);
    assert_eq!((get(2), get(3)), (low(19), low(20)));
    assert!(get(0) != low(19) && get(1) != low(20));
    assert_eq!((get(4), get(5)), (Value::entry(21), Value::entry(22)));
    assert_eq!(ran.sp(), 0);
    // Words with a sign.
    let ran = run(
        "a64_values_pair_of_words",
        "mov x0, #-1\n str x0, [sp, #-16]\n str w0, [sp, #-8]\n ldpsw x1, x2, [sp, #-16]\n ldr w3, [sp, #-16]\n ldrsw x4, [sp, #-8]\n ldxr w5, [sp]\n ldp w6, w7, [sp, #-8]",
    );
    let get = |register| ran.machine.get(register);
    assert_eq!(get(1), Value::Constant(u64::MAX));
    assert_eq!(get(3), Value::Constant(0xffff_ffff));
    assert_eq!(get(4), Value::Constant(u64::MAX));
    assert_eq!(get(6), Value::Constant(0xffff_ffff));
    for (name, text, most) in [
        ("w", "ldr w0, .+8", Some(0xffff_ffff)),
        ("x", "ldr x0, .+8", None),
        ("sw", "ldrsw x0, .+8", None),
    ] {
        let ran = run(&format!("a64_values_literal_{name}"), text);
        let value = ran.machine.get(0);
        assert_ne!(value, Value::entry(0));
        assert_eq!(ran.machine.most(value), most, "{text}");
    }
}

/// A table is read with an index that counts its entries, into a register for addresses.
#[test]
fn loads_from_tables() {
    let base = "mov x1, #0x200000\n and x3, x3, #7\n";
    for (name, text, size) in [
        ("b", "ldrb w4, [x1, x3]", 1),
        ("h", "ldrh w4, [x1, x3, lsl #1]", 2),
        ("x", "ldr x4, [x1, x3, lsl #3]", 8),
        ("sw", "ldrsw x4, [x1, x3, lsl #2]", 4),
        ("sb", "ldrsb x4, [x1, w3, uxtw]", 1),
    ] {
        let ran = run(
            &format!("a64_values_table_{name}"),
            &format!("{base} {text}"),
        );
        let table = ran.table(ran.machine.get(4));
        assert_eq!((table.address, table.size), (0x20_0000, size), "{text}");
        assert_eq!(table.signed, text.contains("ldrs"), "{text}");
        assert_eq!((table.count, table.shift, table.base), (Some(8), 0, 0));
    }
    for (name, text) in [
        ("not_shifted", "ldrh w4, [x1, x3]"),
        // Of the sign that goes to half of a register nothing is remembered.
        ("half", "ldrsh w4, [x1, x3, lsl #1]"),
    ] {
        let ran = run(
            &format!("a64_values_table_{name}"),
            &format!("{base} {text}"),
        );
        let value = ran.machine.get(4);
        assert!(!matches!(value, Value::Table(_)), "{text}: {value:?}");
    }
    for (name, text) in [
        ("store", "strb w4, [x1, x3]"),
        ("vector", "ldr d0, [x1, x3, lsl #3]"),
        ("store_vector", "str d0, [x1, x3, lsl #3]"),
        ("not_shifted_word", "ldr w4, [x1, x3]"),
    ] {
        let ran = run(
            &format!("a64_values_table_{name}"),
            &format!("{base} {text}"),
        );
        assert_eq!(ran.tables.addresses().count(), 0, "{text}");
    }
    // An entry counts instructions from a place.
    let ran = run(
        "a64_values_table_sum",
        &format!("{base} ldrb w4, [x1, x3]\n lsl x4, x4, #2\n adr x5, .+4\n add x6, x5, x4"),
    );
    let table = ran.table(ran.machine.get(6));
    assert_eq!((table.shift, table.base), (2, START + 4 * 4 + 4));
}

#[test]
fn branches_under_the_condition_always() {
    let ran = run("a64_values_always", "b.al .\n b.nv .\n b.mi .");
    let to = |index: u64| Value::Constant(START + 4 * index);
    assert_eq!(ran.flows[..2], [Flow::Jump(to(0)), Flow::Jump(to(1))]);
    assert_eq!(ran.flows[2], Flow::Branch(START + 8, Condition::Other));
    // One instruction that compares and branches.
    let ran = run(
        "a64_values_compare_and_branch",
        ".arch_extension cmpbr\n cbgt x1, x2, .+16\n cbeq w1, #5, .-4\n cbhne w1, w2, .",
    );
    let to = |address| Flow::Branch(address, Condition::Other);
    assert_eq!(ran.flows, [START + 16, START, START + 8].map(to));
}

#[test]
fn words_with_reserved_fields_are_no_instructions() {
    let is_instruction = |word: u32| {
        let mut machine = Machine::at_entry(A64::STACK_POINTER);
        let executed = A64.execute(&word.to_le_bytes(), &mut machine, &mut Tables::default());
        executed.is_some()
    };
    // Each with one that differs from it in the reserved field.
    for (what, reserved, other) in [
        ("movz w0, #0, lsl #32", 0x52c0_0000, 0x5280_0000),
        ("add with ror", 0x8bc0_0000, 0x8b80_0000),
        ("add w0, w0, w0, lsl #32", 0x0b00_8000, 0x0b00_4000),
        ("add extended by 5", 0x8b20_1400, 0x8b20_1000),
        ("adds of tags", 0xb180_0000, 0xb100_0000),
        ("str of half a quad word", 0x7d80_0000, 0x3d80_0000),
        ("ldr with a byte as index", 0xf860_0800, 0xf860_4800),
        ("stp of vectors of no size", 0xed00_0000, 0xad00_0000),
        ("ldr of vectors of no size", 0xdc00_0000, 0x9c00_0000),
        ("and w0, w0, w0, lsl #32", 0x0a00_8000, 0x0a00_4000),
        ("and w0 with a mask of 64 bits", 0x1240_0000, 0x1200_0000),
        ("and with all bits", 0x1200_7c00, 0x1200_7800),
        ("ubfm w0 of 64 bits", 0x5340_0000, 0x5300_0000),
        ("ubfm w0 from bit 32", 0x5320_0000, 0x5310_0000),
        ("ubfm w0 to bit 32", 0x5300_8000, 0x5300_4000),
    ] {
        assert!(!is_instruction(reserved), "{what}");
        assert!(is_instruction(other), "not {what}");
    }
}

#[test]
fn bytes_that_only_fill_room() {
    let padding = |word: u32| A64.padding(&word.to_le_bytes());
    assert_eq!([0xd503_201f, 0xd420_0020, 0].map(padding), [Some(4); 3]);
    assert_eq!(padding(0xd65f_03c0), None);
    assert_eq!(A64.length(&[0; 4]), Some(4));
    assert_eq!(A64.length(&[0; 5]), Some(4));
    assert_eq!(A64.length(&[0; 3]), None);
}

#[test]
fn numbers_of_system_registers_and_of_pointers() {
    let ran = run(
        "a64_values_system",
        "mrs x0, tpidrro_el0\n mrs x1, tpidr_el1\n mrs x2, tpidr_el0\n mrs x3, tpidrro_el0\n mrs x4, tpidr_el1\n mrs x5, vbar_el1\n mrs x6, vbar_el1",
    );
    let get = |register| ran.machine.get(register);
    assert!(get(0) == get(3) && get(1) == get(4) && get(0) != get(1) && get(1) != get(2));
    assert_ne!(get(5), get(6));
    // Data pointers have keys of their own; the others are signed and are as before with the code taken off.
    for (name, text, is_back) in [
        (
            "x17",
            "mov x17, x30\n pacia1716\n autia1716\n mov x30, x17",
            true,
        ),
        ("xpaci", "pacia x30, sp\n xpaci x30", true),
        ("plain", "xpaci x30", true),
        ("data", "pacda x30, sp\n autia x30, sp", false),
        ("wrong", "pacia x30, sp", false),
        ("never_signed", "autia x30, sp", false),
    ] {
        let ran = run(&format!("a64_values_{name}"), text);
        assert_eq!(ran.is_as_at_entry(30), is_back, "{text}");
    }
    // A barrier, and an instruction to the caches, change no register.
    let ran = run(
        "a64_values_barriers",
        "dmb sy\n ic iallu\n dc cvac, x0\n clrex",
    );
    assert!((0..31).all(|register| ran.is_as_at_entry(register)));
}

#[test]
fn places_that_stores_of_many_bytes_overwrite() {
    // So many bytes from the stack pointer on.
    for (name, text, bytes) in [
        ("st1", "st1 {{v0.16b}}, [sp]", 16),
        ("st1_half", "st1 {{v0.8b}}, [sp]", 8),
        ("st1_2", "st1 {{v0.16b, v1.16b}}, [sp]", 32),
        ("st1_3", "st1 {{v0.16b, v1.16b, v2.16b}}, [sp]", 48),
        ("st4", "st4 {{v0.16b, v1.16b, v2.16b, v3.16b}}, [sp]", 64),
        ("lane_b", "st1 {{v0.b}}[1], [sp]", 1),
        ("lane_d", "st1 {{v0.d}}[1], [sp]", 8),
        ("lane_4", "st4 {{v0.s, v1.s, v2.s, v3.s}}[1], [sp]", 16),
        ("stxp", "stxp w0, x1, x2, [sp]", 16),
        ("stlr", "stlr x1, [sp]", 8),
        ("stlrb", "stlrb w1, [sp]", 1),
        ("stzg", "stzg x1, [sp]", 16),
        ("stz2g", "stz2g x1, [sp]", 32),
        ("stgp", "stgp x1, x2, [sp]", 16),
        ("swp", "swp x1, x2, [sp]", 8),
        ("swpb", "swpb w1, w2, [sp]", 1),
        ("casp", "casp x0, x1, x2, x3, [sp]", 16),
        ("stp_q", "stp q0, q1, [sp]", 32),
    ] {
        let inside = bytes - bytes.min(8);
        let saves =
            format!("sub sp, sp, #128\n str x29, [sp, #{inside}]\n str x30, [sp, #{bytes}]");
        // One that reaches into the bytes, and one behind them.
        let text = match inside + 8 > bytes {
            true => format!("sub sp, sp, #128\n str x30, [sp, #{bytes}]\n {text}"),
            false => format!("{saves}\n {text}"),
        };
        let ran = run(&format!("a64_values_wide_{name}"), &text);
        assert_ne!(ran.saved(inside - 128), Some(29), "{text}");
        assert_eq!(ran.saved(bytes - 128), Some(30), "{text}");
    }
}
