//! What A64 instructions do to stack pointer, saved registers and jumps. The instructions are what compilers write, put
//! through rustc's assembler.

use crate::common::a64::{START, code, run, run_assuming};
use linker::prove::aarch64::{A64, ELR_EL1, SP_EL0};
use linker::prove::compare::{Condition, Limit};
use linker::prove::isa::{Flow, Isa};
use linker::prove::machine::Machine;
use linker::prove::table::{Table, Tables};
use linker::prove::value::{Base, Register, Value};

const FP: Register = A64::FRAME_POINTER;
const LR: Register = A64::RETURN_ADDRESS;

#[test]
fn prologues_save_and_epilogues_restore() {
    let entered =
        "stp x29, x30, [sp, #-48]!\n mov x29, sp\n stp x20, x19, [sp, #16]\n str x21, [sp, #32]";
    let ran = run("a64_prologue", entered);
    assert_eq!(ran.sp(), -48);
    assert_eq!(ran.machine.get(FP), Value::Stack(Base::ENTRY, -48));
    let saved = [-48, -40, -32, -24, -16].map(|offset| ran.saved(offset));
    assert_eq!(saved, [Some(29), Some(30), Some(20), Some(19), Some(21)]);

    let left = format!(
        "{entered}\n mov x19, x0\n mov x30, x0\n ldr x21, [sp, #32]\n ldp x20, x19, [sp, #16]\n ldp x29, x30, [sp], #48\n ret"
    );
    let ran = run("a64_epilogue", &left);
    assert_eq!(ran.sp(), 0);
    assert!(
        [19, 20, 21, FP, LR]
            .into_iter()
            .all(|of| ran.is_as_at_entry(of))
    );
    assert_eq!(ran.last(), Flow::Return(Value::entry(LR)));
}

#[test]
fn saves_after_the_stack_pointer_moved() {
    let ran = run(
        "a64_late_save",
        "sub sp, sp, #32\n mov x9, x29\n stp x9, x30, [sp, #8]\n str w0, [sp, #28]",
    );
    assert_eq!(ran.sp(), -32);
    assert_eq!((ran.saved(-24), ran.saved(-16)), (Some(29), Some(30)));
    let ran = run(
        "a64_overwritten",
        "stp x29, x30, [sp, #-32]!\n str q0, [sp]\n strb w1, [sp, #31]",
    );
    assert_eq!((ran.saved(-32), ran.saved(-24)), (None, None));
    let ran = run(
        "a64_large",
        "sub sp, sp, #1, lsl #12\n sub sp, sp, #16\n str x30, [sp, #4104]",
    );
    assert_eq!((ran.sp(), ran.saved(-8)), (-4112, Some(30)));
}

#[test]
fn a_return_address_in_another_register() {
    let ran = run("a64_outlined", "mov x9, x30\n bl .\n mov x30, x9\n ret x9");
    assert_eq!(ran.flows[1], Flow::Call(Value::Constant(START + 4)));
    assert!(ran.is_as_at_entry(LR));
    assert_eq!(ran.last(), Flow::Return(Value::entry(LR)));
}

#[test]
fn a_probe_loop_ends_at_its_goal() {
    let text = "sub x9, sp, #4, lsl #12\n sub sp, sp, #1, lsl #12\n str xzr, [sp]\n cmp sp, x9\n b.ne .-12";
    let code = code("a64_probe", text);
    let mut machine = Machine::at_entry(A64::STACK_POINTER);
    let mut tables = Tables::default();
    let mut step = |machine: &mut Machine, index: usize| {
        machine.at = START + 4 * index as u64;
        A64.execute(&code[4 * index..], machine, &mut tables)
            .unwrap()
            .flow
    };
    step(&mut machine, 0);
    let head = machine.clone();
    for _ in 0..2 {
        for index in 1..4 {
            step(&mut machine, index);
        }
        assert_eq!(
            step(&mut machine, 4),
            Flow::Branch(START + 4, Condition::NotEqual)
        );
        machine.join(&head, START + 4);
    }
    for index in 1..5 {
        step(&mut machine, index);
    }
    machine.assume(Condition::Equal);
    assert_eq!(machine.sp(), Value::Stack(Base::ENTRY, -0x4000));
}

#[test]
fn room_of_unknown_size_and_alignment_are_new_bases() {
    for (name, text) in [
        ("a64_alloca", "mov x29, sp\n sub x9, sp, x8\n mov sp, x9"),
        ("a64_alloca_sp", "mov x29, sp\n sub sp, sp, x8"),
        (
            "a64_align",
            "mov x29, sp\n sub x9, sp, #64\n and sp, x9, #0xffffffffffffffe0",
        ),
    ] {
        let ran = run(name, text);
        assert!(
            matches!(ran.machine.sp(), Value::Stack(base, 0) if base != Base::ENTRY),
            "{text}"
        );
        let left = run(&format!("{name}_left"), &format!("{text}\n mov sp, x29"));
        assert_eq!(left.sp(), 0, "{text}");
    }
}

