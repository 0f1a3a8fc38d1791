//! Kernels that a boot loader starts, each with what the guide changes in it: what they say of a breakpoint, from which they go on,
//! of a panic, of a page fault, and of a failure in a handler.

use qemu::build::Profile;
use qemu::machine::Arch;

use super::bootimage::BOOTIMAGE;
use super::limine::LIMINE;
use super::makefile::MAKEFILE;
use super::raspi::RASPI;
use super::reports::{COMPLETE, expect_stop, stop_in};
use super::short::{HANDLERS, HIGHER, Kind, VECTORS};
use super::text::{part, shown, without_numbers};
use super::uefi::UEFI;
use super::{raspi, short};

/// Fails unless this place in the guide shows this report, which begins with this line. The kernel's own words may follow it.
#[track_caller]
pub fn expect_shown(text: &str, begin: &str, place: &str) {
    let report = &text[text.find(begin).expect("a report")..];
    let shown = shown(&part(place));
    let up_to_end = |text: String| {
        let end = text.rfind("\nend of backtrace").expect("a list's end") + 1;
        let length = text[end..].find('\n').unwrap_or(text.len() - end);
        text[..end + length].to_owned()
    };
    let [bare, shown] = [without_numbers(report), shown].map(up_to_end);
    assert_eq!(bare, shown, "{place}: {report}");
}

/// Checks a kernel that a boot loader starts, before and after the changes of the guide. Its handlers, of the convention `x86-interrupt`,
/// are in the module `handlers`, and `callers` call its shop.
fn expect_loaded(kind: Kind, handlers: &str, callers: &str) {
    let before = kind.says_without();
    assert!(before.contains("\npage fault at "), "{before}");
    assert!(!before.contains("backtrace"), "{before}");

    let said = kind.with(Profile::Debug, |_| ());
    expect_shown(&said.text, "page fault\nx86_64", kind.page);

    for profile in [Profile::Debug, Profile::Release] {
        let said = kind.with_shop(profile, &stop_in(Arch::X86_64));
        let handler = format!("p corner_shop::{handlers}::breakpoint\n-- interrupted");
        let trace = format!("{handler}\np corner_shop::shop::stop\n{callers}");
        said.expect("breakpoint\nx86_64", &trace, COMPLETE);
        let trace = format!("= panic\nr corner_shop::shop::sell\n{callers}");
        said.expect("panicked at src/shop.rs:", &trace, COMPLETE);
        assert!(said.text.contains("\nwent on\n"), "{}", said.text);
    }

    // The handler of double faults panics, on a stack of its own.
    let said = kind.with_shop(Profile::Debug, DOUBLE_FAULT);
    let handler = format!("r corner_shop::{handlers}::double_fault\n-- interrupted");
    let trace = format!("= panic\n{handler}\n{}", callers.replacen("r ", "p ", 1));
    said.expect("panicked at ", &trace, COMPLETE);
}

/// What calls the shop in kernels of the crate `bootloader`.
const BOOTLOADER: &str = "r corner_shop::shop::serve\nr corner_shop::kernel_main\nr _start";

