//! Machines that hang, and are asked where they are: the walk from outside.

pub mod asked;
mod foreign;
mod hangs;
mod lists;
mod locks;
mod lost;
mod moved;
mod names;
mod program;
mod stuck;
mod table;
mod vectors;
mod waits;

use std::path::Path;
use std::time::Duration;

use crate::support::boots::boot_machine;
use crate::support::built::{image, kernel};
use crate::support::runner::run;
use crate::support::session::Session;
use crate::support::tiny::{self, Act};
use asked::Asked;
use qemu::machine::{Arch, Boot, Verdict};
use qemu::outside::Outside;

/// It goes on as if nothing had been, and can be asked again.
#[gate]
fn a_machine_that_was_asked_goes_on() {
    for name in ["x86_64_release", "aarch64_debug"] {
        let (mut session, last) = asked_when_up(&image(kernel(name)));
        session.wait_for_words(&last);
        let answer = session.command("help");
        assert!(answer.contains("list the commands"), "{answer}");
        session.hang_up();
        let ran = session.end();
        let asked = Asked::of(ran);
        assert_eq!(asked.times(), 3, "{}", asked.text);
        let last = asked.reports.last().expect("it is up by then");
        last.expect_complete();
        assert_eq!(last.names().last(), Some(&"kernel_entry"), "{}", asked.text);
    }
}

/// A session that is asked three times, the last two times after the kernel has come up, and the words for the last time. If
/// the host is too slow for that, another session has twice the time.
fn asked_when_up(image: &Path) -> (Session, String) {
    let mut seconds = 1.5;
    loop {
        let times = [0.2, seconds, seconds + 0.1].map(|time| time.to_string());
        let [first, second, third] = &times;
        let arguments = ["--ask", first, "--ask", second, "--ask", third];
        let mut session = Session::start(image, "monitor", &arguments);
        session.wait_for("\n> ");
        if !session.has_words(&format!("because {second} s passed (--ask)")) {
            return (session, format!("because {third} s passed (--ask)"));
        }
        session.hang_up();
        session.end();
        seconds *= 2.0;
    }
}

/// By a device that tells QEMU, as Linux does. The verdict is the kernel's: a panic.
#[gate]
fn a_panic_that_only_qemu_hears_of_is_asked_about() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let arch = Arch::X86_64;
    let image = tiny::image(folder.path(), arch, &[Act::Panic]);
    let outside = Outside::new(&image);
    let boot = Boot {
        witness: Some(&outside),
        limit: Some(Duration::from_secs(60)),
        more: &["-device", "pvpanic"],
        ..Boot::new(arch, &image, "")
    };
    let booted = boot_machine(&boot);
    assert_eq!(booted.verdict, Verdict::Panicked);
    let [asked] = &booted.asked[..] else {
        panic!("{:?}", booted.asked);
    };
    let reason = "inspected by the runner, because the kernel reported a panic to QEMU: 1 CPU, ";
    assert!(asked.starts_with(reason), "{asked}");
}

/// Who runs a scenario that ends with a verdict hears nothing of all this.
#[gate]
fn a_machine_that_ends_is_not_asked() {
    let image = image(kernel("x86_64_release"));
    let image = image.to_str().expect("a path in UTF-8");
    for (scenario, status) in [("ok", 0), ("panic", 101)] {
        let ran = run(["--image", image, scenario]).expect(status);
        assert!(
            !ran.words.contains("inspected by the runner"),
            "{}",
            ran.words
        );
    }
}
