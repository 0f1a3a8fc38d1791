//! A kernel with signed return addresses, on a CPU that signs them: the same reports as of the kernel without, through traps and
//! of tasks that do not run.

use std::time::Duration;

use crate::support::boots::{boot, boot_machine};
use crate::support::built::image;
use crate::support::gdb;
use crate::support::report::Report;
use object::{Object, ObjectSymbol};
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot, Verdict};

/// The kernel with signed return addresses.
const SIGNED: Kernel = Kernel {
    arch: Arch::Aarch64,
    profile: Profile::Signed,
};

/// The same without.
const UNSIGNED: Kernel = Kernel {
    arch: Arch::Aarch64,
    profile: Profile::Release,
};

/// Scenarios, and the exit status of each.
const SCENARIOS: [(&str, i32); 6] = [
    ("panic", 101),
    ("exception-in-handler", 101),
    ("interrupt-in-interrupt", 101),
    ("stack-overflow", 101),
    ("null-read", 101),
    ("tasks", 0),
];

fn reports(kernel: Kernel, scenario: &str, status: i32) -> Vec<Report> {
    Report::find_all(&boot(kernel, scenario).expect(status).serial)
}

/// The functions of a report with those that are inlined or made a tail call, because the two kernels inline different ones.
fn functions(report: &Report) -> Vec<&str> {
    let mut functions = Vec::new();
    for frame in &report.frames {
        functions.extend(frame.sources.iter().map(|source| source.name.as_str()));
        functions.extend(frame.tail_called_by.as_deref());
    }
    functions
}

#[long]
fn reports_name_the_same_functions() {
    for (scenario, status) in SCENARIOS {
        let signed = reports(SIGNED, scenario, status);
        let unsigned = reports(UNSIGNED, scenario, status);
        assert!(!signed.is_empty(), "{scenario}: no report");
        assert_eq!(signed.len(), unsigned.len(), "{scenario}: reports");
        for (signed, unsigned) in signed.iter().zip(&unsigned) {
            assert_eq!(functions(signed), functions(unsigned), "{scenario}");
            let is_complete = signed.end.starts_with("end of backtrace: complete, ");
            assert!(is_complete, "{scenario}:\n{}", signed.text);
        }
    }
}

/// Begun at EL2, the kernel has to let itself sign.
#[long]
fn a_kernel_that_begins_at_el2_signs_too() {
    let image = image(SIGNED);
    let boot = Boot {
        limit: Some(Duration::from_secs(120)),
        more: &["-machine", "virtualization=on"],
        ..Boot::new(Arch::Aarch64, &image, "panic")
    };
    let booted = boot_machine(&boot);
    assert_eq!(booted.verdict, Verdict::Panicked);
    Report::find(&booted.serial).expect_complete();
}

/// What the reports above are worth: the code signs, and the CPU does.
#[long]
fn return_addresses_are_signed() {
    for (kernel, is_signed) in [(SIGNED, true), (UNSIGNED, false)] {
        let image = image(kernel);
        let data = std::fs::read(&image).expect("the image can be read");
        let file = object::File::parse(&*data).expect("the image is ELF");
        let function = file.symbols().find(|symbol| {
            let name = rustc_demangle::demangle(symbol.name().unwrap_or_default());
            format!("{name:#}").ends_with("::walk::Walk>::new")
        });
        let entry = function.expect("a report makes a walk").address();
        // At its entry a function has the address behind its call; its first instruction signs it.
        let session = gdb::session(
            Boot::new(Arch::Aarch64, &image, "panic"),
            [
                "set language c",
                &format!("break *{entry:#x}"),
                "continue",
                "printf \"before 0x%lx\\n\", $x30",
                "stepi",
                "printf \"after 0x%lx\\n\", $x30",
                "kill",
            ],
        );
        session.expect_stop();
        let word = |name: &str| {
            let said = session
                .said
                .lines()
                .find_map(|line| line.strip_prefix(name));
            let digits = said.expect("a register").trim_start_matches("0x");
            u64::from_str_radix(digits, 16).expect("a number")
        };
        let (before, after) = (word("before "), word("after "));
        assert_eq!(before >> 48, 0xffff, "an address of the upper half");
        assert_eq!(before != after, is_signed, "{before:#x}, {after:#x}");
    }
}
