//! What x86-64 instructions do to stack pointer, saved registers, numbers and jumps, one after the other.

mod common;

use std::fs;

use common::{assemble, folder};
use linker::prove::compare::Condition;
use linker::prove::isa::{Flow, Isa};
use linker::prove::machine::Machine;
use linker::prove::table::{Table, Tables};
use linker::prove::value::{Base, Register, Value};
use linker::prove::x86_64::X86;
use object::{Object, ObjectSection};

const START: u64 = 0x10_0000;
const RAX: Register = 0;
const RDX: Register = 1;
const RCX: Register = 2;
const RBX: Register = 3;
const RSI: Register = 4;
const RBP: Register = X86::FRAME_POINTER;

/// The bytes of some texts, which one run of the assembler makes.
fn codes(name: &str, texts: &[&str]) -> Vec<Vec<u8>> {
    let folder = folder(&format!("x86_ran_{name}"));
    let sections = texts.iter().enumerate();
    let sections = sections
        .map(|(index, text)| format!(".section .text.of{index}, \"ax\", %progbits\n{text}\n"));
    let text: String = sections.collect();
    let file = fs::read(assemble(&folder, "x86_64-unknown-linux-gnu", &text)).unwrap();
    let object = object::File::parse(&*file).unwrap();
    let code = |index| {
        let section = object.section_by_name(&format!(".text.of{index}"));
        section.unwrap().data().unwrap().to_vec()
    };
    (0..texts.len()).map(code).collect()
}

fn code(name: &str, text: &str) -> Vec<u8> {
    codes(name, &[text]).remove(0)
}

/// The machine after some instructions, one after the other.
struct Ran {
    machine: Machine,
    tables: Tables,
    flows: Vec<Flow>,
}

impl Ran {
    fn sp(&self) -> i64 {
        match self.machine.sp() {
            Value::Stack(Base::ENTRY, offset) => offset,
            other => panic!("the stack pointer is {other:?}"),
        }
    }

    fn get(&self, register: Register) -> Value {
        self.machine.get(register)
    }

    fn word(&self, offset: i64) -> Value {
        self.machine.peek(Base::ENTRY, offset, 8)
    }

    fn table(&self, value: Value) -> Table {
        match value {
            Value::Table(number) => self.tables.get(number),
            other => panic!("not made from a table: {other:?}"),
        }
    }
}

fn run(name: &str, text: &str) -> Ran {
    run_assuming(name, text, &[])
}

/// Runs a text's instructions, also behind branches; behind as many as `assumed` says, that condition is taken to hold.
fn run_assuming(name: &str, text: &str, assumed: &[(usize, Condition)]) -> Ran {
    run_code(&code(name, text), assumed)
}

/// [`run`], of each of some texts.
fn run_all(name: &str, texts: &[&str]) -> Vec<Ran> {
    let codes = codes(name, texts);
    codes.iter().map(|code| run_code(code, &[])).collect()
}

fn run_code(code: &[u8], assumed: &[(usize, Condition)]) -> Ran {
    let mut machine = Machine::at_entry(X86::STACK_POINTER);
    let mut tables = Tables::default();
    let (mut flows, mut at) = (Vec::new(), 0);
    while at < code.len() {
        machine.at = START + at as u64;
        let executed = X86.execute(&code[at..], &mut machine, &mut tables).unwrap();
        assert_eq!(X86.length(&code[at..]), Some(executed.length));
        at += usize::from(executed.length);
        flows.push(executed.flow);
        for (_, condition) in assumed.iter().filter(|(behind, _)| *behind == flows.len()) {
            machine.assume(*condition);
        }
    }
    Ran {
        machine,
        tables,
        flows,
    }
}