#[test]
fn constants_and_copies() {
    let ran = run(
        "a64_constants",
        "movz x0, #0x1234, lsl #16\n movk x0, #0x5678\n movn w1, #0\n mov x2, #0xff00ff00ff00ff00\n mov w3, w2
         lsl x4, x0, #4\n ubfx x5, x0, #4, #8\n mov w6, #0x8000\n sxth x7, w6\n adr x8, .+16\n .inst 0x90000009\n mov x10, xzr
         sub sp, sp, x0",
    );
    let values = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10].map(|register| ran.machine.get(register));
    let expected = [
        0x1234_5678,
        0xffff_ffff,
        0xff00_ff00_ff00_ff00,
        0xff00_ff00,
        0x1_2345_6780,
        0x67,
        0xffff_ffff_ffff_8000,
        START + 9 * 4 + 16,
        START,
        0,
    ];
    assert_eq!(values, expected.map(Value::Constant));
    assert_eq!(ran.sp(), -0x1234_5678);
}

#[test]
fn jump_tables() {
    // LLVM's: bytes, half words and words.
    for (name, load, add, size, signed, shift) in [
        (
            "byte",
            "ldrb w10, [x9, x8]",
            "add x10, x11, x10, lsl #2",
            1,
            false,
            2,
        ),
        (
            "half",
            "ldrh w10, [x9, x8, lsl #1]",
            "add x10, x11, x10, lsl #2",
            2,
            false,
            2,
        ),
        (
            "word",
            "ldrsw x10, [x9, x8, lsl #2]",
            "add x10, x11, x10",
            4,
            true,
            0,
        ),
        // GCC's.
        (
            "gcc_byte",
            "ldrb w10, [x9, w8, uxtw]",
            "add x10, x11, w10, sxtb #2",
            1,
            true,
            2,
        ),
        (
            "gcc_half",
            "ldrh w10, [x9, w8, uxtw #1]",
            "add x10, x11, w10, sxth #2",
            2,
            true,
            2,
        ),
        (
            "gcc_word",
            "ldr w10, [x9, w8, uxtw #2]",
            "add x10, x11, w10, sxtw #2",
            4,
            true,
            2,
        ),
    ] {
        let text = format!(
            "mov w8, w0\n cmp w8, #5\n b.hi .\n adr x9, .+0x1000\n adr x11, .+0x100\n {load}\n {add}\n br x10"
        );
        let ran = run_assuming(
            &format!("a64_table_{name}"),
            &text,
            &[(3, Condition::BelowOrEqual)],
        );
        let Flow::Jump(value) = ran.last() else {
            panic!("{:?}", ran.last())
        };
        let expected = Table {
            address: START + 12 + 0x1000,
            size,
            signed,
            count: Some(6),
            is_bounded: true,
            shift,
            base: START + 16 + 0x100,
        };
        assert_eq!(ran.table(value), expected, "{name}");
    }
}

#[test]
fn return_addresses_are_signed() {
    for (signs, authenticates) in [
        ("paciasp", "autiasp"),
        ("pacibsp", "autibsp"),
        ("pacia x30, sp", "autia x30, sp"),
        ("paciza x30", "xpaclri"),
    ] {
        let name = format!("a64_{}", signs.replace([' ', ','], "_"));
        let text = format!("{signs}\n str x30, [sp, #-16]!\n mov x30, x0\n ldr x30, [sp], #16");
        let ran = run(&name, &text);
        assert_eq!(ran.machine.get(LR), Value::Signed(LR), "{signs}");
        let ran = run(
            &format!("{name}_left"),
            &format!("{text}\n {authenticates}\n ret"),
        );
        assert_eq!(
            ran.last(),
            Flow::Return(Value::entry(LR)),
            "{authenticates}"
        );
    }
    let ran = run("a64_retaa", "paciasp\n retaa");
    assert_eq!(ran.last(), Flow::Return(Value::entry(LR)));
}

#[test]
fn system_registers_of_trap_code() {
    let ran = run(
        "a64_trap",
        "mrs x9, elr_el1\n mrs x10, sp_el0\n stp x9, x10, [sp, #-16]!\n msr elr_el1, x0\n msr tpidr_el0, x1\n mrs x2, tpidr_el0
         mrs x3, esr_el1\n eret",
    );
    assert_eq!(ran.machine.peek(Base::ENTRY, -16, 8), Value::entry(ELR_EL1));
    assert_eq!(ran.machine.peek(Base::ENTRY, -8, 8), Value::entry(SP_EL0));
    assert_eq!(ran.machine.get(ELR_EL1), Value::entry(0));
    assert_eq!(ran.machine.get(2), Value::entry(1));
    assert_ne!(ran.machine.get(3), Value::entry(3));
    assert_eq!(ran.last(), Flow::InterruptReturn);
    let ran = run("a64_spsel", "msr spsel, #0");
    assert_eq!(ran.machine.sp(), Value::Unknown);
}

