//! Jump tables, and the bounds of an index into one.

use super::*;

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
