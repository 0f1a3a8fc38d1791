//! A Raspberry Pi 3 in QEMU, with all that its board has: four processors, which start from a spin table and interrupt each other by
//! mailboxes; their timers; its screen.

mod hangs;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::screen::drawn::Picture;
use crate::screen::machine::BETWEEN_LOOKS;
use crate::support::boots::Request;
use crate::support::built::{emulator, image, target};
use crate::support::monitor;
use crate::support::runner::run;
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Board, Boot};
use qemu::scenario::{Outcome, SCENARIOS};
use qemu::setup;

/// What needs several CPUs, their timers or NMIs.
const SEVERAL: [&str; 7] = [
    "cpus",
    "nmi",
    "two-panics",
    "silent-cpu",
    "hang",
    "tasks",
    "panic-in-timer",
];

/// Boots the scenarios, each of which ends as it should. Returns the serial lines, one after the other.
#[track_caller]
fn judged(profile: Profile, scenarios: &[&str]) -> String {
    let arch = Arch::Aarch64;
    let image = image(Kernel { arch, profile });
    let judged = scenarios.iter().map(|scenario| {
        let request = Request::of(&image, scenario).on(Board::Raspi3b);
        request.judged().expect(0).text()
    });
    judged.collect()
}

#[gate]
fn all_processors_are_there_and_stop_for_a_report() {
    let text = judged(Profile::Debug, &SEVERAL);
    for cpu in 0..4 {
        let says = format!("cpu {cpu} runs and has hardware ID {cpu:#x}\n");
        assert!(text.contains(&says), "{text}");
    }
    let [lines, stopped] =
        ["kernel on raspi3, aarch64: ", ", stopped at "].map(|words| text.matches(words).count());
    assert_eq!(lines, SEVERAL.len(), "{text}");
    // Three CPUs at each report of all CPUs, at least; of the panics, one has a CPU that does not answer.
    assert!(stopped > 10, "{text}");
}

#[long]
fn every_scenario_that_ends_does_so_as_on_virt() {
    let ends = |outcome| !matches!(outcome, Outcome::Interactive | Outcome::Hangs);
    let here = SCENARIOS.iter().filter(|one| one.is_on("aarch64"));
    let scenarios = here.filter(|one| ends(one.outcome));
    let names: Vec<&str> = scenarios.map(|scenario| scenario.name).collect();
    assert!(names.len() > 60, "{names:?}");
    for profile in [Profile::Debug, Profile::Release] {
        judged(profile, &names);
    }
}

/// The device tree that Linux publishes, which is what the firmware passes but for the command line and the memory, which QEMU adds. It
/// names the mini UART as the console.
#[long]
fn the_published_device_tree_says_it_all() {
    let trees = setup::raspi_trees(&target()).expect("they can be fetched");
    let tree = trees.join("bcm2837-rpi-3-b.dtb");
    let folder = tempfile::tempdir().expect("a folder");
    let card = folder.path().join("card");
    run([
        "image".as_ref(),
        "--board".as_ref(),
        "raspi3".as_ref(),
        "-o".as_ref(),
        card.as_os_str(),
    ])
    .expect(0);
    for (scenario, status, says) in [
        ("cpus", 33, "cpu 3 runs and has hardware ID 0x3\n"),
        ("panic", 101, "end of backtrace: complete, 13 frames\n"),
        ("hang", 101, "first failure: hang on cpu "),
    ] {
        let output = Command::new(emulator(Arch::Aarch64))
            .args(["-M", "raspi3b", "-display", "none", "-semihosting"])
            .args(["-monitor", "none", "-serial", "null", "-serial"])
            .args(["file:/dev/stdout", "-append", scenario, "-kernel"])
            .arg(card.join("kernel8.img"))
            .arg("-dtb")
            .arg(&tree)
            .stdin(Stdio::null())
            .output()
            .expect("QEMU starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(status), "{text}");
        let first = format!("kernel on raspi3, aarch64: scenario {scenario}\n");
        assert!(text.starts_with(&first), "{text}");
        assert!(text.contains(says), "{text}");
    }
}

/// The report's first page, pixel by pixel: the one comes by the Pi's mailbox, the other one by QEMU's `ramfb`.
#[long]
fn the_screen_shows_what_that_of_virt_does() {
    // With optimization, because without it drawing takes seconds.
    let image = image(Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Release,
    });
    let [pi, virt] = [
        picture(Board::Raspi3b, &image, &[]),
        picture(Board::Virt, &image, &["-device", "ramfb"]),
    ];
    assert!(pi.starts_with(b"P6\n1024 768\n255\n"), "no such picture");
    assert!(pi == virt, "the pictures differ");
    // A picture of one color would be equal, too.
    let colors: std::collections::BTreeSet<&[u8]> = pi[16..].chunks(3).collect();
    assert!(colors.len() > 2, "{colors:?}");
}

/// What a screen shows of a panic, in the format PPM, once the first page is whole.
fn picture(board: Board, image: &Path, more: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("screen.ppm");
    let boot = Boot {
        board,
        cpus: 4,
        limit: Some(Duration::from_secs(300)),
        more,
        ..Boot::new(Arch::Aarch64, image, "panic screen")
    };
    let (_, picture) = monitor::with(boot, |machine| {
        machine.wait_for("the report is on the screen");
        loop {
            machine.command(&format!("screendump {}", file.display()));
            let picture = std::fs::read(&file).expect("QEMU writes the picture");
            if Picture::parse(&picture).has_title("what failed") {
                return picture;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    });
    picture
}
