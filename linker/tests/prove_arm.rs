//! What the proof makes of functions in A32 and in T32: rows that agree, are mended, are made, or are not known.

use crate::common::proven::{function, prove_at, silent};

/// Where the linker script puts the first instruction.
const START: u64 = 0x10_0000;

/// The result for each run of instructions, of a text whose call frame information is in `.debug_frame`.
fn arm(name: &str, text: &str) -> String {
    let start = "bl f\n udf #0";
    let start = format!(".arm\n{}", silent("_start", start));
    let text = format!(".syntax unified\n.cfi_sections .debug_frame\n{start}{text}");
    let said = prove_at(&format!("arm_{name}"), "armv7a-none-eabi", &text, START);
    let rest = said.strip_prefix("0..8 missing: no call of the function was found, and no path through the function returns\n");
    rest.expect("of the first function nothing is known")
        .to_owned()
}

const PUSHED: &str = "push {{r4, r7, r11, lr}}\n .cfi_def_cfa_offset 16\n .cfi_offset lr, -4\n .cfi_offset r11, -8\n .cfi_offset r7, -12\n .cfi_offset r4, -16";

#[test]
fn what_llvm_describes_agrees() {
    let body = format!(
        "{PUSHED}\n add r11, sp, #8\n .cfi_def_cfa r11, 8\n sub sp, sp, #64\n mov r4, r0\n blx r1\n sub sp, r11, #8\n pop {{{{r4, r7, r11, pc}}}}"
    );
    let said = arm("llvm", &function("f", &body));
    assert_eq!(said, "8..36 agrees\n");
    // Thumb code counts from r7.
    let body = "push {{r4, r6, r7, lr}}\n .cfi_def_cfa_offset 16\n .cfi_offset lr, -4\n .cfi_offset r7, -8\n .cfi_offset r6, -12\n .cfi_offset r4, -16\n add r7, sp, #8\n .cfi_def_cfa r7, 8\n sub sp, #64\n mov r4, r0\n blx r1\n sub.w r4, r7, #8\n mov sp, r4\n pop {{r4, r6, r7, pc}}";
    let text = format!(".thumb\n.thumb_func\n{}", function("f", body));
    let said = arm("llvm_thumb", &text);
    assert_eq!(said, "8..26 agrees\n");
}

/// LLVM describes no epilogue. One that ends in a jump pops the frame pointer before.
#[test]
fn an_epilogue_before_a_jump_is_mended() {
    let body = "push {{r11, lr}}\n .cfi_def_cfa_offset 8\n .cfi_offset lr, -4\n .cfi_offset r11, -8\n mov r11, sp\n .cfi_def_cfa_register r11\n bl g\n pop {{r11, lr}}\n b g";
    let text = format!("{}{}", function("f", body), function("g", "bx lr"));
    let said = arm("jump", &text);
    let expected = "8..24 agrees\n24..28 mended sp+0 u u\n28..32 agrees\n";
    assert_eq!(said, expected);
}

/// Rows of a part of a symbol's code are judged where they are, though the code before it has none.
#[test]
fn a_part_with_rows_is_judged() {
    let body = "push {{r4, lr}}\n bl g\n .cfi_startproc\n .cfi_def_cfa_offset 8\n .cfi_offset lr, -4\n .cfi_offset r4, -8\n mov r4, #0\n bl g\n .cfi_def_cfa_offset 16\n pop {{r4, pc}}\n .cfi_endproc";
    let text = format!("{}{}", silent("f", body), silent("g", "bx lr"));
    let said = arm("part", &text);
    let expected = "8..12 made sp+0 u u\n12..16 made sp+8 u c-4\n16..24 agrees\n24..28 mended sp+8 u c-4\n28..32 made sp+0 u u\n";
    assert_eq!(said, expected);
}

/// A register that the row has in the wrong place, or that was overwritten.
#[test]
fn kept_registers_are_compared() {
    let wrong = PUSHED.replace(".cfi_offset r4, -16", ".cfi_offset r4, -12");
    let body = format!("{wrong}\n mov r4, #0\n blx r1\n pop {{{{r4, r7, r11, pc}}}}");
    let said = arm("kept", &function("f", &body));
    // As long as r4 has its value, a row that says so is as good.
    let expected = "8..12 agrees\n12..16 mended sp+16 u u\n16..24 mended sp+16 u c-4\n";
    assert_eq!(said, expected);
    let said = arm("lost", &function("f", "mov r4, #0\n bx lr"));
    assert_eq!(said, "8..12 agrees\n12..16 mended sp+0 u u\n");
}

