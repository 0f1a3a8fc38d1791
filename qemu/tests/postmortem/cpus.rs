//! Several CPUs, by the tables of `exceptions!`.

use std::fs;

use qemu::machine::Arch;

use super::kernel::{boot, replace};
use crate::support::report::Report;

/// Room for two CPUs, which are known by their tables.
const TWO_CPUS: [(&str, &str); 3] = [
    (
        "[PerCpu; 1] = [PerCpu::new()]",
        "[PerCpu; 2] = [PerCpu::new(), PerCpu::new()]",
    ),
    ("(EXCEPTIONS, POSTMORTEM)", "(EXCEPTIONS, POSTMORTEM, 2)"),
    (
        "fn image(&self)",
        "fn cpu(&self) -> usize { EXCEPTIONS.cpu() }
    fn image(&self)",
    ),
];

/// The second CPU, which has tables of its own, loses its stack pointer. It knows its number by its tables.
#[gate]
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
        replace(folder, "src/death.rs", &TWO_CPUS);
        let texts = [
            (
                "index.checked_sub(1).map_or(Some(STACK), |index| EXCEPTIONS.stack(index))\n    }",
                "match index {
                    0 => Some(STACK),
                    1 => Some(SECOND.of_cpu(\"boot\", 1)),
                    _ => EXCEPTIONS.stack(index - 2),
                }
            }
",
            ),
            (
                "pub fn report_exceptions() {",
                "pub type Second = postmortem::GuardedStack<0, 65536>;
                pub static SECOND: Second = Second::new();
                pub fn report_exceptions_of(cpu: usize) {
                    // SAFETY: only CPU 1 calls it, once, at EL1, before anything else; all memory stays mapped.
                    unsafe { EXCEPTIONS.load(cpu) }
                }
                pub fn report_exceptions() {",
            ),
        ];
        replace(folder, "src/death.rs", &texts);
        fs::write(folder.join("src/shop.rs"), shop).expect("the file can be written");
    });
    for text in [&before, &after] {
        let report = Report::find(text.as_bytes());
        let words = ": no space left on the stack: data abort: write to 0x00000000c0000000, ";
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

/// The one CPU that runs takes the tables of the second, and fills its stack.
#[gate]
fn the_tables_of_a_second_cpu_have_stacks_of_their_own() {
    let shop = "
        use core::hint::black_box;
        pub fn serve(customers: u64) { black_box(queue(black_box(customers))); }
        #[inline(never)]
        #[allow(unconditional_recursion)]
        fn queue(customers: u64) -> u64 { black_box(queue(black_box(customers + 1))) + customers }
    ";
    for (arch, exception) in [
        (
            Arch::X86_64,
            ": double fault, last page-fault address 0x00000000005ff",
        ),
        (
            Arch::Aarch64,
            ": no space left on the stack: data abort: write to 0x00000000405ff",
        ),
    ] {
        let (text, _) = boot(arch, |folder| {
            replace(folder, "src/death.rs", &TWO_CPUS);
            let texts = [
                ("EXCEPTIONS.load(0)", "EXCEPTIONS.load(1)"),
                ("\"boot\", 0", "\"boot\", 1"),
            ];
            replace(folder, "src/death.rs", &texts);
            fs::write(folder.join("src/shop.rs"), shop).expect("the file can be written");
        });
        let report = Report::find(text.as_bytes());
        assert!(
            report.panicked.starts_with("fault on cpu 1 at 0x"),
            "{text}"
        );
        assert!(report.panicked.contains(exception), "{text}");
        let guard = ", guard page of stack boot of cpu 1";
        assert!(report.panicked.ends_with(guard), "{text}");
        assert!(
            report.end.starts_with("end of backtrace: complete, "),
            "{text}"
        );
    }
}
