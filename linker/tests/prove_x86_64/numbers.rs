//! Numbers in registers and in memory.

use super::*;

#[test]
fn numbers() {
    let ran = run(
        "numbers",
        "mov $0x1122334455667788, %rax\n mov %eax, %ecx\n mov $-1, %edx\n mov $-1, %rsi\n movslq %ecx, %rdi\n
         mov $0x80, %r8d\n movsbq %r8b, %r8\n movzbl %al, %r9d\n lea 8(%rcx), %r10\n lea (%rcx,%r9,4), %r11\n
         mov %rax, %r12\n add $1, %r12\n sub %rcx, %r12\n xor %ebx, %ebx\n sub %rbp, %rbp\n mov $3, %r13d\n mov $7, %r13b\n
         mov $-16, %r14\n add $8, %r14d\n movswl %ax, %r15d",
    );
    let low = 0x5566_7788;
    let values = [
        (1, 0xffff_ffff),
        (2, low),
        (3, 0),
        (4, u64::MAX),
        (5, low),
        (6, 0),
        (8, 0xffff_ffff_ffff_ff80),
        (9, 0x88),
        (10, low + 8),
        (11, low + 4 * 0x88),
        (12, 0x1122_3344_0000_0001),
        (15, 0x7788),
    ];
    for (register, value) in values {
        assert_eq!(ran.get(register), number(value), "{register}");
    }
    // A write to a part of a register leaves the rest as it was.
    assert_eq!(ran.get(13), Value::Unknown);
    assert_eq!(ran.get(14), number(0xffff_fff8));
}

#[test]
fn every_register_is_saved_under_its_own_number() {
    let names = [
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15",
    ];
    let pushes = names.map(|name| format!("push %{name}\n"));
    let ran = run("all", &pushes.concat());
    for register in 0..16 {
        let value = match register {
            X86::STACK_POINTER => Value::Stack(Base::ENTRY, -56),
            _ => Value::entry(register),
        };
        assert_eq!(ran.word(-8 * i64::from(register) - 8), value, "{register}");
    }
}

#[test]
fn numbers_in_memory_and_in_halves_of_registers() {
    let ran = run(
        "number_of_halves",
        "push $24\n subq $8, (%rsp)\n mov $-1, %eax\n add $1, %eax\n mov %rsp, %rcx\n mov $8, %edx\n lea (%rdx,%rcx), %rsi\n
         lea 8(%rdi), %ebx\n mov $3, %r8d\n sub $4, %r8d\n lea (%rdx,%rdx), %r9d",
    );
    assert_eq!(ran.word(-8), number(16));
    assert_eq!(ran.get(RAX), number(0));
    assert_eq!(ran.get(RSI), Value::Stack(Base::ENTRY, 0));
    assert_eq!(ran.machine.most(ran.get(RBX)), Some(0xffff_ffff));
    assert_eq!(ran.get(8), number(0xffff_ffff));
    assert_eq!(ran.get(9), number(16));
}

#[test]
fn what_is_extended_with_its_sign_keeps_its_bound_if_it_is_positive() {
    for (name, text, most) in [
        ("byte", "and $0x7f, %eax\n movsbq %al, %rdx", Some(0x7f)),
        ("byte_edge", "and $0x80, %eax\n movsbq %al, %rdx", None),
        ("byte_over", "and $0xff, %eax\n movsbq %al, %rdx", None),
        (
            "word",
            "and $0x7fffffff, %eax\n movslq %eax, %rdx",
            Some(0x7fff_ffff),
        ),
        ("half", "and $0x1000, %eax\n movswq %ax, %rdx", Some(0x1000)),
    ] {
        let ran = run(&format!("positive_{name}"), text);
        assert_eq!(ran.machine.most(ran.get(RDX)), most, "{text}");
    }
    // A number in a comparison is as wide as what it is compared with.
    let ran = run_assuming("wide", "cmp $-16, %ecx", &[(1, Condition::BelowOrEqual)]);
    let low = Value::entry(RCX).low(32);
    assert_eq!(ran.machine.most(low), Some(0xffff_fff0));
    // Control registers change the flags.
    let text = "cmp $5, %rcx\n mov %cr0, %rax";
    let ran = run_assuming("control", text, &[(2, Condition::BelowOrEqual)]);
    assert_eq!(ran.machine.most(ran.get(RCX)), None);
}

#[test]
fn a_sum_in_memory_has_no_more_bits_than_that() {
    let text = "movl $-1, -8(%rsp)\n addl $1, -8(%rsp)\n movl -8(%rsp), %ecx";
    assert_eq!(run("sum_in_memory", text).get(RCX), Value::Constant(0));
}
