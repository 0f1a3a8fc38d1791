//! Where an instruction leads to.

use super::*;

#[test]
fn flow() {
    let ran = run(
        "flow",
        "je .\n jne .\n ja .\n jae .\n jb .\n jbe .\n jg .\n jrcxz .\n jmp .\n jmp *%rax\n call *%rcx\n ret\n lretq\n iretq\n ud2\n
         sysretq\n hlt\n int3\n nop",
    );
    let branch = |index: u64, condition| Flow::Branch(START + 2 * index, condition);
    assert_eq!(
        ran.flows[..8],
        [
            branch(0, Condition::Equal),
            branch(1, Condition::NotEqual),
            branch(2, Condition::Above),
            branch(3, Condition::AboveOrEqual),
            branch(4, Condition::Below),
            branch(5, Condition::BelowOrEqual),
            branch(6, Condition::Other),
            branch(7, Condition::Other),
        ]
    );
    assert_eq!(ran.flows[8], Flow::Jump(number(START + 16)));
    assert_eq!(ran.flows[9], Flow::Jump(Value::entry(RAX)));
    assert_eq!(ran.flows[10], Flow::Call(Value::entry(RCX)));
    assert!(matches!(ran.flows[11], Flow::Return(_)));
    assert!(matches!(ran.flows[12], Flow::Return(_)));
    assert_eq!(
        ran.flows[13..],
        [
            Flow::InterruptReturn,
            Flow::Trap,
            Flow::Stop,
            Flow::Next,
            Flow::Next,
            Flow::Next
        ]
    );
    let ran = run(
        "call",
        "call .\n call *8(%rsp)\n ljmp *(%rax)\n lcall *(%rax)\n sysenter\n vmmcall\n vmcall",
    );
    assert_eq!(ran.flows[0], Flow::Call(number(START)));
    assert!(matches!(ran.flows[1], Flow::Call(_)));
    // To another segment.
    assert_eq!(ran.flows[2..5], [Flow::Stop; 3]);
    // Of a hypervisor, which comes back.
    assert_eq!(ran.flows[5..], [Flow::Next; 2]);
}

#[test]
fn bytes_that_only_fill_room() {
    let cases = [
        ("nop", Some(1)),
        ("nopw 512(%rax,%rax)", Some(9)),
        ("int3", Some(1)),
        ("ud2", Some(2)),
        ("xchg %ax, %ax", Some(2)),
        ("lea 0(%rsi), %rsi", Some(3)),
        (".byte 0, 0", Some(2)),
        ("add %cl, (%rax)", None),
        ("lea 0(%rsi), %rdi", None),
        ("lea 8(%rsi), %rsi", None),
        ("lea (%rsi,%rax), %rsi", None),
        ("xchg %eax, %ecx", None),
        ("ret", None),
    ];
    let texts = cases.map(|(text, _)| text);
    for ((text, expected), code) in cases.iter().zip(codes("fills", &texts)) {
        assert_eq!(X86.padding(&code), *expected, "{text}");
    }
    assert_eq!(X86.length(&[0x06], 0), None);
    assert_eq!(X86.length(&[], 0), None);
}

#[test]
fn words_that_calls_and_jumps_go_through() {
    let cases = [
        ("call *16(%rip)", Some(START + 6 + 16)),
        ("jmp *16(%rip)", Some(START + 6 + 16)),
        ("call *%rax", None),
        ("mov 16(%rip), %rax", None),
    ];
    let texts = cases.map(|(text, _)| text);
    for ((text, expected), code) in cases.iter().zip(codes("through", &texts)) {
        assert_eq!(X86.called_through(&code, START), *expected, "{text}");
    }
}

#[test]
fn prologues_of_handlers() {
    // As LLVM writes them, with all registers or a few; with an error code, and with SSE.
    let all = "push %r11\n push %r10\n push %r9\n push %r8\n push %rdi\n push %rsi\n push %rdx\n push %rcx\n";
    let with = |before: &str, after: &str| format!("{before}\n{all}{after}");
    let cases = [
        (with("", "push %rax\n cld\n call ."), Some(0)),
        (with("push %rax", "push %rax\n push %rax\n cld"), Some(8)),
        (
            with("push %rax", "sub $256, %rsp\n movaps %xmm0, (%rsp)\n cld"),
            Some(0),
        ),
        (
            with(
                "push %rax\n push %rax",
                "sub $264, %rsp\n movaps %xmm0, 8(%rsp)\n cld",
            ),
            Some(8),
        ),
        // With a frame pointer; the second one is at no boundary of 16 bytes.
        (
            with(
                "push %rbp\n mov %rsp, %rbp",
                "push %rax\n sub $8, %rsp\n cld",
            ),
            Some(0),
        ),
        (
            with(
                "push %rbp\n mov %rsp, %rbp",
                "push %rax\n sub $16, %rsp\n cld",
            ),
            None,
        ),
        (
            with("push %rbp\n mov %rsp, %rbp", "push %rax\n push %rax\n cld"),
            Some(0),
        ),
        (
            with(
                "push %rax\n push %rbp\n mov %rsp, %rbp",
                "push %rax\n and $-64, %rsp\n sub $64, %rsp\n cld",
            ),
            Some(8),
        ),
        (
            "push %rdx\n push %rax\n push %rax\n cld".to_owned(),
            Some(0),
        ),
        (
            "push %rax\n push %rdx\n push %rax\n cld".to_owned(),
            Some(0),
        ),
        (
            "push %rax\n push %rdx\n push %rax\n sub $16, %rsp\n cld".to_owned(),
            Some(8),
        ),
        (
            "endbr64\n push %rdx\n sub $4096, %rsp\n movq $0, (%rsp)\n cld".to_owned(),
            Some(0),
        ),
        // Other code does so, too.
        ("push %rax\n cld".to_owned(), None),
        ("push %rbx\n sub $8, %rsp\n cld".to_owned(), None),
        ("cld".to_owned(), None),
        ("push %rdx\n mov %rsi, %rcx\n cld".to_owned(), None),
        ("push %rdx\n mov %rax, (%rdi)\n cld".to_owned(), None),
        ("push %rdx\n sub %rax, %rsp\n cld".to_owned(), None),
        ("push %rdx\n call .\n cld".to_owned(), None),
        ("push %rdx\n nop".to_owned(), None),
        // A stack that no compiler would call with: GCC's handlers with an error code have it.
        ("push %rdx\n push %rax\n cld".to_owned(), None),
    ];
    let texts = cases.each_ref().map(|(text, _)| &**text);
    for ((text, expected), code) in cases.iter().zip(codes("handlers", &texts)) {
        assert_eq!(X86.interrupt_handler(&code), *expected, "{text}");
    }
}
