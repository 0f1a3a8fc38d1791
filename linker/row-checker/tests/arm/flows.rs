//! Where control goes, and under which condition.

use row_checker::architecture::Architecture as _;
use row_checker::arm::Arm;
use row_checker::instruction::Effect::Set;
use row_checker::instruction::Flow::{self, *};
use row_checker::instruction::Operand::{Load, Sum};

use crate::support::{START, assembled, flow, instructions, one};

/// Compares the flow of each line, whose target is a distance from the start.
fn compare(name: &str, set: &str, cases: &[(&str, Flow, u64, bool)]) {
    let text: Vec<_> = cases.iter().map(|case| case.0).collect();
    let found = instructions(&assembled(name, set, &text.join("\n")));
    assert_eq!(found.len(), cases.len());
    for ((line, kind, target, is_conditional), (at, instruction)) in cases.iter().zip(found) {
        let expected = (*kind, *target, *is_conditional);
        assert_eq!(flow(&instruction), expected, "{line} at {at:#x}");
    }
}

#[test]
fn a32_has_each_flow() {
    let cases = [
        ("b . + 16", Jump, 16, false),
        ("beq . + 16", Branch, 20, false),
        ("bl . + 16", Call, 24, false),
        ("bleq . + 16", Call, 28, true),
        ("blx r3", IndirectCall, 0, false),
        ("bx lr", Return, 0, false),
        ("bxne lr", Return, 0, true),
        ("mov pc, lr", Return, 0, false),
        ("bx r3", IndirectJump, 0, false),
        ("pop {pc}", Return, 0, false),
        ("popeq {r4, pc}", Return, 0, true),
        ("ldr pc, [sp], #4", Return, 0, false),
        // A jump through a variable: no word is popped.
        ("ldr pc, [sp, #4]", IndirectJump, 0, false),
        ("ldm r0, {r4, pc}", IndirectJump, 0, false),
        ("ldm r0, {r4, sp, pc}", Return, 0, false),
        ("add pc, pc, r0, lsl #2", IndirectJump, 0, false),
        ("add pc, pc, #8", Jump, 80, false),
        ("subs pc, lr, #4", TrapReturn, 0, false),
        ("movs pc, lr", TrapReturn, 0, false),
        ("rfeia sp!", TrapReturn, 0, false),
        ("ldm sp!, {r0, pc}^", TrapReturn, 0, false),
        ("udf #0", Trap, 0, false),
        ("bkpt #0", Trap, 0, false),
        ("svc #0", Halt, 0, false),
        ("addeq sp, sp, #8", Next, 0, true),
        ("bl . + 4", Call, 104, false),
    ];
    compare("arm_flows", "arm", &cases);
}

#[test]
fn t32_has_each_flow() {
    let cases = [
        ("b 9f", Jump, 34, false),
        ("bne.w 9f", Branch, 34, false),
        ("cbz r0, 9f", Branch, 34, false),
        ("bl 9f", Call, 34, false),
        ("bx lr", Return, 0, false),
        ("bx pc", Jump, 18, false),
        ("pop {r4, pc}", Return, 0, false),
        ("ldr pc, [sp], #4", Return, 0, false),
        ("mov pc, r3", IndirectJump, 0, false),
        ("tbb [pc, r0]", IndirectJump, 0, false),
        ("subs pc, lr, #4", TrapReturn, 0, false),
        ("udf #0", Trap, 0, false),
        ("9: bkpt #0", Trap, 0, false),
    ];
    compare("arm_thumb_flows", "thumb", &cases);
}

#[test]
fn returns_leave_the_return_address_in_the_link_register() {
    let popped = one("arm_return", "arm", "ldr pc, [sp], #12");
    assert_eq!(popped.effects, [Set(13, Sum(13, 12)), Set(14, Load(13, 0))]);
}

