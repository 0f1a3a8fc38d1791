//! A command line that is typed at the serial line, so that a board runs one scenario after another from the same card.

use core::fmt::{self, Write};
use core::hint::spin_loop;

use portable::command_line::{CommandLine, TYPED, TYPED_PROMPT};
use portable::keys::Keys;
use portable::line::{Editor, Input};

use crate::arch::NAME;
use crate::{board, image};

/// Returns the boot loader's command line or, if that begins with the word `typed`, the line that is typed at the serial line.
pub fn instead_of(command_line: Option<CommandLine>) -> Option<CommandLine> {
    let given = command_line.as_ref().and_then(CommandLine::scenario);
    match given {
        Some(TYPED) => Some(read(&mut Serial)),
        _ => command_line,
    }
}

/// The serial line itself: the console would count text as the last words of this boot, before those of the boot before were shown.
struct Serial;

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        board::write(text.as_bytes());
        Ok(())
    }
}

/// Reads lines until one has a word.
fn read(out: &mut Serial) -> CommandLine {
    let (mut keys, mut editor) = (Keys::new(), Editor::new(TYPED_PROMPT, |_| None));
    // Writing to the serial line never fails.
    let _ = ask(out);
    loop {
        let Some(key) = board::read().and_then(|byte| keys.take(byte)) else {
            spin_loop();
            continue;
        };
        match editor.press(key, out) {
            Ok(Input::Line) if !editor.text().trim().is_empty() => {
                return CommandLine::copy(editor.text().bytes());
            }
            Ok(Input::Line | Input::Dropped | Input::End) => {
                editor.finish();
                let _ = ask(out);
            }
            Ok(Input::Editing) | Err(fmt::Error) => {}
        }
    }
}

/// Writes which board and build this is, and the prompt.
fn ask(out: &mut Serial) -> fmt::Result {
    write!(
        out,
        "kernel on {board}, {NAME}, build ",
        board = board::name()
    )?;
    for byte in image::image().build_id {
        write!(out, "{byte:02x}")?;
    }
    write!(out, "\n{TYPED_PROMPT}")
}
