//! A command line that is typed at the serial line, as on a board that runs one scenario after another.

use crate::support::boots;
use crate::support::built::image;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::session::Session;
use portable::command_line::{TYPED, TYPED_PROMPT};
use qemu::build::Kernel;

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