const fn number(value: u64) -> Value {
    Value::Constant(value)
}

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
fn jump_tables() {
    for (name, text, size, signed, base) in [
        (
            "offsets",
            "lea 0x1000(%rip), %rdx\n movslq (%rdx,%rcx,4), %rax\n add %rdx, %rax\n jmp *%rax",
            4,
            true,
            START + 8 + 7 + 0x1000,
        ),
        ("addresses", "jmp *0x1000(,%rcx,8)", 8, false, 0),
        (
            "bytes",
            "lea 0x1000(%rip), %rdx\n movzbl 0(%rdx,%rcx), %eax\n add %rdx, %rax\n jmp *%rax",
            0,
            false,
            0,
        ),
        (
            "halves",
            "lea 0x1000(%rip), %rdx\n movswq 2(%rdx,%rcx,2), %rax\n add %rdx, %rax\n jmp *%rax",
            2,
            true,
            START + 8 + 7 + 0x1000,
        ),
    ] {
        let text = format!("mov %edi, %ecx\n cmp $5, %edi\n nop\n nop\n nop\n{text}");
        let ran = run_assuming(name, &text, &[(2, Condition::BelowOrEqual)]);
        let Some(Flow::Jump(value)) = ran.flows.last() else {
            panic!("{:?}", ran.flows)
        };
        if size == 0 {
            // An index times one may be anything.
            assert!(!matches!(value, Value::Table(_)), "{value:?}");
            continue;
        }
        let address = match name {
            "addresses" => 0x1000,
            "halves" => base + 2,
            _ => base,
        };
        let expected = Table {
            address,
            size,
            signed,
            count: Some(6),
            is_bounded: true,
            shift: 0,
            base,
        };
        assert_eq!(ran.table(*value), expected, "{name}");
    }
}

#[test]
fn an_entry_at_a_known_index() {
    let ran = run("known", "mov $3, %ecx\n jmp *0x1000(,%rcx,8)");
    let Some(Flow::Jump(value)) = ran.flows.last() else {
        panic!("{:?}", ran.flows)
    };
    let table = ran.table(*value);
    assert_eq!(
        (table.address, table.count, table.is_bounded),
        (0x1018, Some(1), true)
    );
}

#[test]
fn bounds_of_an_index() {
    // A mask is a bound; so is a comparison by subtraction, of what was there before.
    let ran = run("mask", "and $31, %ecx\n mov %rsp, %rdx\n and $-64, %rdx");
    assert_eq!(ran.machine.most(ran.get(RCX)), Some(31));
    let ran = run_assuming("sub", "sub $5, %rcx", &[(1, Condition::BelowOrEqual)]);
    assert_eq!(ran.machine.most(Value::entry(RCX)), Some(5));
    assert_eq!(ran.machine.most(ran.get(RCX)), None);
    // Any other arithmetic says nothing about what was compared before.
    let ran = run_assuming(
        "add",
        "cmp $5, %rcx\n add $1, %rdx",
        &[(2, Condition::BelowOrEqual)],
    );
    assert_eq!(ran.machine.most(ran.get(RCX)), None);
    let ran = run_assuming(
        "test",
        "cmp $5, %rcx\n test %rdx, %rdx",
        &[(2, Condition::BelowOrEqual)],
    );
    assert_eq!(ran.machine.most(ran.get(RCX)), None);
    let ran = run_assuming(
        "mov",
        "cmp $5, %rcx\n mov %rax, %rdx",
        &[(2, Condition::BelowOrEqual)],
    );
    assert_eq!(ran.machine.most(ran.get(RCX)), Some(5));
    // What was subtracted from has lost its name to the result.
    let ran = run_assuming(
        "renamed",
        "syscall\n sub $5, %rcx",
        &[(2, Condition::BelowOrEqual)],
    );
    assert_eq!(ran.machine.most(ran.get(RCX)), None);
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
    assert_eq!(X86.length(&[0x06]), None);
    assert_eq!(X86.length(&[]), None);
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
        "halves",
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
fn what_is_indexed_otherwise_is_no_table() {
    for (name, text) in [
        (
            "scale",
            "lea 0x1000(%rip), %rdx\n movslq (%rdx,%rcx,8), %rax",
        ),
        ("byte", "lea 0x1000(%rip), %rdx\n movsbq (%rdx,%rcx), %rax"),
        ("known_scale", "mov $3, %ecx\n mov 0x1000(,%rcx,4), %rax"),
        ("known_byte", "mov $3, %ecx\n movsbq 0x1000(,%rcx), %rax"),
    ] {
        let ran = run(&format!("no_table_{name}"), text);
        assert!(!matches!(ran.get(RAX), Value::Table(_)), "{text}");
    }
}

#[test]
fn a_sum_in_memory_has_no_more_bits_than_that() {
    let text = "movl $-1, -8(%rsp)\n addl $1, -8(%rsp)\n movl -8(%rsp), %ecx";
    assert_eq!(run("sum_in_memory", text).get(RCX), Value::Constant(0));
}
