//! An error of the hardware: on x86_64 a machine check, which QEMU's monitor can make up; on AArch64 an SError, which a
//! hypervisor below the kernel can.

use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::{built, gdb};
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot, Verdict};

kernel_tests! { aarch64:
    an_serror_is_reported_where_it_came,
}

#[test]
fn a_machine_check_is_reported_by_its_cpu_from_a_stack_of_its_own() {
    let kernel = Kernel {
        arch: Arch::X86_64,
        profile: Profile::Debug,
    };
    let image = built::image(kernel);
    let boot = Boot {
        cpus: 2,
        ..Boot::new(kernel.arch, &image, "busy 4000000000")
    };
    let serial = boot_with_gdb(
        boot,
        [
            // Where CPU 1 comes to it: as long as it is idle nobody asks what it does.
            "break kernel::scenario::busy::collatz thread 2",
            "continue",
            "delete",
            // CPU 1, bank 9: valid, uncorrected, enabled, with an address, context corrupt.
            "monitor mce 1 9 0xb600000000000134 0x5 0x1234000 0",
            "continue",
        ],
    );

    let reports = Report::find_all(&serial);
    assert_eq!(reports.len(), 2, "{}", String::from_utf8_lossy(&serial));
    let (first, other) = (&reports[0], &reports[1]);
    assert!(
        first.panicked.starts_with("fault on cpu 1 at "),
        "{}",
        first.panicked
    );
    let words = "machine check: bank 9, error 0x0134 at physical address 0x1234000, CONTEXT_CORRUPT, ENABLED, UNCORRECTED";
    assert!(first.panicked.ends_with(words), "{}", first.panicked);
    assert!(
        other.panicked.starts_with("cpu 0, task "),
        "{}",
        other.panicked
    );
    first.expect_complete();
    other.expect_complete();
    for report in [first, other] {
        let names = report.names();
        assert!(
            names
                .iter()
                .any(|name| name.starts_with("kernel::scenario::busy::")),
            "{names:?}"
        );
    }
}

/// Where the hypervisor lies: RAM that the kernel does not use, and aligned as a table of vectors has to be.
const HYPERVISOR: u64 = 0x47ff_0000;

/// From its start to where it is entered, with the kernel's entry in x10.
const ENTRY: u64 = 0x800;

/// From its start to the vector of synchronous exceptions of the kernel.
const VECTOR: u64 = 0x400;

/// The kernel's breakpoints come here from now on; on to the kernel, EL1.
const ENTER: [u32; 13] = [
    0xd2b0_0009, // mov x9, #0x80000000       HCR_EL2.RW
    0xb27b_0129, // orr x9, x9, #0x20         AMO
    0xd51c_1109, // msr hcr_el2, x9
    0xd280_0069, // mov x9, #3                CNTHCTL_EL2.EL1PCEN, EL1PCTEN
    0xd51c_e109, // msr cnthctl_el2, x9
    0xd280_2009, // mov x9, #0x100            MDCR_EL2.TDE
    0xd51c_1129, // msr mdcr_el2, x9
    0x10ff_bf29, // adr x9, . - 0x81c         the vectors
    0xd51c_c009, // msr vbar_el2, x9
    0xd280_78a9, // mov x9, #0x3c5            EL1h, all masked
    0xd51c_4009, // msr spsr_el2, x9
    0xd51c_402a, // msr elr_el2, x10
    0xd69f_03e0, // eret
];

/// A breakpoint: an SError is pending from now on, and breakpoints are the kernel's again. Back to it.
const RAISE: [u32; 7] = [
    0xd51c_d040, // msr tpidr_el2, x0
    0xd53c_1100, // mrs x0, hcr_el2
    0xb278_0000, // orr x0, x0, #0x100        HCR_EL2.VSE
    0xd51c_1100, // msr hcr_el2, x0
    0xd51c_113f, // msr mdcr_el2, xzr
    0xd53c_d040, // mrs x0, tpidr_el2
    0xd69f_03e0, // eret
];

fn an_serror_is_reported_where_it_came(kernel: Kernel) {
    let image = built::image(kernel);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut commands = Vec::new();
    for (name, code, at) in [("enter", &ENTER[..], ENTRY), ("raise", &RAISE, VECTOR)] {
        let file = folder.path().join(name);
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&file, bytes).expect("a file can be written");
        commands.push(format!(
            "restore {} binary {:#x}",
            file.display(),
            HYPERVISOR + at
        ));
    }
    commands.push("set $x10 = $pc".to_owned());
    commands.push(format!("set $pc = {:#x}", HYPERVISOR + ENTRY));
    commands.push("continue".to_owned());
    let boot = Boot {
        more: &["-machine", "virtualization=on"],
        ..Boot::new(kernel.arch, &image, "breakpoint")
    };
    let report = Report::find(&boot_with_gdb(boot, commands));
    assert!(
        report.panicked.starts_with("fault on cpu 0 at ")
            && report.panicked.ends_with(": SError, syndrome 0xbe000000"),
        "{}",
        report.panicked
    );
    report.expect_complete();
    assert!(report.text.contains("<d4200000>"), "at the breakpoint");
    let names = report.names();
    assert_eq!(
        names.first().map(|name| &**name),
        Some("kernel::scenario::instructions::breakpoint"),
        "{names:?}"
    );
}

/// Boots, has gdb do something, and returns what came over the serial line up to a report's end.
#[track_caller]
fn boot_with_gdb<C: AsRef<str>>(boot: Boot<'_>, commands: impl IntoIterator<Item = C>) -> Vec<u8> {
    let session = gdb::session(boot, commands);
    assert_eq!(session.booted.verdict, Verdict::Panicked, "{session:?}");
    session.booted.serial
}
