//! The stack pointer, what lies on the stack, and what is forgotten of it.

use super::*;

#[test]
fn pushes_and_pops() {
    let ran = run(
        "push",
        "push %rbx\n push $-2\n push %r12\n push (%rdi)\n pushfq",
    );
    assert_eq!(ran.sp(), -40);
    assert_eq!(ran.word(-8), Value::entry(RBX));
    assert_eq!(ran.word(-16), number((-2_i64).cast_unsigned()));
    assert_eq!(ran.word(-24), Value::entry(12));
    assert_eq!(ran.word(-40), Value::Unknown);
    let ran = run(
        "pop",
        "push %rbx\n push %rbp\n xor %ebx, %ebx\n pop %rcx\n pop %rbx\n",
    );
    assert_eq!((ran.sp(), ran.get(RCX)), (0, Value::entry(RBP)));
    assert_eq!(ran.get(RBX), Value::entry(RBX));
    let ran = run(
        "leave",
        "push %rbp\n mov %rsp, %rbp\n sub $40, %rsp\n leave\n ret $16",
    );
    assert_eq!((ran.sp(), ran.get(RBP)), (24, Value::entry(RBP)));
    let ran = run("popf", "push %rbx\n popfq");
    assert_eq!(ran.sp(), 0);
    let ran = run("short", "pushw %ax\n popw %bx");
    assert_eq!((ran.sp(), ran.get(RBX)), (0, Value::Unknown));
}

#[test]
fn addresses_of_the_instruction_and_of_the_stack() {
    let ran = run(
        "lea",
        "lea 16(%rip), %rax\n lea 8(%rsp), %rcx\n lea -8(%rsp,%rdi), %rdx\n lea (%rdi,%rsi), %rbx\n lea 8(%rsp), %esi",
    );
    assert_eq!(ran.get(RAX), number(START + 7 + 16));
    assert_eq!(ran.get(RCX), Value::Stack(Base::ENTRY, 8));
    // Somewhere on the stack.
    assert!(matches!(ran.get(RDX), Value::Stack(base, 0) if base != Base::ENTRY));
    assert!(matches!(ran.get(RBX), Value::Same(_)));
    assert!(!matches!(ran.get(RSI), Value::Stack(..)));
}

#[test]
fn room_of_unknown_size_and_alignment_are_new_bases() {
    let texts = [
        "sub %rax, %rsp",
        "and $-32, %rsp",
        "add %rax, %rsp",
        "lea (%rsp,%rax), %rsp",
        "lea -1(%rsp,%rax,2), %rsp",
    ];
    for (text, ran) in texts.iter().zip(run_all("base", &texts)) {
        let sp = ran.machine.sp();
        assert!(
            matches!(sp, Value::Stack(base, 0) if base == Base(START)),
            "{text}: {sp:?}"
        );
    }
    let ran = run("xor", "xor %rax, %rsp");
    assert!(!matches!(ran.machine.sp(), Value::Stack(..)));
    // Half of a pointer is none.
    let ran = run("half", "mov %rsp, %rax\n sub $8, %eax\n mov %esp, %ecx");
    assert!(!matches!(ran.get(RAX), Value::Stack(..)));
    assert!(!matches!(ran.get(RCX), Value::Stack(..)));
}

#[test]
fn memory() {
    let ran = run(
        "memory",
        "sub $32, %rsp\n mov %rbx, 24(%rsp)\n mov $2, %eax\n mov %rbp, (%rsp,%rax,8)\n movl $5, 8(%rsp)\n mov 8(%rsp), %ecx\n
         mov 24(%rsp), %rdx\n mov %fs:24(%rsp), %rsi",
    );
    assert_eq!(ran.word(-8), Value::entry(RBX));
    assert_eq!(ran.word(-16), Value::entry(RBP));
    assert_eq!((ran.get(RCX), ran.get(RDX)), (number(5), Value::entry(RBX)));
    assert_ne!(ran.get(RSI), Value::entry(RBX));
    // Thread-local memory is not the stack.
    let ran = run(
        "segment",
        "push %rbx\n mov %rax, %fs:(%rsp)\n orq $8, %gs:(%rsp)",
    );
    assert_eq!(ran.word(-8), Value::entry(RBX));
    // What is loaded with its sign is no more than what it was if that is positive.
    let ran = run(
        "sign",
        "movzbl (%rdi), %eax\n movslq %eax, %rcx\n movsbq %al, %rdx",
    );
    assert_eq!(ran.get(RCX), ran.get(RAX));
    assert_ne!(ran.get(RDX), ran.get(RAX));
    let ran = run(
        "high",
        "mov $0x1234, %eax\n movzbl %ah, %ecx\n movzbl %al, %edx",
    );
    assert_ne!(ran.get(RCX), ran.get(RDX));
}

