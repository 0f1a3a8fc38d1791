//! Formats an answer of the symbolizer.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Style as Colour};
use linker::symbols::Paths;

use super::symbolizer::{Answer, Source};
use crate::workspace;

const NAME: Colour = AnsiColor::Green.on_default().bold();
const PLACE: Colour = AnsiColor::Cyan.on_default();

/// How an answer is shown.
#[derive(Debug)]
pub enum Style {
    /// As the grammar of a report says, with paths as the debug information has them.
    Text,
    /// The same with paths as the device shows them: those of packages begin with the package.
    Short(Paths),
    /// The same with colours.
    Terminal(Paths),
    /// A JSON object for each frame, and nothing else of the log.
    Json,
}

impl Style {
    /// Plain text.
    #[must_use]
    pub const fn plain() -> Self {
        Self::Text
    }

    /// For a terminal if standard output is one; otherwise, plain text.
    #[must_use]
    pub fn for_stdout() -> Self {
        match std::io::stdout().is_terminal() {
            true => Self::terminal(),
            false => Self::plain(),
        }
    }

    /// For a terminal.
    #[must_use]
    pub fn terminal() -> Self {
        Self::Terminal(Self::paths())
    }

    /// As the device would write it.
    #[must_use]
    pub fn short() -> Self {
        Self::Short(Self::paths())
    }

    fn paths() -> Paths {
        let here = std::env::current_dir().ok();
        let folders = here.as_deref().into_iter().chain([workspace::root()]);
        let folders: BTreeSet<_> = folders.map(|f| f.display().to_string()).collect();
        Paths::new(&folders)
    }

    /// The text after the letter of a frame: ` name+offset/size at file:line`, and a line, with the prefix `before`, for each
    /// function into which this one is inlined. `linked` is the address of the line as the image has it.
    pub(crate) fn answer(&self, answer: &Answer, linked: u64, before: &str) -> String {
        let mut text = String::new();
        let mut sources = answer.sources.iter();
        if let Some(source) = sources.next() {
            text += " ";
            self.name(&mut text, source);
            if let Some(function) = &answer.function {
                let offset = linked.wrapping_sub(function.start);
                // Writing to a string cannot fail.
                let _ = write!(text, "+{offset:#x}");
                if function.size > 0 {
                    let _ = write!(text, "/{:#x}", function.size);
                }
            }
            self.place(&mut text, source);
        }
        for source in sources {
            let _ = write!(text, "\n{before}        inlined into ");
            self.name(&mut text, source);
            self.place(&mut text, source);
        }
        text
    }

    fn name(&self, text: &mut String, source: &Source) {
        let _ = match self {
            Self::Terminal(_) => write!(text, "{NAME}{}{NAME:#}", source.name),
            _ => write!(text, "{}", source.name),
        };
    }

    fn place(&self, text: &mut String, source: &Source) {
        let Some((file, line, _)) = &source.place else {
            return;
        };
        let _ = match self {
            Self::Terminal(paths) => {
                write!(text, " at {PLACE}{}:{line}{PLACE:#}", paths.shown(file))
            }
            Self::Short(paths) => write!(text, " at {}:{line}", paths.shown(file)),
            _ => write!(text, " at {file}:{line}"),
        };
    }
}