#[test]
fn conditional_returns_and_calls_have_both_ways() {
    let body = "cmp r0, #0\n bxeq lr\n push {{r4, lr}}\n cmp r0, #1\n popeq {{r4, pc}}\n blne g\n pop {{r4, pc}}";
    let text = format!("{}{}", silent("f", body), silent("g", "bx lr"));
    let said = arm("conditions", &text);
    let expected =
        "8..20 made sp+0 u u\n20..28 made sp+8 u u\n28..36 made sp+8 u c-4\n36..40 made sp+0 u u\n";
    assert_eq!(said, expected);
}

#[test]
fn blocks_of_conditional_instructions() {
    // The second instruction is executed if the first one is not.
    let body = "cmp r0, #0\n ite eq\n moveq r0, #1\n movne r0, #2\n it eq\n bxeq lr\n push {{r7, lr}}\n it ne\n popne {{r7, pc}}\n pop {{r7, pc}}";
    let text = format!(".thumb\n.thumb_func\n{}", silent("f", body));
    let said = arm("blocks", &text);
    assert_eq!(said, "8..22 made sp+0 u u\n22..28 made sp+8 u u\n");
}

/// Tables of addresses behind the jump (A32), and of distances (T32).
#[test]
fn jump_tables_are_followed() {
    let body = "push {{r4, lr}}\n cmp r0, #2\n bhi 4f\n adr r1, 9f\n ldr pc, [r1, r0, lsl #2]\n 9: .long 1f\n .long 2f\n .long 4f\n 1: mov r0, #1\n b 4f\n 2: mov r0, #2\n 4: pop {{r4, pc}}";
    let said = arm("table", &silent("f", body));
    let made = said.matches("made sp+8").count();
    assert!(made > 0 && !said.contains("missing"), "{said}");
    let body = "push {{r4, lr}}\n cmp r0, #1\n bhi 4f\n tbb [pc, r0]\n 9: .byte (1f - 9b) / 2\n .byte (2f - 9b) / 2\n 1: movs r0, #1\n b 4f\n 2: movs r0, #2\n 4: pop {{r4, pc}}";
    let text = format!(".thumb\n.thumb_func\n{}", silent("f", body));
    let said = arm("table_thumb", &text);
    let made = said.matches("made sp+8").count();
    assert!(made > 0 && !said.contains("missing"), "{said}");
}

/// With `-mlong-calls`, clang loads the target of a jump from a literal. The lowest bit of the literal selects T32, and is not part of the address.
#[test]
fn the_lowest_bit_of_a_literal_is_not_part_of_the_target() {
    let body =
        "push {{r4, lr}}\n blx r1\n ldr r0, 9f\n pop {{r4, lr}}\n bx r0\n .p2align 2\n 9: .long g";
    let start = ".thumb\n.thumb_func\n";
    let functions = [silent("f", body), silent("g", "movs r0, #1\n bx lr")];
    let said = arm(
        "long_jump",
        &functions.map(|one| format!("{start}{one}")).concat(),
    );
    assert_eq!(
        said,
        "8..10 made sp+0 u u\n10..18 made sp+8 u c-4\n18..20 made sp+0 u u\n24..28 made sp+0 u u\n"
    );
}

/// A walk may begin behind a call to the next instruction, and goes by the row of that call: its link register is overwritten then.
#[test]
fn a_row_holds_behind_a_call_to_the_next_instruction() {
    let body = "push {{r4, lr}}\n mov r4, r0\n bl 1f\n 1: mov r0, lr\n pop {{r4, pc}}";
    let said = arm("next", &silent("f", body));
    let expected = "8..12 made sp+0 u u\n12..16 made sp+8 u u\n16..28 made sp+8 u c-4\n";
    assert_eq!(said, expected);
    let text = format!(".thumb\n.thumb_func\n{}", silent("f", body));
    let said = arm("next_thumb", &text);
    let expected = "8..10 made sp+0 u u\n10..12 made sp+8 u u\n12..20 made sp+8 u c-4\n";
    assert_eq!(said, expected);
}

#[test]
fn a_stack_from_memory_is_not_known() {
    let body = format!("{PUSHED}\n ldr sp, [r0]\n pop {{{{r4, r7, r11, pc}}}}");
    let said = arm("memory", &function("f", &body));
    assert!(said.contains("16..20 undecided"), "{said}");
}
