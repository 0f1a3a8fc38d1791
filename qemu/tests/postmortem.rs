//! A kernel that has nothing gets everything from `postmortem` by the changes that its guide shows: reports of panics,
//! exceptions, breakpoints, stack overflows and failures in the report, and last words after a reset.

#[path = "guide/steps.rs"]
mod steps;
mod support;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use qemu::build::Profile;
use qemu::machine::{Arch, Boot, Verdict};
use qemu::workspace;
use support::built;
use support::outside::Outside;
use support::report::Report;

/// Most lines that the changes may add.
const LINES: usize = 40;

/// The heading of the guide's part for AArch64.
const AARCH64: &str = "\n# The same on AArch64\n";

/// The function that calls `main`.
const fn first_function(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "long_mode",
        Arch::Aarch64 => "with_mmu",
    }
}

/// The kernel after all changes.
fn kernel(arch: Arch) -> Outside {
    let guide = workspace::root().join("kernel/postmortem/GUIDE.md");
    let guide = fs::read_to_string(guide).expect("the guide is there");
    let (x86_64, aarch64) = guide.split_once(AARCH64).expect("the guide has both");
    let (folder, guide) = match arch {
        Arch::X86_64 => ("qemu/tests/guide/kernel", x86_64),
        Arch::Aarch64 => ("qemu/tests/guide/aarch64", aarch64),
    };
    let kernel = Outside::copy(folder);
    // What goes wrong is the same for both.
    let shop = workspace::root().join("qemu/tests/guide/kernel/src/shop.rs");
    fs::copy(shop, kernel.folder().join("src/shop.rs")).expect("a file can be copied");
    let mut lines = 0;
    for step in steps::steps(guide) {
        step.apply(kernel.folder());
        lines += step.added();
    }
    println!("{lines} lines added");
    assert!((1..=LINES).contains(&lines), "{lines} lines");
    kernel.name_repository("Cargo.toml");
    kernel
}

/// What the kernel says until it resets the machine for the first time, and what it says after that, if `change` is made to it:
/// in its folder something goes wrong.
fn boot(arch: Arch, change: impl FnOnce(&Path)) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = folder.path().join("corner-shop");
    {
        /// All are built in one folder, so that `core` is built once. Their files are written one after another too: cargo
        /// compares times.
        static BUILD: Mutex<()> = Mutex::new(());
        let _alone = BUILD.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = kernel(arch);
        change(kernel.folder());
        let built = kernel.build(arch, "postmortem", Profile::Debug, "corner-shop");
        fs::copy(built, &image).expect("the image can be copied");
    }
    let boot = Boot {
        // Only one of them runs, unless the kernel starts the other.
        cpus: 2,
        reboots: true,
        limit: Some(Duration::from_secs(300)),
        ..Boot::new(arch, &image, "")
    };
    let emulator = built::emulator(boot.board.arch());
    let booted = boot.run(&emulator, &mut io::sink()).expect("QEMU starts");
    let text = String::from_utf8_lossy(&booted.serial).replace('\r', "");
    assert_eq!(booted.verdict, Verdict::Panicked, "{text}");
    let (before, after) = text
        .split_once("epitaph: what was printed last before the reset:\n")
        .unwrap_or_else(|| panic!("no last words in:\n{text}"));
    (before.to_owned(), after.to_owned())
}

/// The same, of the kernel whose shop goes wrong in this way.
fn boot_with(arch: Arch, shop: &str) -> (String, String) {
    boot(arch, |folder| {
        fs::write(folder.join("src/shop.rs"), shop).expect("the file can be written");
    })
}

#[track_caller]
fn expect_names(report: &Report, names: &[&str]) {
    // Of a recursion the middle is left out, but counted.
    let end = "end of backtrace: complete, ";
    assert!(report.end.starts_with(end), "{}", report.text);
    let found = report.names();
    let mut rest = found.iter();
    for name in names {
        assert!(
            rest.any(|it| it == name),
            "no {name} in its place in:\n{}",
            report.text
        );
    }
}

fn an_exception_is_reported_and_told_of_after_the_reset(arch: Arch) {
    let (before, after) = boot(arch, |_| ());
    let report = Report::find(before.as_bytes());
    let words = match arch {
        Arch::X86_64 => ": page fault: read of 0x0000007000000000, not mapped",
        Arch::Aarch64 => ": data abort: read of 0x0000007000000000, translation fault level 1",
    };
    assert!(
        report.panicked.starts_with("fault on cpu 0 at 0x"),
        "{before}"
    );
    assert!(report.panicked.ends_with(words), "{before}");
    expect_names(&report, &["main", first_function(arch)]);
    let first = format!("\nfirst failure: {}\n", report.panicked);
    assert!(before.ends_with(&first), "{before}");

    let quoted: Vec<_> = after
        .lines()
        .map_while(|line| line.strip_prefix("| "))
        .collect();
    let report: Vec<_> = before
        .lines()
        .skip_while(|line| !line.starts_with("fault on "))
        .collect();
    assert_eq!(quoted, report);
}

