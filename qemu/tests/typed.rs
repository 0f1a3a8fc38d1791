//! A command line that is typed at the serial line, as on a board that runs one scenario after another.

use crate::support::boots;
use crate::support::built::image;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::runner::fed;
use crate::support::session::Session;
use crate::support::tiny::{self, Act};
use portable::command_line::{TYPED, TYPED_PROMPT};
use qemu::build::Kernel;
use qemu::machine::Arch;

kernel_tests! { every:
    a_typed_command_line_is_used_like_the_boot_loaders,
}

fn a_typed_command_line_is_used_like_the_boot_loaders(kernel: Kernel) {
    let mut session = Session::start(&image(kernel), TYPED, &[]);
    session.wait_for(TYPED_PROMPT);
    // A line without a word is asked for again.
    session.press(" \r");
    session.wait_for(TYPED_PROMPT);
    // The word `reset` makes the next line possible.
    session.press("ok reset\r");
    session.wait_for(": scenario ok\n");
    session.wait_for(TYPED_PROMPT);
    session.press("panic\r");
    let typed = Report::find(&session.end().expect(101).serial);
    let given = Report::find(&boots::boot(kernel, "panic").serial);
    assert_eq!(typed.panicked, given.panicked);
    assert_eq!(typed.frames, given.frames);
    assert_eq!(typed.end, given.end);
}

/// A pipe at standard input is for the machine only with `--interactive`. An empty pipe, as in CI systems, is not worth a line.
#[test]
fn input_that_is_not_read_is_reported() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = tiny::image(folder.path(), Arch::Aarch64, &[Act::Spin]);
    let image = image.to_str().expect("a path in UTF-8");
    let note =
        "standard input was not read; to send it to the machine's serial input, pass --interactive";
    for (input, is_reported) in [("help\n", true), ("", false)] {
        let ran = fed(["--guest-timeout", "1", "--image", image], input).expect(124);
        assert_eq!(ran.words.contains(note), is_reported, "{}", ran.words);
    }
}
