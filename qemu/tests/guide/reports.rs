//! What one call writes, in kernels in which different things go wrong.

use std::path::Path;

use qemu::build::Profile;
use qemu::machine::Arch;

use super::said::Said;
use super::short::{self, HANDLERS, HIGHER, VECTORS, replace};
use super::steps;
use super::text::part;

/// A breakpoint, from which the kernel goes on, and a panic.
const STOP: &str = "
    use core::hint::black_box;
    #[inline(never)]
    pub fn serve(customers: u64) {
        stop();
        crate::println!(\"went on\");
        sell(black_box(customers));
        crate::println!(\"nobody comes here\");
    }
    #[inline(never)]
    fn stop() {
        // SAFETY: its handler returns.
        unsafe { core::arch::asm!(\"STOP\") };
    }
    #[inline(never)]
    fn sell(customers: u64) { assert!(customers == 0, \"sold out\"); }
";

pub fn stop_in(arch: Arch) -> String {
    let stop = match arch {
        Arch::X86_64 => "int3",
        Arch::Aarch64 => "brk #7",
    };
    STOP.replace("STOP", stop)
}

/// What a breakpoint and a panic have in their reports, with this end.
#[track_caller]
pub fn expect_stop(said: &Said, arch: Arch, end: &str) {
    let (breakpoint, handler, first) = match arch {
        Arch::X86_64 => (
            "breakpoint\nx86_64",
            "p corner_shop::exceptions::breakpoint\n-- interrupted\n",
            "long_mode",
        ),
        Arch::Aarch64 => ("exception\naarch64", "", "with_mmu"),
    };
    // An optimizing compiler may jump from `main` to the last function that it calls.
    let callers = format!("r corner_shop::shop::serve\nr~ main\nr {first}");
    let trace = format!("{handler}p corner_shop::shop::stop\n{callers}");
    said.expect(breakpoint, &trace, end);
    let trace = format!("= panic\nr corner_shop::shop::sell\n{callers}");
    said.expect("panicked at src/shop.rs:", &trace, end);
    assert!(said.text.contains("\nsold out\n"), "{}", said.text);
    assert!(said.text.contains("\nwent on\n"), "{}", said.text);
}

#[long]
fn one_call_reports_what_returns_and_what_does_not() {
    for kind in [HANDLERS, HIGHER, VECTORS] {
        // Not optimized, as most who write a kernel have it.
        let said = kind.with(Profile::Debug, |folder| {
            replace(&folder.join("Cargo.toml"), "opt-level = 1", "opt-level = 0");
            short::write_shop(folder, &stop_in(kind.arch));
        });
        expect_stop(&said, kind.arch, COMPLETE);
    }
}

#[long]
fn a_report_on_stacks_that_the_kernel_tells_is_complete() {
    for kind in [HANDLERS, HIGHER, VECTORS] {
        let said = kind.with(Profile::Release, |folder| {
            steps::apply(&part("complete-lists.md"), folder);
            short::write_shop(folder, &stop_in(kind.arch));
        });
        expect_stop(&said, kind.arch, "complete, ");
    }
}

/// If the MMU is off, a report finds the code in the tables, and the stacks only in what the kernel declares.
#[gate]
fn a_report_without_an_mmu_is_complete_if_stacks_are_declared() {
    let said = |change: fn(&Path)| {
        VECTORS.with(Profile::Release, |folder| {
            let boot = folder.join("src/boot.s");
            replace(&boot, "msr sctlr_el1, x0", "nop");
            short::write_shop(folder, &stop_in(VECTORS.arch));
            change(folder);
        })
    };
    let declared = said(|folder| {
        steps::apply(&part("complete-lists.md"), folder);
    });
    expect_stop(&declared, VECTORS.arch, "complete, ");
    let undeclared = said(|_| ()).text;
    let reason = "\nno stack is readable, because stacks_by was not called and the MMU is off\n";
    assert!(undeclared.contains(reason), "{undeclared}");
    assert!(
        !undeclared.contains("end of backtrace: complete"),
        "{undeclared}"
    );
}

/// The handler is as its owner has written it, with one line more.
#[long]
fn a_report_may_begin_at_what_a_handler_has_interrupted() {
    for profile in [Profile::Debug, Profile::Release] {
        let said = HANDLERS.with(profile, |folder| {
            let exceptions = folder.join("src/exceptions.rs");
            replace(&exceptions, "print(&mut", "print_interrupted(&mut");
            short::write_shop(folder, &stop_in(Arch::X86_64));
        });
        let trace = "
            -- 1 frames left out
            -- interrupted
            p corner_shop::shop::stop
            r corner_shop::shop::serve
            r~ main
            r long_mode
        ";
        said.expect("breakpoint\nx86_64", trace, COMPLETE);
        assert!(said.text.contains("\nwent on\n"), "{}", said.text);
    }
}

/// The verdict: the boot code shows where the stack begins, or the kernel has noted it.
pub const COMPLETE: &str = "complete, ";

/// An exception that has no handler, which has a handler with a stack of its own.
#[gate]
fn a_report_goes_from_one_stack_to_the_next() {
    let shop = "
        #[inline(never)]
        pub fn serve(_: u64) {
            // SAFETY: nobody returns from there.
            unsafe { core::arch::asm!(\"ud2\") };
            crate::println!(\"nobody comes here\");
        }
    ";
    let trace = "
        = panic
        r corner_shop::exceptions::double_fault
        -- interrupted
        p corner_shop::shop::serve
        r main
        r long_mode
    ";
    let said = HANDLERS.with_shop(Profile::Debug, shop);
    said.expect("panicked at ", trace, COMPLETE);
}

/// There is no memory where the stack pointer is.
#[gate]
fn a_lost_stack_pointer_ends_the_trace_not_the_report() {
    let shop = "
        #[inline(never)]
        pub fn serve(_: u64) {
            // SAFETY: nobody returns from this.
            unsafe { core::arch::asm!(\"mov rsp, {}\", \"push rax\", in(reg) 0x4000_0100_u64) };
            crate::println!(\"nobody comes here\");
        }
    ";
    let trace = "
        = panic
        r corner_shop::exceptions::double_fault
        -- interrupted
        p corner_shop::shop::serve
    ";
    let end = "incomplete: the stack word at address 0x0000000040000";
    let said = HANDLERS.with_shop(Profile::Debug, shop);
    said.expect("panicked at ", trace, end);
    assert_eq!(
        said.text.matches("double fault").count(),
        1,
        "{}",
        said.text
    );
}

/// Registers whose stack pointer is that of a device, or of nothing: on AArch64 the serial line, which is mapped.
#[long]
fn what_is_no_memory_is_not_read() {
    for (kind, sp) in [
        (HANDLERS, "0x4000_0000"),
        (VECTORS, "0x0900_0000"),
        (VECTORS, "0x8000_0000"),
    ] {
        let shop = "
            #[inline(never)]
            pub fn serve(_: u64) {
                let mut registers = postmortem::capture();
                registers.sp = SP;
                postmortem::print_from(&mut crate::serial::Serial, &\"lost\", registers);
                if core::hint::black_box(true) { panic!(\"sold out\") }
            }
        ";
        let said = kind.with_shop(Profile::Debug, &shop.replace("SP", sp));
        // Up to the offset in the function's frame.
        let at = sp.replace('_', "").replace("0x", "0x00000000");
        let end = format!("incomplete: the stack word at address {}", &at[..16]);
        said.expect("lost\n", "p corner_shop::shop::serve", &end);
    }
}

/// All of the stack has the address of a device, or one that nothing has.
#[long]
fn a_report_survives_a_stack_that_is_overwritten() {
    for (kind, value) in [
        (HANDLERS, "0x7000_0000_0000"),
        (HANDLERS, "0xfee0_0020"),
        (VECTORS, "0x900_0000"),
    ] {
        let asm = match kind.arch {
            Arch::X86_64 => {
                "\"mov rdi, rsp\", \"sub rcx, rsp\", \"shr rcx, 3\", \"rep stosq\", \"mov rbp, rax\",
                in(\"rcx\") end, in(\"rax\") VALUE_u64"
            }
            Arch::Aarch64 => {
                "\"mov x9, sp\", \"2: str x1, [x9], #8\", \"cmp x9, x0\", \"b.lo 2b\", \"mov x29, x1\",
                in(\"x0\") end, in(\"x1\") VALUE_u64"
            }
        };
        let shop = "
            unsafe extern \"C\" { static stack_end: u8; }
            #[inline(never)]
            pub fn serve(_: u64) {
                let end = (&raw const stack_end) as u64;
                // SAFETY: none, and nobody returns from this.
                unsafe { core::arch::asm!(ASM) };
                if core::hint::black_box(true) { panic!(\"sold out\") }
            }
        ";
        let shop = shop.replace("ASM", asm).replace("VALUE", value);
        let said = kind.with_shop(Profile::Debug, &shop);
        let trace = "= panic\nr corner_shop::shop::serve";
        said.expect("panicked at ", trace, "incomplete: the return address 0x");
        assert_eq!(
            said.text.matches("panicked at ").count(),
            1,
            "{}",
            said.text
        );
        assert!(!said.text.contains("exception\n"), "{}", said.text);
        assert!(!said.text.contains("fault at "), "{}", said.text);
    }
}

#[gate]
fn a_failure_in_a_report_adds_its_line() {
    let shop = "
        use core::fmt::{Display, Formatter, Result};
        struct Broken;
        impl Display for Broken {
            fn fmt(&self, _: &mut Formatter<'_>) -> Result { panic!(\"cannot be shown\") }
        }
        pub fn serve(_: u64) { panic!(\"before and {}\", Broken) }
    ";
    for kind in [HANDLERS, VECTORS] {
        let text = kind.with_shop(Profile::Debug, shop).text;
        let lines: Vec<_> = text.lines().skip(1).collect();
        let [first, before, second] = &lines[..] else {
            panic!("{text}");
        };
        assert!(first.starts_with("panicked at src/shop.rs:"), "{text}");
        let begin = "before and during the report: panicked at src/shop.rs:";
        assert!(before.starts_with(begin), "{text}");
        assert_eq!(*second, "cannot be shown", "{text}");
    }
}

#[long]
fn a_report_says_what_the_kernel_has_not_told() {
    let said = HANDLERS.with(Profile::Debug, |folder| {
        // SAFETY: the test removes this call.
        let line = "    unsafe { postmortem::physical_memory_at(0) };\n";
        replace(&folder.join("src/main.rs"), line, "");
    });
    let trace = "p corner_shop::exceptions::page_fault";
    let begin = "page fault\n\
        no stack is readable, because stacks_by was not called and physical_memory_at was not called\nx86_64";
    said.expect(begin, trace, "incomplete: the stack word at ");
}

/// Rust's own linker links it too.
#[long]
fn a_report_says_that_there_are_no_tables() {
    let said = HANDLERS.with(Profile::Debug, |folder| {
        let config = folder.join(".cargo/config.toml");
        replace(&config, "linker = \"sframe-link\"\n", "");
        replace(
            &config,
            "    \"-Clink-arg=--sframe-outermost=long_mode\",\n",
            "",
        );
    });
    let text = &said.text;
    assert!(
        text.contains("\nx86_64, no build id, no tables\n"),
        "{text}"
    );
    let end = "end of backtrace: incomplete: no .sframe table: empty, 1 frames\n";
    assert!(text.contains(end), "{text}");
}