#[test]
fn a_load_of_a_literal_jumps_to_its_code() {
    let known = one(
        "arm_veneer",
        "arm",
        "ldr pc, [pc, #-4]\n .long 0x100008\n nop",
    );
    assert_eq!(flow(&known), (Jump, 8, false));
    let known = one(
        "arm_veneer",
        "arm",
        "ldrne pc, [pc, #-4]\n .long 0x100008\n nop",
    );
    assert_eq!(flow(&known), (Branch, 8, false));
    assert!(known.is_not_equal);
    let other = one(
        "arm_veneer",
        "arm",
        "ldr pc, [pc, #-4]\n .long 0x200008\n nop",
    );
    assert_eq!(other.flow, IndirectJump);
}

#[test]
fn only_branches_if_not_equal_are_told() {
    for (text, expected) in [
        ("bne .", true),
        ("beq .", false),
        ("b .", false),
        ("movne r0, r1", false),
    ] {
        assert_eq!(
            one("arm_not_equal", "arm", text).is_not_equal,
            expected,
            "{text}"
        );
    }
}

/// The conditions of a block hold for its instructions only, which are of either length.
#[test]
fn instructions_of_a_block_are_conditional() {
    let text = "nop\n it ne\n popne {r4, pc}\n ittet eq\n addeq sp, #8\n moveq.w r8, #0\n bicne r8, r8, #1\n beq . + 8\n add sp, #8\n bx lr";
    let program = assembled("arm_block", "thumb", text);
    let found: Vec<_> = instructions(&program)
        .iter()
        .map(|(_, it)| flow(it))
        .collect();
    let expected = [
        (Next, 0, false),
        (Next, 0, false),
        (Return, 0, true),
        (Next, 0, false),
        (Next, 0, true),
        (Next, 0, true),
        (Next, 0, true),
        (Branch, 26, false),
        (Next, 0, false),
        (Return, 0, false),
    ];
    assert_eq!(found, expected);
}

/// The second half of an instruction may look like `it`. Which it is follows from the halves before.
#[test]
fn the_second_half_of_an_instruction_begins_no_block() {
    // Each second half is 0xbf08, `it eq`: of an instruction after a short one, and after one whose second half begins another.
    for before in ["nop", ".inst.n 0xf8d0\n .inst.n 0xe800"] {
        let text = format!("{before}\n .inst.n 0xf8d0\n .inst.n 0xbf08\n add sp, #8");
        let found = instructions(&assembled("arm_half", "thumb", &text));
        let (_, last) = found.last().unwrap();
        assert_eq!(last.effects, [Set(13, Sum(13, 8))]);
        assert!(!last.is_conditional, "{before}");
    }
    let text = ".inst.n 0xf8d0\n .inst.n 0xe800\n it eq\n addeq sp, #8";
    let found = instructions(&assembled("arm_half", "thumb", text));
    assert!(found.last().unwrap().1.is_conditional);
}

/// A jump into an instruction reads others there: whether these are in a block, the code before does not tell.
#[test]
fn an_instruction_within_another_one_is_conditional() {
    // ldr.w r11, [r0, #1032], whose second half is `add sp, #32`.
    let program = assembled(
        "arm_within",
        "thumb",
        ".inst.n 0xf8d0\n .inst.n 0xb008\n nop",
    );
    let within = Arm.decode(&program, START + 2).unwrap();
    assert_eq!(within.effects, [Set(13, Sum(13, 32))]);
    assert!(within.is_conditional);
    assert!(!Arm.decode(&program, START + 4).unwrap().is_conditional);
}

#[test]
fn data_and_odd_addresses_have_no_instruction() {
    let program = assembled("arm_data", "arm", "nop\n .long 0xe1a00000\n nop");
    assert!(Arm.decode(&program, START).unwrap().is_padding);
    assert_eq!(Arm.decode(&program, START + 2), None);
    assert_eq!(Arm.decode(&program, START + 4), None);
    assert!(Arm.decode(&program, START + 8).is_some());
    assert_eq!(Arm.decode(&program, START + 12), None);
}