#[test]
fn flow() {
    let at = |index: u64| START + 4 * index;
    let ran = run(
        "a64_flow",
        "b.eq .\n b.lo .\n b.hs .\n b.ls .\n b.hi .\n b.ge .\n cbz x0, .\n tbnz x0, #3, .\n b .\n br x1\n blr x1\n ret
         brk #1\n udf #0\n brk #0xf000\n hlt #1\n wfi\n svc #0\n nop",
    );
    let branch = |index, condition| Flow::Branch(at(index), condition);
    let jump = Value::entry(1);
    assert_eq!(
        ran.flows,
        [
            branch(0, Condition::Equal),
            branch(1, Condition::Below),
            branch(2, Condition::AboveOrEqual),
            branch(3, Condition::BelowOrEqual),
            branch(4, Condition::Above),
            branch(5, Condition::Other),
            branch(6, Condition::Other),
            branch(7, Condition::Other),
            Flow::Jump(Value::Constant(at(8))),
            Flow::Jump(jump),
            Flow::Call(jump),
            Flow::Return(Value::entry(LR)),
            Flow::Trap,
            Flow::Trap,
            Flow::Next,
            Flow::Next,
            Flow::Next,
            Flow::Next,
            Flow::Next,
        ]
    );
}

#[test]
fn what_is_written_is_forgotten() {
    let all = "stp x29, x30, [sp, #-32]!\n stp x19, x20, [sp, #16]";
    for (text, written) in [
        ("ldadd x1, x19, [x2]", vec![19]),
        ("cas x19, x1, [x2]", vec![19]),
        ("casp x20, x21, x2, x3, [x4]", vec![20, 21]),
        ("ldxp x19, x20, [x0]", vec![19, 20]),
        ("stxr w19, x1, [x0]", vec![19]),
        ("swp x1, x19, [x2]", vec![19]),
        ("madd x19, x1, x2, x3", vec![19]),
        ("udiv x19, x1, x2", vec![19]),
        ("fmov x19, d0", vec![19]),
        ("umov w19, v0.b[1]", vec![19]),
        ("ldr x0, [x19], #8", vec![19]),
        ("ldr x0, [x19, #8]!", vec![19]),
        ("ldp q0, q1, [x19], #32", vec![19]),
        ("st1 {{v0.16b}}, [x19], #16", vec![19]),
        ("irg x19, x1", vec![19]),
        ("ldg x19, [x1]", vec![19]),
        ("mrs x19, esr_el1", vec![19]),
        ("cset w19, eq", vec![19]),
        ("ldr x19, .+8", vec![19]),
    ] {
        let name = format!("a64_writes_{}", text.split(' ').next().unwrap());
        let ran = run(
            &format!("{name}_{}", text.len()),
            &format!("{all}\n {text}"),
        );
        for register in 19..31 {
            assert_eq!(
                ran.is_as_at_entry(register),
                !written.contains(&register),
                "{text}: x{register}"
            );
        }
        assert_eq!((ran.sp(), ran.saved(-24)), (-32, Some(30)), "{text}");
    }
    for text in [
        "st1 {{v0.16b}}, [sp]",
        "swp x0, x1, [sp]",
        "stxr w0, x1, [sp]",
        "str s0, [sp]",
        "stz2g x0, [sp]",
    ] {
        let name = format!("a64_stores_{}", text.split(' ').next().unwrap());
        let ran = run(&name, &format!("{all}\n {text}"));
        assert_eq!((ran.sp(), ran.saved(-32)), (-32, None), "{text}");
    }
}

#[test]
fn a_bound_of_what_was_subtracted_from_is_none_of_the_result() {
    let text = "add w8, w0, w1\n blr x2\n subs w8, w8, #3\n b.ls .";
    let ran = run_assuming("a64_subs", text, &[(3, Condition::BelowOrEqual)]);
    let of_its_type = Some(Limit {
        most: u32::MAX.into(),
        is_compared: false,
    });
    assert_eq!(ran.machine.limit(ran.machine.get(8)), of_its_type);
    // As a call leaves it: without a name.
    let ran = run_assuming(
        "a64_subs_unknown",
        "svc #0\n subs w8, w8, #3",
        &[(2, Condition::BelowOrEqual)],
    );
    assert_eq!(ran.machine.limit(ran.machine.get(8)), of_its_type);
}
