//! Constants in code are no instructions, unless control goes there.

use super::support::Set::A64;
use super::support::judge;

/// Boot code, which has no caller, with constants behind it and no size. The function after them is called.
fn boot(code: &str, constants: &str, rows: [&str; 2]) {
    let [first, second] = rows;
    judge(
        A64,
        &format!(
            "fn start\n mov x29, xzr | none\n {code}\n {constants}\n fn f\n sub sp, sp, #16 {first}\n nop {second}\n\
             add sp, sp, #16\n ret\n end\n fn g\n stp x29, x30, [sp, #-16]!\n bl f | sp+16 ra=c-8 fp=c-16\n\
             ldp x29, x30, [sp], #16\n ret\n end"
        ),
    );
}

const RIGHT: [&str; 2] = ["| sp+0", "| sp+16"];
const REFUSED: [&str; 2] = ["| not sp+0", "| not sp+16"];

/// No control runs through what the code loads: neither by a jump that is not followed, nor from a trap.
#[test]
fn what_code_loads_is_not_entered() {
    let load = "ldr x0, =0x0060000000000401";
    boot(&format!("{load}\n b ."), ".ltorg", RIGHT);
    boot(&format!("{load}\n bl g\n brk #0"), ".ltorg", RIGHT);
    boot(
        "ldr q0, 1f\n brk #0",
        "1: .inst 0x401, 0x401, 0x401, 0x401",
        RIGHT,
    );
    boot("ldr w0, 1f\n brk #0", "1: .inst 0x91000400", RIGHT);
    // Here only the first word is loaded, and by code that nothing reaches.
    boot("ldr w0, 1f\n brk #0", "1: .inst 0x401, 0x91000400", REFUSED);
    boot(
        "b 2f\n 1: .inst 0x91000400\n 2: brk #0\n b .",
        ".inst 0x18ffffff",
        REFUSED,
    );
}

/// A symbol marks data. Control that goes there, or from a trap, goes on all the same.
#[test]
fn marked_data_is_not_entered_where_no_way_leads() {
    boot("b .", ".quad 0x0060000000000401", RIGHT);
    boot("cbz x0, 1f\n b .\n 1:", ".word 0x91000400", REFUSED);
    boot(
        "ldr w0, 1f\n cbz x0, 1f\n b .",
        "1: .word 0x91000400",
        REFUSED,
    );
    boot("brk #0", ".word 0x91000400", REFUSED);
}
