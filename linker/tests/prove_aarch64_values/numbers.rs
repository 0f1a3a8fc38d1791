//! Numbers, and what logic and moves make of them.

use super::*;

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
