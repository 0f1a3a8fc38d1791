//! Loads, stores and places.

use super::*;

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
