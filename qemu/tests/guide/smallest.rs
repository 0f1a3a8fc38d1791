//! The smallest form of a report: the words of a stack.

use qemu::build::Profile;
use qemu::machine::Arch;

use super::kinds::expect_shown;
use super::reports::stop_in;
use super::short::{HANDLERS, SMALLEST};

/// The kernel says registers and words only, and the runner who called.
#[long]
fn the_smallest_form() {
    let said = SMALLEST.with(Profile::Debug, |_| ());
    let text = said.autopsy();
    // The folder where it was built.
    let (before, _) = text.split_once("/src/exceptions.rs").expect("its handler");
    let (_, folder) = before.rsplit_once(" at ").expect("a place");
    let text = text.replace(&format!("{folder}/"), "");
    expect_shown(&text, "inspected by the runner", SMALLEST.page);

    let said = SMALLEST.with_shop(Profile::Release, &stop_in(Arch::X86_64));
    let text = said.autopsy();
    let (stop, panic) = text.split_once("sold out").expect("two stacks");
    for (text, names) in [
        (stop, &["breakpoint", "stop", "serve", "long_mode"][..]),
        (panic, &["panic_fmt", "sell", "serve", "long_mode"]),
    ] {
        let mut lines = text.lines();
        for name in names {
            let is_there = lines.any(|line| line.contains(name));
            assert!(is_there, "no {name} in its place in:\n{text}");
        }
    }

    let before = SMALLEST.without(Profile::Release).loaded();
    let after = SMALLEST.with(Profile::Release, |_| ()).loaded();
    let whole = HANDLERS.with(Profile::Release, |_| ()).loaded();
    println!("{before} bytes are loaded, {after} with a stack's words, {whole} with reports");
    assert!(after - before < 9 << 10, "{after} - {before}");
}
