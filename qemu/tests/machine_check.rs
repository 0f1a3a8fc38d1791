//! An error of the hardware, which QEMU's monitor can make up on x86_64. (On AArch64 QEMU's `virt` raises an SError only by
//! KVM, or by a hypervisor below the kernel.)

mod support;

use std::process::Command;
use std::time::Duration;

use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot, GdbStub, Verdict};
use qemu::setup;
use support::built;
use support::report::Report;

#[test]
fn a_machine_check_is_reported_by_its_cpu_from_a_stack_of_its_own() {
    let kernel = Kernel {
        arch: Arch::X86_64,
        profile: Profile::Debug,
    };
    let image = built::image(kernel);
    let emulator = built::emulator(kernel.arch);
    let gdb = setup::program("gdb-multiarch", "gdb-multiarch", &built::target())
        .expect("gdb is to be had");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let socket = folder.path().join("gdb");
    let stub = GdbStub::Socket(socket.clone());
    let boot = Boot {
        cpus: 2,
        limit: Some(Duration::from_secs(120)),
        gdb: Some(stub.clone()),
        ..Boot::new(kernel.arch, &image, "busy 4000000000")
    };
    let booted = std::thread::scope(|scope| {
        let machine = scope.spawn(|| boot.run(&emulator, &mut std::io::sink()));
        let mut looks = 0;
        while !socket.exists() {
            looks += 1;
            assert!(looks < 1000, "QEMU opens no socket for gdb");
            std::thread::sleep(Duration::from_millis(20));
        }
        // CPU 1, bank 9: valid, uncorrected, enabled, with an address, context corrupt.
        let check = "monitor mce 1 9 0xb600000000000134 0x5 0x1234000 0";
        let target = format!("target remote {stub}");
        let commands = [
            &target,
            // Where CPU 1 comes to it: as long as it is idle nobody asks what it does.
            "break kernel::scenario::busy::collatz thread 2",
            "continue",
            "delete",
            check,
            "continue",
        ];
        let output = Command::new(gdb)
            .args(["-nx", "-batch", "-ex", "set pagination off"])
            .args(commands.iter().flat_map(|command| ["-ex", command]))
            .arg(&image)
            .output()
            .expect("gdb starts");
        let booted = machine.join().expect("no panic here").expect("QEMU runs");
        (booted, String::from_utf8_lossy(&output.stderr).into_owned())
    });
    let (booted, gdb) = booted;
    assert_eq!(
        booted.verdict,
        Verdict::Panicked,
        "gdb said: {gdb}\n{}",
        String::from_utf8_lossy(&booted.serial)
    );

    let reports = Report::find_all(&booted.serial);
    assert_eq!(
        reports.len(),
        2,
        "{}",
        String::from_utf8_lossy(&booted.serial)
    );
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