/// An exception that has no handler.
const DOUBLE_FAULT: &str = "
    #[inline(never)]
    pub fn serve(_: u64) {
        // SAFETY: nobody returns from there.
        unsafe { core::arch::asm!(\"ud2\") };
        crate::println!(\"nobody comes here\");
    }
";

#[long]
fn a_disk_of_the_crate_bootloader() {
    expect_loaded(BOOTIMAGE, "interrupts", BOOTLOADER);
}

/// The handler's own `println!` would wait for the lock for ever. The kernel ends there instead.
#[long]
fn a_fault_while_println_has_its_lock_is_reported() {
    let said = BOOTIMAGE.with(Profile::Debug, |folder| {
        let own = "    println!(\"page fault at";
        let held = "    if crate::serial::LINE.is_locked() { exit() }\n";
        let handlers = folder.join("src/interrupts.rs");
        short::replace(&handlers, own, &format!("{held}{own}"));
        short::write_shop(folder, FAULT_IN_PRINTLN);
    });
    let begin = said.text.find("page fault\nx86_64").expect("a report");
    let report = &said.text[begin..];
    assert!(
        report.contains(" r <corner_shop::shop::Price as core::fmt::Display>::fmt"),
        "{report}"
    );
    assert!(report.contains(" r corner_shop::kernel_main"), "{report}");
    assert!(!report.contains("page fault at "), "{report}");
}

/// A text that cannot be printed.
const FAULT_IN_PRINTLN: &str = "
    struct Price;
    impl core::fmt::Display for Price {
        #[inline(never)]
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            // SAFETY: nobody returns from there.
            let price = unsafe { (0x70_0000_0000_u64 as *const u64).read_volatile() };
            price.fmt(f)
        }
    }
    pub fn serve(_: u64) {
        crate::println!(\"that is {Price}\");
    }
";

#[long]
fn a_disk_for_uefi_firmware() {
    expect_loaded(UEFI, "interrupts", BOOTLOADER);
}

#[long]
fn a_kernel_by_the_protocol_of_limine() {
    let callers = "r corner_shop::shop::serve\nr kmain";
    expect_loaded(LIMINE, "exceptions", callers);
}

#[long]
fn a_makefile_with_rustflags_and_an_iso() {
    let before = MAKEFILE.says_without();
    assert!(before.contains("\npanicked at "), "{before}");
    assert!(!before.contains("backtrace"), "{before}");

    let said = MAKEFILE.with(Profile::Debug, |_| ());
    expect_shown(&said.text, "panicked at ", MAKEFILE.page);

    let said = MAKEFILE.with_shop(Profile::Debug, STOP_AND_FAULT);
    let callers = "r corner_shop::shop::serve\nr~ main\nr long_mode";
    let entry = |name| format!("r corner_shop::exceptions::{name}_entry\n-- interrupted");
    let handler = format!(
        "p corner_shop::exceptions::breakpoint\n{}",
        entry("breakpoint")
    );
    let trace = format!("{handler}\np corner_shop::shop::stop\n{callers}");
    said.expect("breakpoint\nx86_64", &trace, COMPLETE);
    let handler = format!(
        "= panic\nr corner_shop::exceptions::page_fault\n{}",
        entry("page_fault")
    );
    let trace = format!("{handler}\np corner_shop::shop::sell\n{callers}");
    said.expect("panicked at src/exceptions.rs:", &trace, COMPLETE);
    assert!(said.text.contains("\nwent on\n"), "{}", said.text);
}

/// Where gdb knows all callers: without an exception between them, as the call frame information of interrupt handlers is wrong, and
/// vectors have none.
#[long]
fn gdb_sees_the_same_callers_of_a_panic() {
    let panic = "
        #[inline(never)]
        pub fn serve(customers: u64) {
            sell(core::hint::black_box(customers));
            crate::println!(\"nobody comes here\");
        }
        #[inline(never)]
        fn sell(customers: u64) { assert!(customers == 0, \"sold out\"); }
    ";
    for kind in [
        HANDLERS, HIGHER, VECTORS, BOOTIMAGE, UEFI, LIMINE, MAKEFILE, RASPI,
    ] {
        let said = kind.with_shop(Profile::Debug, panic);
        said.expect_gdb_to_agree("panicked at src/shop.rs:");
    }
}

/// A breakpoint, and then a page fault, whose handler panics.
const STOP_AND_FAULT: &str = "
    #[inline(never)]
    pub fn serve(_: u64) {
        stop();
        crate::println!(\"went on\");
        crate::println!(\"nobody sees {}\", sell());
    }
    #[inline(never)]
    fn stop() {
        // SAFETY: its handler returns.
        unsafe { core::arch::asm!(\"int3\") };
    }
    #[inline(never)]
    fn sell() -> u64 {
        // SAFETY: none, and nobody returns from this.
        unsafe { (0x70_0000_0000 as *const u64).read_volatile() }
    }
";

#[long]
fn a_raspberry_pi() {
    let before = RASPI.says_without();
    assert!(before.contains("\nexception, ESR_EL1 0x"), "{before}");
    assert!(!before.contains("backtrace"), "{before}");

    let said = RASPI.with(Profile::Debug, |_| ());
    expect_shown(&said.text, "exception\naarch64", RASPI.page);

    let said = RASPI.with_shop(Profile::Debug, &stop_in(Arch::Aarch64));
    expect_stop(&said, Arch::Aarch64, COMPLETE);

    // Where the function that was interrupted has saved its return address: vectors do not tell x30.
    let said = RASPI.with(Profile::Debug, |folder| {
        raspi::panic_at_breakpoints(folder);
        short::write_shop(folder, STOP_IN_THE_MIDDLE);
    });
    let trace = "
        = panic
        r exception
        r save
        -- interrupted
        p corner_shop::shop::sell
        r corner_shop::shop::serve
        r~ main
        r with_mmu
    ";
    said.expect("panicked at src/exceptions.rs:", trace, COMPLETE);
}

/// A breakpoint in a function that calls others.
const STOP_IN_THE_MIDDLE: &str = "
    #[inline(never)]
    pub fn serve(customers: u64) {
        sell(customers);
        crate::println!(\"nobody comes here\");
    }
    #[inline(never)]
    fn sell(customers: u64) {
        crate::println!(\"customer {customers}\");
        // SAFETY: nobody returns from it.
        unsafe { core::arch::asm!(\"brk #7\") };
        crate::println!(\"nobody comes here\");
    }
";
