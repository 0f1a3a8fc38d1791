//! Kernels with stacks of 4 KiB, and how much of them a report takes.

use std::path::Path;

use qemu::build::Profile;
use qemu::machine::Arch;

use super::short::{self, HANDLERS, Kind, VECTORS, replace};
use super::steps;
use super::text::part;

/// A breakpoint, from which the kernel goes on, and a panic. The stack and what lies below has a pattern before, so that it is seen how
/// much of it was used.
const SHOP: &str = "
    use core::hint::black_box;
    unsafe extern \"C\" { static below: u64; static stack_end: u64; }
    #[inline(never)]
    pub fn serve(customers: u64) {
        let here = 0_u64;
        paint((&raw const here).wrapping_sub(32).cast_mut());
        // SAFETY: its handler returns.
        unsafe { core::arch::asm!(\"STOP\") };
        sell(black_box(customers));
    }
    #[inline(never)]
    fn paint(to: *mut u64) {
        let mut word = (&raw const below).cast_mut();
        while word < to {
            // SAFETY: nothing uses these words, because they are below the stack pointer.
            unsafe { word.write_volatile(!0x70_6169_6e74); word = word.add(1) };
        }
    }
    pub fn depth() {
        let mut word = &raw const below;
        // SAFETY: words of the stack, and below it.
        while unsafe { word.read_volatile() } == !0x70_6169_6e74 { word = word.wrapping_add(1) }
        crate::println!(\"depth {}\", &raw const stack_end as u64 - word as u64);
    }
    #[inline(never)]
    fn sell(customers: u64) { assert!(customers == 0, \"sold out\"); }
";

/// What two reports need of a stack, and how they end.
fn depth(kind: Kind, profile: Profile, change: impl FnOnce(&Path)) -> usize {
    let said = kind.with(profile, |folder| {
        let small = "below: .skip 65536\nstack_start: .skip 4096";
        let boot = folder.join("src/boot.s");
        replace(&boot, "stack_start: .skip 65536", small);
        replace(&boot, ".global stack_start", ".global below, stack_start");
        let (call, depth) = ("serial::Serial, info);", "\n    shop::depth();");
        replace(&folder.join("src/main.rs"), call, &[call, depth].concat());
        steps::apply(&part("complete-lists.md"), folder);
        let stop = match kind.arch {
            Arch::X86_64 => "int3",
            Arch::Aarch64 => "brk #7",
        };
        short::write_shop(folder, &SHOP.replace("STOP", stop));
        change(folder);
    });
    let complete = said.text.matches("end of backtrace: complete, ").count();
    assert_eq!(complete, 2, "{}", said.text);
    let (_, depth) = said.text.rsplit_once("depth ").expect("how deep it was");
    println!("{:?} {profile:?}: {depth}", kind.arch);
    depth.trim().parse().expect("a number")
}

/// Makes reports run on the stack of the failed code.
fn without_own_stack(folder: &Path) {
    // The step names the repository, as the one before it did.
    let root = qemu::workspace::root();
    let part = part("smaller.md#Small stacks").replace("SFRAME", root.to_str().expect("UTF-8"));
    let lines = steps::apply(&part, folder);
    assert_eq!(lines, 2);
}

#[long]
fn a_report_on_a_stack_of_its_own_takes_little_of_small_ones() {
    for kind in [HANDLERS, VECTORS] {
        let own = depth(kind, Profile::Debug, |_| ());
        assert!(own < 1280, "{own}");
        let without = depth(kind, Profile::Debug, without_own_stack);
        assert!(without > 4096, "{without}");
    }
}

#[long]
fn a_report_fits_small_stacks_where_nothing_is_optimized() {
    for kind in [HANDLERS, VECTORS] {
        let own = depth(kind, Profile::Debug, |folder| {
            replace(&folder.join("Cargo.toml"), "opt-level = 1", "opt-level = 0");
        });
        assert!(own < 3584, "{own}");
    }
}

/// An exception in the report from which the kernel goes on; a stack pointer that has gone astray to where the report runs, which the
/// first report shows; and then a failure in the report.
#[long]
fn a_report_on_a_stack_of_its_own_is_not_written_twice() {
    let shop = "
        use core::fmt::{Display, Formatter, Result};
        use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static OWN: AtomicU64 = AtomicU64::new(0);
        struct Interrupted;
        impl Display for Interrupted {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                // SAFETY: its handler returns.
                unsafe { core::arch::asm!(\"STOP\") };
                OWN.store(postmortem::capture().sp, Relaxed);
                f.write_str(\"interrupted\")
            }
        }
        struct Broken;
        impl Display for Broken {
            fn fmt(&self, _: &mut Formatter<'_>) -> Result { panic!(\"cannot be shown\") }
        }
        #[inline(never)]
        pub fn serve(_: u64) {
            let mut registers = postmortem::capture();
            postmortem::print(&mut crate::serial::Serial, &Interrupted);
            registers.sp = OWN.load(Relaxed) & !0xf;
            postmortem::print_from(&mut crate::serial::Serial, &\"astray\", registers);
            if core::hint::black_box(true) { panic!(\"before and {}\", Broken) }
        }
    ";
    for (kind, stop, during) in [
        (HANDLERS, "int3", "breakpoint"),
        (VECTORS, "brk #7", "exception"),
    ] {
        let said = kind.with(Profile::Debug, |folder| {
            short::write_shop(folder, &shop.replace("STOP", stop));
        });
        let text = &said.text;
        // After the line of the report, the handler writes its own one.
        let line = format!("\nduring the report: {during}\n");
        let (_, rest) = text.split_once(&line).expect(text);
        assert_eq!(rest.lines().nth(1), Some("interrupted"), "{text}");
        let trace = match kind.arch {
            Arch::X86_64 => "p corner_shop::shop::serve\nr main\nr long_mode",
            Arch::Aarch64 => "p corner_shop::shop::serve\nr~ main\nr with_mmu",
        };
        said.expect("interrupted\n", trace, "complete, ");
        let end = "incomplete: the stack word at ";
        said.expect("astray\n", "p corner_shop::shop::serve", end);
        let (_, last) = text
            .split_once("before and during the report: ")
            .expect(text);
        assert!(last.ends_with("\ncannot be shown\n"), "{text}");
    }
}

/// A writer that uses its stack nearly to the end, in the second of three reports.
#[long]
fn a_report_says_that_it_has_used_its_stack_up() {
    let shop = "
        use core::fmt::{Display, Formatter, Result, Write};
        use core::hint::black_box;
        use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static START: AtomicU64 = AtomicU64::new(0);
        struct Notes;
        impl Display for Notes {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                // The stack ends at a page, less than a page above.
                START.store((postmortem::capture().sp | 0xfff) + 1 - 0x8000, Relaxed);
                f.write_str(\"frugal\")
            }
        }
        struct Greedy;
        impl Write for Greedy {
            fn write_str(&mut self, text: &str) -> Result {
                deep(START.load(Relaxed) + 512);
                crate::serial::Serial.write_str(text)
            }
        }
        #[inline(never)]
        fn deep(least: u64) {
            let words = black_box([1_u8; 128]);
            if postmortem::capture().sp > least { deep(least) }
            black_box(words);
        }
        #[inline(never)]
        pub fn serve(_: u64) {
            postmortem::print(&mut crate::serial::Serial, &Notes);
            crate::println!(\"second\");
            postmortem::print(&mut Greedy, &\"greedy\");
            if black_box(true) { panic!(\"third\") }
        }
    ";
    for kind in [HANDLERS, VECTORS] {
        let said = kind.with(Profile::Debug, |folder| short::write_shop(folder, shop));
        let text = &said.text;
        let line = "\nthe report used all 32 KiB of its stack and may have overwritten kernel data: use less stack in the function that prints the report's text\n";
        let (first, others) = text.split_once("second\n").expect(text);
        assert!(!first.contains(line), "{text}");
        assert!(others.contains(line), "{text}");
        let complete = text.matches("end of backtrace: complete, ").count();
        assert_eq!(complete, 3, "{text}");
    }
}
