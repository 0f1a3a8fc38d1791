//! Bounds and comparisons.

use super::*;

#[test]
fn bounds() {
    for (name, text, register, most) in [
        ("and", "and x0, x1, #0x3f", 0, Some(0x3f)),
        ("ands", "ands x0, x1, #0x3f", 0, Some(0x3f)),
        ("ubfx", "ubfx x0, x1, #4, #5", 0, Some(0x1f)),
        ("lsr", "lsr w0, w1, #28", 0, Some(0xf)),
        ("lsr_all", "lsr x0, x1, #60", 0, Some(0xf)),
        ("sign", "and x0, x1, #0xfffffffffffffffe", 0, None),
        ("byte", "ldrb w0, [x1]", 0, Some(0xff)),
        ("uxtb", "uxtb w0, w1", 0, Some(0xff)),
        // A number with a sign that is positive is the same without.
        ("positive", "ldrb w0, [x1]\n sxth x0, w0", 0, Some(0xff)),
        ("negative", "ldrh w0, [x1]\n sxth x0, w0", 0, None),
        ("edge", "and x0, x1, #0x7f\n sxtb x0, w0", 0, Some(0x7f)),
        ("over", "ldrb w0, [x1]\n sxtb x0, w0", 0, None),
    ] {
        let ran = run(&format!("a64_values_bound_{name}"), text);
        let value = ran.machine.get(register);
        assert_eq!(ran.machine.most(value), most, "{text}");
    }
}

#[test]
fn comparisons() {
    let le = Condition::BelowOrEqual;
    for (name, text, at, register, most) in [
        ("cmp", "cmp x1, #5", 1, 1, Some(5)),
        ("cmp_w", "mov w2, w1\n cmp w1, #5", 2, 2, Some(5)),
        ("cmp_shift", "cmp x1, #1, lsl #12", 1, 1, Some(0x1000)),
        ("cmp_register", "mov x2, #7\n cmp x1, x2", 2, 1, Some(7)),
        (
            "cmp_shifted",
            "mov x2, #7\n cmp x1, x2, lsl #1",
            2,
            1,
            Some(14),
        ),
        (
            "cmp_extended",
            "mov x2, #7\n cmp x1, w2, uxtb",
            2,
            1,
            Some(7),
        ),
        (
            "sxtb_within",
            "cmp x1, #0x7f\n sxtb x0, w1",
            1,
            0,
            Some(0x7f),
        ),
        ("sxtb_over", "cmp x1, #0x80\n sxtb x0, w1", 1, 0, None),
        ("subs", "subs x2, x1, #5", 1, 1, Some(5)),
        ("subs_result", "subs x2, x1, #5", 1, 2, None),
        ("subs_same", "svc #0\n subs x1, x1, #5", 2, 1, None),
        (
            "cmp_copy",
            "svc #0\n mov x2, x1\n cmp x1, #5",
            3,
            2,
            Some(5),
        ),
        // Of a sum nothing follows, nor of flags that something else has set since.
        ("cmn", "cmn x1, #5", 1, 1, None),
        ("adds", "cmp x1, #5\n adds x2, x3, #5", 2, 1, None),
        ("ands", "cmp x1, #5\n ands x2, x3, #7", 2, 1, None),
        ("bics", "cmp x1, #5\n bics x2, x3, x4", 2, 1, None),
        ("ccmp", "cmp x1, #5\n ccmp x2, #5, #0, eq", 2, 1, None),
        ("call", "cmp x1, #5\n svc #0", 2, 1, None),
        ("msr", "cmp x1, #5\n msr nzcv, x2", 2, 1, None),
        ("fcmp", "cmp x1, #5\n fcmp d0, d1", 2, 1, None),
        // These leave them alone.
        ("add", "cmp x1, #5\n add x2, x3, #5", 2, 1, Some(5)),
        ("and", "cmp x1, #5\n and x2, x3, x4", 2, 1, Some(5)),
        ("madd", "cmp x1, #5\n madd x2, x3, x4, x5", 2, 1, Some(5)),
        ("udiv", "cmp x1, #5\n udiv x2, x3, x4", 2, 1, Some(5)),
        ("extr", "cmp x1, #5\n extr x2, x3, x4, #5", 2, 1, Some(5)),
        ("barrier", "cmp x1, #5\n dsb sy\n isb", 3, 1, Some(5)),
        ("load", "cmp x1, #5\n ldr x2, [x3]", 2, 1, Some(5)),
    ] {
        let ran = run_assuming(&format!("a64_values_{name}"), text, &[(at, le)]);
        let value = ran.machine.get(register);
        assert_eq!(ran.machine.most(value), most, "{text}");
    }
    // The stack pointer is where the comparison says.
    let ran = run_assuming(
        "a64_values_cmp_sp",
        "sub x9, sp, #64\n and x10, x10, #0xff\n mov sp, x10\n cmp sp, x9",
        &[(4, Condition::Equal)],
    );
    assert_eq!(ran.machine.sp(), Value::Stack(Base::ENTRY, -64));
    let ran = run_assuming(
        "a64_values_cmp_shifted_sp",
        "sub x9, sp, #64\n cmp x10, x9, lsl #1",
        &[(2, Condition::Equal)],
    );
    assert_eq!(ran.machine.get(10), Value::entry(10));
}

/// What is equal to an address on the stack is that address: in a register that holds what was compared, as a whole.
#[test]
fn registers_that_are_equal_to_an_address() {
    let place = Value::Stack(Base::ENTRY, -64);
    for (name, text, register, is_place) in [
        ("right", "cmp x10, x9", 10, true),
        ("left", "cmp x9, x10", 10, true),
        ("another_result", "subs x11, x10, x9", 10, true),
        ("left_another_result", "subs x11, x9, x10", 10, true),
        ("result", "subs x10, x10, x9", 10, false),
        ("left_result", "subs x10, x9, x10", 10, false),
        ("shifted", "mov x10, #2\n cmp x9, x10, lsl #1", 10, false),
        ("shifted_unknown", "svc #0\n cmp x9, x0, lsl #1", 0, false),
        // The lower half of one is equal to the lower half of the other; `uxtx` does not make it more.
        ("half", "cmp w10, w9", 10, false),
        (
            "half_extended",
            "mov w10, w10\n .inst 0x6b29615f",
            10,
            false,
        ),
        // The number stands where another instruction has a register: 10.
        ("number", "cmp x9, #0x280", 10, false),
    ] {
        let text = format!("sub x9, sp, #64\n {text}");
        let equal = text.lines().count();
        let name = format!("a64_values_equal_{name}");
        let ran = run_assuming(&name, &text, &[(equal, Condition::Equal)]);
        assert_eq!(ran.machine.get(register) == place, is_place, "{text}");
    }
}

#[test]
fn branches_under_the_condition_always() {
    let ran = run("a64_values_always", "b.al .\n b.nv .\n b.mi .");
    let to = |index: u64| Value::Constant(START + 4 * index);
    assert_eq!(ran.flows[..2], [Flow::Jump(to(0)), Flow::Jump(to(1))]);
    assert_eq!(ran.flows[2], Flow::Branch(START + 8, Condition::Other));
    // One instruction that compares and branches.
    let ran = run(
        "a64_values_compare_and_branch",
        ".arch_extension cmpbr\n cbgt x1, x2, .+16\n cbeq w1, #5, .-4\n cbhne w1, w2, .",
    );
    let to = |address| Flow::Branch(address, Condition::Other);
    assert_eq!(ran.flows, [START + 16, START, START + 8].map(to));
}
