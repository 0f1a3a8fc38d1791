//! Kernels whose `core` is not the toolchain's: one that the set-up builds where there is no rustup, and one that is not optimized.

use std::path::Path;

use crate::support::boots::boot_image;
use crate::support::built::{image, target};
use crate::support::expected::{HEAP_PANIC, deep, panic};
use crate::support::report::Report;
use crate::support::trace;
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Processor};

fn expect(image: &Path, kernel: Kernel, scenario: &str, trace: &str) {
    let ran = boot_image(image, scenario).expect(101);
    let report = Report::find(&ran.serial);
    let whole = format!("{trace}\n= entry");
    trace::expect_in(image, kernel, &report, &whole, "complete, ");
}

#[test]
fn kernels_with_a_core_that_the_set_up_builds_report_a_panic() {
    for arch in Arch::ALL {
        let profile = Profile::Release;
        let kernel = Kernel { arch, profile };
        let image = kernel.build_with_own_core(&target());
        expect(&image.expect("it is built"), kernel, "panic", &panic());
    }
}

/// Rustup has no `core` for this target at all.
#[test]
fn a_kernel_of_thumb_code_with_a_core_that_the_set_up_builds_reports_a_panic() {
    let arch = Processor::Armv7a;
    let profile = Profile::ThumbRelease;
    let image = image(Kernel { arch, profile });
    let ran = boot_image(&image, "panic").expect(101);
    let end = Report::find(&ran.serial).end;
    assert!(end.contains(": complete, "), "{end}");
}

#[test]
fn kernels_with_a_core_that_is_not_optimized_report_panics() {
    for arch in Arch::ALL {
        let profile = Profile::Unoptimized;
        let kernel = Kernel { arch, profile };
        let image = image(kernel);
        expect(&image, kernel, "panic", &panic());
        expect(&image, kernel, "heap-panic", HEAP_PANIC);
        expect(&image, kernel, "deep", &deep());
    }
}
