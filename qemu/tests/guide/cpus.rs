//! Kernels with several CPUs: a report that ends one has the callers of all.

use std::path::Path;

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;

use crate::short::{Built, Said, alone, overlaid};
use crate::steps;
use crate::support::runner::run;
use crate::text::{guide, part};

/// The heading of its part of the guide.
const HEADING: &str = "\n## Other CPUs\n";
/// How many lines change, behind those of the kernel with handlers.
const LINES: usize = 5;

/// The kernel after the changes of the guide for one CPU, and `change`.
fn boot(profile: Profile, change: impl FnOnce(&Path)) -> Said {
    let built = {
        let _alone = alone();
        let kernel = overlaid(&["kernel", "handlers", "cpus"]);
        steps::apply(
            part(
                &guide(),
                "\n## Handlers of the convention `x86-interrupt`\n",
            ),
            kernel.folder(),
        );
        kernel.name_repository("Cargo.toml");
        change(kernel.folder());
        Built::keep(&kernel.build(Arch::X86_64, "guide", profile, "corner-shop"))
    };
    let kernel = Kernel {
        arch: Arch::X86_64,
        profile,
    };
    Said::of(kernel, built, |image| {
        run([
            "--cpus".as_ref(),
            "4".as_ref(),
            "--image".as_ref(),
            image.as_os_str(),
        ])
    })
}

#[test]
fn the_kernel_has_others() {
    let said = boot(Profile::Debug, |_| ());
    println!("{}", said.text);
}

#[test]
fn a_report_has_all_cpus() {
    let said = boot(Profile::Debug, |folder| {
        let lines = steps::apply(part(&guide(), HEADING), folder);
        assert_eq!(lines, LINES);
    });
    println!("{}", said.text);
}
