//! The kernel that UEFI firmware starts, with the screen that the firmware gives: what `kernel/screen/README.md` changes in it.

use std::fs;

use qemu::build::{Kernel, Profile};
use qemu::workspace;

use super::builds::Sources;
use super::machine::Machine;
use super::steps;
use super::text::section;
use super::uefi::{self, UEFI};
use crate::support::runner::command;

/// The heading of its part of that file.
const HEADING: &str = "A boot loader's framebuffer";

/// Reports of the screen and of the serial line are the same; keys that are typed turn the pages, and the QR code can be read.
#[long]
fn firmware_gives_a_screen() {
    let readme = workspace::root().join("kernel/screen/README.md");
    let readme = fs::read_to_string(readme).expect("it is there");
    let sources = Sources::of(UEFI.name);
    UEFI.apply(&sources);
    // The step names the repository, as the one before it did.
    let root = workspace::root().to_str().expect("a path of text");
    let part = section(&readme, HEADING).replace("SFRAME", root);
    steps::apply(&part, sources.folder());
    let (arch, profile) = (UEFI.arch, Profile::Debug);
    let (built, machine) = uefi::prepare(sources, Kernel { arch, profile });
    let mut runner = command();
    runner.args(["--interactive", "--timeout", "300", "--image"]);
    runner.arg(&built.image).arg("--").args(machine);
    let mut machine = Machine::of(runner);
    let serial = machine.wait_for("end of backtrace: complete");
    let serial = serial.replace('\r', "");
    let at = serial.find("page fault\nx86_64").expect("a report");

    let shown = machine.page("1/2  what failed");
    let lines = shown.lines();
    let mut said = serial[at..].lines();
    // The last one has not been read to its end, and long ones are folded.
    let ends = said.next_back().expect("lines");
    let mut rows = lines[1..].iter();
    for line in said {
        let row = rows.next().expect("a row");
        assert_eq!(shown.first_row(line), *row, "{lines:#?}");
        if line.len() > shown.columns() {
            rows.next();
        }
    }
    assert!(
        rows.next().expect("a verdict").starts_with(ends),
        "{lines:#?}"
    );

    machine.type_in(" ");
    let code = machine.page("2/2  for a phone").qr();
    assert!(code.starts_with("page fault\nx86_64, "), "{code}");
    assert!(code.contains("corner_shop::shop::price_on+0x"), "{code}");
    machine.type_in("q");
    assert_eq!(machine.end().status, 101);
}