fn a_panic_is_reported_from_the_handler_on(arch: Arch) {
    let shop = "
        pub fn serve(customers: u64) { assert!(customers == 0, \"sold out\"); }
    ";
    let (before, _) = boot_with(arch, shop);
    let report = Report::find(before.as_bytes());
    assert!(report.panicked.ends_with(": sold out"), "{before}");
    let names = [
        "__rustc::rust_begin_unwind",
        "core::panicking::panic_fmt",
        "main",
        first_function(arch),
    ];
    expect_names(&report, &names);
}

fn a_stack_overflow_is_reported_from_a_stack_of_its_own(arch: Arch) {
    let shop = "
        use core::hint::black_box;
        pub fn serve(customers: u64) { black_box(queue(black_box(customers))); }
        #[inline(never)]
        #[allow(unconditional_recursion)]
        fn queue(customers: u64) -> u64 { black_box(queue(black_box(customers + 1))) + customers }
    ";
    let (before, _) = boot_with(arch, shop);
    let report = Report::find(before.as_bytes());
    let words = match arch {
        Arch::X86_64 => ": double fault, last page fault at 0x00000000005ff",
        Arch::Aarch64 => ": no room on the stack: data abort: write to 0x00000000405ff",
    };
    assert!(report.panicked.contains(words), "{before}");
    let guard = ", guard page of stack boot";
    assert!(report.panicked.ends_with(guard), "{before}");
    assert!(before.contains(" frames left out -----\n"), "{before}");
    let names = ["corner_shop::shop::queue", "main", first_function(arch)];
    expect_names(&report, &names);
}

fn a_failure_in_the_report_is_one_line(arch: Arch) {
    let shop = "
        use core::fmt::{Display, Formatter, Result};
        struct Broken;
        impl Display for Broken {
            fn fmt(&self, _: &mut Formatter<'_>) -> Result { panic!(\"cannot be shown\") }
        }
        pub fn serve(_: u64) { panic!(\"before and {}\", Broken) }
    ";
    let (before, _) = boot_with(arch, shop);
    let lines: Vec<_> = before.lines().collect();
    let [.., first, second, last] = &lines[..] else {
        panic!("{before}");
    };
    assert!(first.starts_with("panicked at "), "{before}");
    assert!(first.ends_with(": before and "), "{before}");
    assert!(
        second.starts_with("during the report: panicked at "),
        "{before}"
    );
    assert!(second.ends_with(": cannot be shown"), "{before}");
    assert_eq!(*last, format!("first failure: {first}"));
}

fn a_breakpoint_is_reported_and_returns(arch: Arch) {
    let stop = match arch {
        Arch::X86_64 => "int3",
        Arch::Aarch64 => "brk #7",
    };
    let shop = format!(
        "
        pub fn serve(_: u64) {{
            stop();
            panic!(\"closed\")
        }}
        #[inline(never)]
        fn stop() {{
            // SAFETY: its handler returns.
            unsafe {{ core::arch::asm!(\"{stop}\") }};
            crate::println!(\"went on\");
        }}
        "
    );
    let (before, _) = boot_with(arch, &shop);
    let (breakpoint, panic) = before
        .split_once("\nwent on\n")
        .unwrap_or_else(|| panic!("{before}"));
    let report = Report::find(breakpoint.as_bytes());
    assert!(
        report.panicked.starts_with("breakpoint on cpu 0 at 0x"),
        "{before}"
    );
    let names = ["corner_shop::shop::stop", "main", first_function(arch)];
    expect_names(&report, &names);
    assert!(panic.starts_with("panicked at "), "{before}");
}

/// The stack pointer is where the stack is said to go on, but nothing is mapped: so the walk's first read faults.
fn a_read_of_the_report_that_fails_ends_the_trace(arch: Arch) {
    let (lose, end, gone) = match arch {
        Arch::X86_64 => ("mov rsp, 0x40000100", "0x70_0000", "0x4000_1000"),
        Arch::Aarch64 => ("mov sp, {x}", "0x4070_0000", "0x8000_1000"),
    };
    let operand = match arch {
        Arch::X86_64 => "",
        Arch::Aarch64 => ", x = in(reg) 0x8000_0100_u64",
    };
    let push = match arch {
        Arch::X86_64 => "push rax",
        Arch::Aarch64 => "str x0, [sp]",
    };
    let shop = format!(
        "
        #[inline(never)]
        pub fn serve(_: u64) {{
            // SAFETY: nobody returns from this.
            unsafe {{ core::arch::asm!(\"{lose}\", \"{push}\"{operand}) }};
            crate::println!(\"nobody comes here\");
        }}
        "
    );
    let (before, _) = boot(arch, |folder| {
        let write = |name: &str, text: &str| {
            fs::write(folder.join(name), text).expect("the file can be written");
        };
        write("src/shop.rs", &shop);
        let death = fs::read_to_string(folder.join("src/death.rs")).expect("it is there");
        let stack = format!(", {end})).with_guard(");
        assert!(death.contains(&stack), "{death}");
        let gone = format!(", {gone})).with_guard(");
        write("src/death.rs", &death.replace(&stack, &gone));
    });
    let report = Report::find(before.as_bytes());
    assert!(
        report.panicked.starts_with("fault on cpu 0 at 0x"),
        "{before}"
    );
    assert!(
        report.end.starts_with("end of backtrace: incomplete: "),
        "{before}"
    );
    assert!(!before.contains("during the report"), "{before}");
    let first = format!("\nfirst failure: {}\n", report.panicked);
    assert!(before.ends_with(&first), "{before}");
}

/// The second CPU, which has tables of its own, loses its stack pointer. It knows its number by its tables.
#[test]
fn a_second_cpu_has_stacks_and_a_number_of_its_own() {
    let shop = "
        use core::arch::{asm, global_asm};

        // Comes with the page tables in x0, and the MMU off.
        global_asm!(
            \".global second_start\",
            \"second_start:\",
            \"msr ttbr0_el1, x0\",
            \"ldr x0, =0xff04\",
            \"msr mair_el1, x0\",
            \"ldr x0, =0x200803519\",
            \"msr tcr_el1, x0\",
            \"isb\",
            \"tlbi vmalle1\",
            \"dsb nsh\",
            \"isb\",
            \"ldr x0, =0x30d0180d\",
            \"msr sctlr_el1, x0\",
            \"isb\",
            \"ldr x0, ={stack} + {end}\",
            \"mov sp, x0\",
            \"bl {second}\",
            \".ltorg\",
            stack = sym crate::death::SECOND,
            end = const crate::death::Second::END,
            second = sym second,
        );

        pub fn serve(_: u64) {
            unsafe extern \"C\" { fn second_start(); }
            // SAFETY: firmware starts the second CPU there.
            unsafe {
                asm!(
                    \"mrs x3, ttbr0_el1\",
                    \"hvc #0\",
                    inout(\"x0\") 0xc400_0003_u64 => _,
                    inout(\"x1\") 1_u64 => _,
                    inout(\"x2\") second_start => _,
                    out(\"x3\") _,
                );
            }
            loop { core::hint::spin_loop(); }
        }

        extern \"C\" fn second() -> ! {
            crate::death::report_exceptions_of(1);
            // SAFETY: nobody returns from this.
            unsafe { asm!(\"mov sp, {}\", \"str x0, [sp]\", \"b .\", in(reg) 0xc000_0000_u64, options(noreturn)) }
        }
    ";
    let (before, after) = boot(Arch::Aarch64, |folder| {
        let path = folder.join("src/death.rs");
        let mut death = fs::read_to_string(&path).expect("it is there");
        for (old, new) in [
            (
                "[PerCpu; 1] = [PerCpu::new()]",
                "[PerCpu; 2] = [PerCpu::new(), PerCpu::new()]",
            ),
            ("(EXCEPTIONS, POSTMORTEM)", "(EXCEPTIONS, POSTMORTEM, 2)"),
            (
                "index.checked_sub(1).map_or(Some(STACK), |index| EXCEPTIONS.stack(index))\n    }",
                "match index {
                    0 => Some(STACK),
                    1 => Some(SECOND.of_cpu(\"boot\", 1)),
                    _ => EXCEPTIONS.stack(index - 2),
                }
            }

            fn cpu(&self) -> usize { EXCEPTIONS.cpu() }",
            ),
            (
                "pub fn report_exceptions() {",
                "pub type Second = postmortem::GuardedStack<0, 65536>;
                pub static SECOND: Second = Second::new();
                pub fn report_exceptions_of(cpu: usize) { unsafe { EXCEPTIONS.load(cpu) } }
                pub fn report_exceptions() {",
            ),
        ] {
            assert!(death.contains(old), "{old}");
            death = death.replace(old, new);
        }
        fs::write(path, death).expect("the file can be written");
        fs::write(folder.join("src/shop.rs"), shop).expect("the file can be written");
    });
    for text in [&before, &after] {
        let report = Report::find(text.as_bytes());
        let words = ": no room on the stack: data abort: write to 0x00000000c0000000, ";
        assert!(
            report.panicked.starts_with("fault on cpu 1 at 0x"),
            "{text}"
        );
        assert!(report.panicked.contains(words), "{text}");
        assert!(text.contains("\ncpu 1, task 1, aarch64, "), "{text}");
        let [frame] = &report.frames[..] else {
            panic!("{text}");
        };
        assert_eq!(frame.name.as_deref(), Some("corner_shop::shop::second"));
    }
}

/// A test of each for each architecture.
macro_rules! on_both {
    ($($name:ident,)*) => {
        mod x86_64 {
            $(#[test] fn $name() { super::$name(super::Arch::X86_64) })*
        }
        mod aarch64 {
            $(#[test] fn $name() { super::$name(super::Arch::Aarch64) })*
        }
    };
}

on_both! {
    an_exception_is_reported_and_told_of_after_the_reset,
    a_panic_is_reported_from_the_handler_on,
    a_stack_overflow_is_reported_from_a_stack_of_its_own,
    a_failure_in_the_report_is_one_line,
    a_breakpoint_is_reported_and_returns,
    a_read_of_the_report_that_fails_ends_the_trace,
}
