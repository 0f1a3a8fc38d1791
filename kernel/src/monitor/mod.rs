//! The monitor: commands typed on the serial line, to inspect a running kernel, or to make it fail.

mod commands;
mod look_up;

use portable::keys::Keys;
use portable::line::{Editor, Input};

use crate::{console, cpus, watchdog};

/// The text before every command.
const PROMPT: &str = "> ";

/// Reads and runs commands until there are no more.
pub fn run() {
    if cpus::online().count() > 1 {
        watchdog::start();
    }
    console::print(format_args!("monitor: `help` lists the commands\n{PROMPT}"));
    let mut keys = Keys::new();
    let mut editor = Editor::new(PROMPT, commands::name);
    loop {
        let Some(key) = keys.take(console::read()) else {
            continue;
        };
        // Writing to the console never fails.
        let input = editor.press(key, &mut *console::lock());
        match input.unwrap_or(Input::Editing) {
            Input::Editing => continue,
            Input::Line => commands::run(editor.text()),
            Input::Dropped => {}
            Input::End => return,
        }
        editor.finish();
        console::print(format_args!("{PROMPT}"));
    }
}
