//! A kernel in C that runs user code: reports end there, and are complete for the kernel.

use std::fs;
use std::path::Path;

use object::{Object, ObjectSymbol};
use qemu::machine::Arch;
use qemu::workspace;

use super::build::{Said, Tools, replace};
use super::handlers::describe;
use super::reports::{declare_stacks, exception};

/// Where user code finds the kernel's memory.
const ALIAS: u64 = 0x4000_0000;

/// Has the kernel run a program that reads where nothing is, or that has it panic in a handler.
fn run_user(tools: Tools, folder: &Path, reads: bool) {
    let name = format!("{}/user.c", tools.arch);
    let from = workspace::root().join("qemu/tests/c_kernel/user");
    fs::copy(from.join(&name), folder.join(&name)).expect("a file can be copied");
    replace(
        folder,
        "Makefile",
        "$(ARCH)/machine.o main.o",
        "$(ARCH)/machine.o $(ARCH)/user.o main.o",
    );
    let runs = format!(
        "void run_user(int reads);\n\trun_user({});",
        u8::from(reads)
    );
    replace(folder, "main.c", "serve(3);", &runs);
    let machine = format!("{}/machine.c", tools.arch);
    let boot = format!("{}/boot.S", tools.arch);
    let report = "unwind_fault(put_char, \"\", ";
    let is_call = match tools.arch {
        Arch::X86_64 => {
            replace(folder, &boot, "$level3 + 3", "$level3 + 7");
            let tables = "movl $level2 + 3, level3\n\tmovl $level2 + 7, level3 + 8";
            replace(folder, &boot, "movl $level2 + 3, level3", tables);
            replace(folder, &boot, "movl $0x83, %eax", "movl $0x87, %eax");
            // `run_user` ends with `iretq`, so that `kernel_main` counts as returning. Then the code after the call is reached.
            let halts = "call kernel_main\n2:\thlt\n\tjmp 2b";
            replace(folder, &boot, "call kernel_main", halts);
            "frame->vector == 6"
        }
        Arch::Aarch64 => {
            let tables = "ldr x2, =0x40000705\n\tldr x3, =0x40000745\n\tstr x3, [x0, #16]";
            replace(folder, &boot, "ldr x2, =0x40000705", tables);
            "frame->esr >> 26 == 0x15"
        }
    };
    let with = format!("if ({is_call})\n\t\tpanic(\"no such call\");\n\t{report}");
    replace(folder, &machine, report, &with);
}

/// Fails unless the report ends at this label of the user's program.
fn expect(tools: Tools, said: &Said, begin: &str, trace: &str, label: &str, offset: u64) {
    let data = fs::read(&said.image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    let label = file.symbol_by_name(label).expect("a label of the program");
    let pc = label.address() + ALIAS + offset;
    let end = format!("user code reached at {pc:#018x}, complete for the kernel, ");
    println!("{tools:?}: {}", said.text);
    let report = said.expect_end(begin, &format!("{trace}\np -"), &end);
    assert_eq!(report.frames.last().map(|frame| frame.address), Some(pc));
}

pub fn a_fault_of_a_user_program_is_the_programs(tools: Tools) {
    let said = tools.with(|folder| run_user(tools, folder, true));
    let (begin, offset) = match tools.arch {
        Arch::X86_64 => (exception(tools.arch)[1], 0),
        Arch::Aarch64 => ("trap, ESR_EL1 0x00000000920", 4),
    };
    expect(tools, &said, begin, "", "user_read", offset);
}

pub fn a_panic_in_a_call_of_a_user_program_ends_there(tools: Tools) {
    let said = tools.with(|folder| {
        describe(tools, folder);
        declare_stacks(folder);
        run_user(tools, folder, false);
    });
    let offset = match tools.arch {
        Arch::X86_64 => 0,
        Arch::Aarch64 => 4,
    };
    let trace = "p unwind_print\nr panic\nr trap\nr all_traps\n-- interrupted";
    let begin = "panic: no such call";
    expect(tools, &said, begin, trace, "user_stop", offset);
}
