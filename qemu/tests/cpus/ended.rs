//! One CPU ends the machine, and what the others do until then does not change its verdict.

use object::File;
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot, Verdict};

use crate::support::built::image;
use crate::support::{gdb, symbols};

/// Ends the machine with a verdict: 0 is success.
const LEAVE: &str = "kernel::arch::aarch64::exit::leave";

/// Both CPUs run code. CPU 0 goes on in the function that ends the machine, up to the instruction that does. Then CPU 1 alone runs this
/// function, with 1 as its argument, up to the other one; then both go on.
#[track_caller]
fn expect_verdict_of_cpu_0(runs: &str, up_to: &str) {
    let kernel = Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Debug,
    };
    let image = image(kernel);
    let data = std::fs::read(&image).expect("the image can be read");
    let file = File::parse(&*data).expect("the image is ELF");
    let go_to = |name| format!("set $pc = {:#x}", symbols::function(&file, name));
    let commands = [
        "break kernel::scenario::cpus::say if $_thread == 2",
        "continue",
        "delete",
        "set scheduler-locking on",
        "thread 1",
        &go_to(LEAVE),
        "set $x0 = 0",
        "break kernel::arch::aarch64::exit::semihosting_exit",
        "continue",
        "delete",
        "thread 2",
        &go_to(runs),
        "set $x0 = 1",
        &format!("break {up_to}"),
        "continue",
        "delete",
        "set scheduler-locking off",
        "continue",
    ];
    let boot = Boot {
        cpus: 2,
        ..Boot::new(kernel.arch, &image, "cpus")
    };
    let session = gdb::session(boot, commands);
    session.expect_stop();
    let said = &session.said;
    for hit in ["Thread 1 hit Breakpoint 2, ", "Thread 2 hit Breakpoint 3, "] {
        assert!(said.contains(hit), "{said}\n{}", session.complained);
    }
    assert_eq!(session.booted.verdict, Verdict::Success, "{said}");
}

#[test]
fn an_exception_of_another_cpu_does_not_end_the_machine() {
    expect_verdict_of_cpu_0(
        "kernel::scenario::busy::exception",
        "kernel::breakpoint::hit",
    );
}

#[test]
fn the_first_cpu_that_ends_the_machine_has_the_verdict() {
    expect_verdict_of_cpu_0(LEAVE, "kernel::arch::aarch64::cpu::halt");
}
