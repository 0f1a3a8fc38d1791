//! The runner's exit status for all that a machine can do, with images of a few instructions.

mod support;

use qemu::machine::Arch;
use support::runner::{Ran, run};
use support::tiny::{self, Act};

/// Boots an image that does these things.
fn boot(arch: Arch, acts: &[Act], more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = tiny::image(folder.path(), arch, acts);
    let image = image.to_str().expect("a path in UTF-8");
    run([&["--image", image], more].concat())
}

#[test]
fn success_is_33() {
    for arch in Arch::ALL {
        boot(arch, &[Act::Exit(33)], &[])
            .expect(0)
            .expect_words("succeeded");
    }
}

#[test]
fn a_panic_is_101() {
    for arch in Arch::ALL {
        boot(arch, &[Act::Exit(101)], &[])
            .expect(101)
            .expect_words("panicked");
    }
}

#[test]
fn another_status_is_a_failed_machine() {
    for arch in Arch::ALL {
        boot(arch, &[Act::Exit(35)], &[])
            .expect(1)
            .expect_words("status 35, which is no verdict");
    }
}

#[test]
fn a_hanging_image_runs_out_of_time() {
    for arch in Arch::ALL {
        let ran = boot(arch, &[Act::Print(b"here"), Act::Hang], &["--timeout", "5"]).expect(124);
        assert_eq!(ran.text(), "here", "what came before the hang is shown");
        ran.expect_words("time ran out after 5 s");
    }
}

#[test]
fn a_triple_fault_is_a_failed_machine() {
    boot(Arch::X86_64, &[Act::Reset], &[])
        .expect(1)
        .expect_words("triple fault");
}

#[test]
fn switching_off_by_psci_is_success() {
    boot(Arch::Aarch64, &[Act::SwitchOff], &[])
        .expect(0)
        .expect_words("succeeded");
}

/// No byte is changed, added or lost, also when the machine ends right after the last.
#[test]
fn serial_bytes_are_untouched() {
    let every_byte: Vec<u8> = (0..=255).cycle().take(3000).collect();
    for arch in Arch::ALL {
        let ran = boot(arch, &[Act::Print(&every_byte), Act::Exit(33)], &[]).expect(0);
        assert_eq!(ran.serial, every_byte, "on {arch}");
    }
}
