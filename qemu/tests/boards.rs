//! Other boards than the first of an architecture: the very image that `virt` boots, made flat, on a Raspberry Pi 3. And a PC whose
//! boot loader names what is no memory.

use std::time::Duration;

use crate::support::at_entry;
use crate::support::boots::{Request, boot_machine};
use crate::support::built::{emulator, image};
use crate::support::each::kernel_tests;
use crate::support::expected;
use crate::support::report::Report;
use crate::support::runner::{command, run};
use crate::support::session::Session;
use crate::support::trace;
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Board, Boot, Verdict};
use qemu::raspi::Console;

kernel_tests! { aarch64:
    a_panic_is_the_same_report_on_raspi3b_as_on_virt,
}

const KERNELS: [Kernel; 2] = [
    Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Debug,
    },
    Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Release,
    },
];

#[track_caller]
fn panic_on(board: Board, kernel: Kernel) -> Report {
    let request = Request::of(&image(kernel), "panic").on(board);
    Report::find(&request.judged().expect(0).serial)
}

fn a_panic_is_the_same_report_on_raspi3b_as_on_virt(kernel: Kernel) {
    let [virt, raspi] = [Board::Virt, Board::Raspi3b].map(|board| panic_on(board, kernel));
    raspi.expect_complete();
    trace::expect(kernel, &raspi, &expected::panic(), "complete, ");
    // One image, at the same addresses.
    assert_eq!(virt.panicked, raspi.panicked);
    assert_eq!(virt.frames, raspi.frames);
    assert!(raspi.text.contains("kernel on raspi3, "), "{}", raspi.text);
}

/// `cargo run -- --board raspi3b SCENARIO…`, which judges each.
#[test]
fn what_a_kernel_dies_of_is_reported_on_raspi3b() {
    let scenarios = [
        "heap-panic",
        "deep",
        "null-read",
        "write-to-code",
        "undefined",
        "leaf",
        "exception-in-handler",
        "double-fault",
        "early-panic",
        "ok",
    ];
    let ran = run(["--board", "raspi3b"].into_iter().chain(scenarios)).expect(0);
    assert_eq!(
        ran.text().matches("kernel on raspi3, aarch64: ").count(),
        scenarios.len() - 1, // `early-panic` comes before that line
        "{}",
        ran.text()
    );
}

/// The device tree says so; without it the line would be silent.
#[test]
fn the_mini_uart_is_used_where_it_is_on_the_pins() {
    let image = image(KERNELS[0]);
    let boot = Boot {
        board: Board::Raspi3b,
        console: Console::MiniUart,
        limit: Some(Duration::from_secs(300)),
        ..Boot::new(Arch::Aarch64, &image, "panic")
    };
    let booted = boot_machine(&boot);
    assert_eq!(booted.verdict, Verdict::Panicked);
    let report = Report::find(&booted.serial);
    trace::expect(KERNELS[0], &report, &expected::panic(), "complete, ");
}

/// As the firmware would take it from the card, but without a device tree: the processor tells which board it is.
#[test]
fn the_image_for_a_card_boots_without_a_device_tree_too() {
    let folder = tempfile::tempdir().expect("a folder");
    run(["image", "--board", "raspi3", "-o"]
        .map(Into::into)
        .into_iter()
        .chain([folder.path().join("card").into_os_string()]))
    .expect(0);
    let card = folder.path().join("card");
    let config = std::fs::read_to_string(card.join("config.txt")).expect("a config.txt");
    assert!(config.contains("\nkernel=kernel8.img\n"), "{config}");
    let output = std::process::Command::new(emulator(Arch::Aarch64))
        .args(["-M", "raspi3b", "-display", "none", "-semihosting"])
        .args(["-serial", "file:/dev/stdout", "-monitor", "none", "-kernel"])
        .arg(card.join("kernel8.img"))
        .stdin(std::process::Stdio::null())
        .output()
        .expect("QEMU starts");
    assert_eq!(output.status.code(), Some(101));
    let report = Report::find(&output.stdout);
    trace::expect(KERNELS[0], &report, &expected::panic(), "complete, ");
    assert!(
        report.text.contains("kernel on raspi3, "),
        "{}",
        report.text
    );
}

/// The screen's memory, which is no RAM: firmware's own words stand there. The same in RAM is read.
#[test]
fn a_command_line_in_a_pcs_devices_is_not_read() {
    const SCREEN: u64 = 0xb_8000;
    const RAM: u64 = 0x9000;
    let kernel = Kernel {
        arch: Arch::X86_64,
        profile: Profile::Release,
    };
    // Without a command line, the first scenario runs.
    for (place, scenario) in [(SCREEN, "panic"), (RAM, "ok")] {
        let booted = at_entry::boot(kernel, "deep", &["-vga", "std"], |memory| {
            memory.write(RAM, b"ok\0");
            let command_line = memory.start_info() + 24;
            memory.write(command_line, &place.to_le_bytes());
        });
        let text = String::from_utf8_lossy(&booted.serial);
        let begin = format!("kernel on pc, x86_64: scenario {scenario}\n");
        assert!(text.starts_with(&begin), "{text}");
    }
}

#[test]
fn a_board_of_another_architecture_is_refused() {
    run(["--arch", "x86_64", "--board", "raspi3b"])
        .expect(2)
        .expect_words("the processor of board raspi3b is aarch64, not x86_64");
}

#[test]
fn an_image_without_a_header_is_not_made_flat() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = crate::support::tiny::image(
        folder.path(),
        Arch::Aarch64,
        &[crate::support::tiny::Act::Exit(33)],
    );
    run(["--board", "raspi3b", "--image"]
        .map(Into::into)
        .into_iter()
        .chain([image.into_os_string()]))
    .expect(1)
    .expect_words("does not start with an arm64 image header");
}

/// Whatever ends the runner: there is nothing to leave behind while the machine runs.
#[test]
fn a_boot_makes_no_temporary_files() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut command = command();
    command
        .args(["--interactive", "--board", "raspi3b", "--image"])
        .arg(image(KERNELS[0]))
        .arg("monitor")
        .env("TMPDIR", folder.path());
    let mut session = Session::of(&mut command);
    session.wait_for("> ");
    let files = std::fs::read_dir(folder.path()).expect("it is a folder");
    let files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    assert!(files.is_empty(), "{files:?}");
    session.hang_up();
    session.end().expect(0);
}
