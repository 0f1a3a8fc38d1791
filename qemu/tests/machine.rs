//! The runner's exit status for all that a machine can do, with images of a few instructions.

use crate::support::event;
use crate::support::runner::{Ran, command, run, until_time_runs_out};
use crate::support::tiny::{self, Act};
use qemu::machine::Arch;

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
            .expect_words("status 35: expected 33 for success");
    }
}

#[test]
fn a_hanging_image_on_x86_64_runs_out_of_time() {
    hang(Arch::X86_64);
}

#[test]
fn a_hanging_image_on_aarch64_runs_out_of_time() {
    hang(Arch::Aarch64);
}

fn hang(arch: Arch) {
    let acts = [Act::Print(b"here"), Act::Hang];
    // What came before the hang is shown.
    until_time_runs_out(
        |seconds| boot(arch, &acts, &["--timeout", seconds]),
        |ran| ran.text() == "here",
    );
}

#[test]
fn a_busy_image_runs_out_of_its_own_time() {
    for arch in Arch::ALL {
        let limits = ["--guest-timeout", "1", "--timeout", "50"];
        let ran = boot(arch, &[Act::Print(b"here"), Act::Spin], &limits).expect(124);
        assert_eq!(ran.text(), "here", "what came before is shown");
        ran.expect_words("the machine's own clock reached the time limit");
        // And nobody runs out of time before.
        let limits = ["--guest-timeout", "1000"];
        boot(arch, &[Act::Exit(33)], &limits).expect(0);
    }
}

#[test]
fn a_triple_fault_is_a_failed_machine() {
    boot(Arch::X86_64, &[Act::Reset], &[])
        .expect(1)
        .expect_words("triple fault");
}

#[test]
fn a_reset_by_psci_is_a_failed_machine() {
    boot(Arch::Aarch64, &[Act::Reset], &[])
        .expect(1)
        .expect_words("the machine reset itself without reporting success or a panic");
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

/// Whatever ends the runner, it leaves no machine behind that keeps a CPU busy.
#[cfg(target_os = "linux")]
#[test]
fn the_machine_ends_with_the_runner() {
    use rustix::process::Signal;

    for signal in [Signal::KILL, Signal::TERM, Signal::INT] {
        expect_nothing_left(signal);
    }
}

#[cfg(target_os = "linux")]
fn expect_nothing_left(signal: rustix::process::Signal) {
    use std::io::Read;
    use std::process::Stdio;

    use rustix::process::{Pid, kill_process};

    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = tiny::image(folder.path(), Arch::X86_64, &[Act::Print(b"!"), Act::Hang]);
    let mut runner = command()
        .arg("--image")
        .arg(&image)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let mut first = [0];
    let mut serial_line = runner.stdout.take().expect("a pipe");
    serial_line
        .read_exact(&mut first)
        .expect("the machine runs");
    assert!(runs_with(&image), "the machine runs");

    kill_process(Pid::from_child(&runner), signal).expect("the runner is there");
    runner.wait().expect("the runner has ended");
    // QEMU has inherited this pipe, which ends when no process has it.
    let mut words = runner.stderr.take().expect("a pipe");
    let end = move || words.read_to_end(&mut Vec::new()).expect("it can be read");
    event::wait(&format!("the machine still runs after {signal:?}"), end);
    assert!(
        !runs_with(&image),
        "the machine still runs after {signal:?}"
    );
}

/// Whether a process of QEMU's has this file among its arguments.
#[cfg(target_os = "linux")]
fn runs_with(image: &std::path::Path) -> bool {
    let image = image.to_str().expect("a path in UTF-8");
    let processes = std::fs::read_dir("/proc").expect("there is /proc");
    processes.filter_map(Result::ok).any(|process| {
        let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments);
        arguments.contains("qemu-system-") && arguments.contains(image)
    })
}