#[test]
fn exchanges() {
    let ran = run("xchg", "xchg %rax, %rbx\n push %rbp\n xchg %rcx, (%rsp)");
    assert_eq!(ran.get(RAX), Value::entry(RBX));
    assert_eq!(ran.get(RBX), Value::entry(RAX));
    assert_eq!(ran.word(-8), Value::Unknown);
    assert_eq!(ran.get(RCX), Value::Unknown);
}

#[test]
fn what_is_written_is_forgotten() {
    let cases = [
        ("imul %rcx, %rbx", vec![RBX]),
        ("mul %rbx", vec![RAX, RDX]),
        ("cpuid", vec![RAX, RDX, RCX, RBX]),
        ("rdtsc", vec![RAX, RDX]),
        ("syscall", vec![RAX, RCX, 11]),
        ("int $0x80", vec![RAX, RCX, 11]),
        ("cmovne %rax, %rbx", vec![RBX]),
        ("shl $3, %rbx", vec![RBX]),
        ("or %rax, %rbx", vec![RBX]),
        ("or $0, %ebx", vec![RBX]),
        ("lock orq $0, (%rsp)", vec![]),
        ("not %rbx", vec![RBX]),
        ("cmpxchg %rcx, (%rdi)", vec![RAX]),
        ("xadd %rbx, (%rdi)", vec![RBX]),
        ("movq %xmm0, %rbx", vec![RBX]),
        ("movaps %xmm0, %xmm1", vec![]),
        ("test %rbx, %rbx", vec![]),
        ("cmp %rbx, %rcx", vec![]),
        ("endbr64", vec![]),
        ("nopw (%rax,%rax)", vec![]),
        ("loop .", vec![RCX]),
        ("mov %cr0, %rbx", vec![RBX]),
        ("mov %rbx, %cr0", vec![]),
        ("mov %ds, %rbx", vec![RBX]),
        ("rep stosb", vec![RCX, 5]),
        ("int3", vec![]),
    ];
    let texts = cases.each_ref().map(|(text, _)| *text);
    for ((text, written), ran) in cases.iter().zip(run_all("writes", &texts)) {
        for register in (0..16).filter(|register| *register != X86::STACK_POINTER) {
            let is_kept = ran.get(register) == Value::entry(register);
            assert_eq!(is_kept, !written.contains(&register), "{text}: {register}");
        }
        assert_eq!(ran.sp(), 0, "{text}");
    }
    let cases = [
        ("movaps %xmm0, (%rsp)", false),
        ("movups %xmm0, 8(%rsp)", true),
        ("incl (%rsp)", false),
        ("orq %rax, (%rsp)", false),
        ("orq $1, (%rsp)", false),
        // Barriers: nothing changes.
        ("lock orq $0, (%rsp)", true),
        ("lock orl $0, (%rsp)", true),
        ("lock orb $0, (%rsp)", true),
        ("testq %rax, (%rsp)", true),
        ("movq %xmm0, -8(%rsp)", true),
        ("movq %xmm0, -7(%rsp)", false),
        ("fxsave -512(%rsp)", true),
        ("cmpxchg %rcx, (%rsp)", false),
    ]
    .map(|(text, kept)| (format!("push %rbx\n {text}"), kept));
    let texts = cases.each_ref().map(|(text, _)| text.as_str());
    for ((text, kept), ran) in cases.iter().zip(run_all("stores", &texts)) {
        assert_eq!(ran.word(-8) == Value::entry(RBX), *kept, "{text}");
    }
}
