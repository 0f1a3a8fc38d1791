//! The monitor's command `lookup`: what lies at an address.

use core::fmt::{self, Write};

use crate::console::Console;
use crate::image::{self, Access};
use crate::platform::POSTMORTEM;

/// Writes it: for code the function, file and line and what is inlined there; otherwise the kind of memory.
pub fn write(console: &mut Console, address: u64) -> fmt::Result {
    let symbols = POSTMORTEM.symbols(console)?;
    let answer = symbols
        .as_ref()
        .and_then(|symbols| symbols.resolve(address));
    let Some(answer) = answer else {
        return writeln!(console, "{address:#018x}: {}", Kind(address));
    };
    write!(console, "{address:#018x}:")?;
    let offset = address.wrapping_sub(answer.start);
    for (index, source) in answer.frames().enumerate() {
        if index == 0 {
            write!(console, " {}+{offset:#x}/{:#x}", source.name, answer.size)?;
        } else {
            write!(console, "\n        inlined into {}", source.name)?;
        }
        if let Some((file, line)) = source.place() {
            write!(console, " at {file}:{line}")?;
        }
    }
    console.write_str("\n")
}

/// An address; as text, the kind of memory there.
struct Kind(u64);

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stacks = POSTMORTEM.stacks();
        if stacks.find(self.0).is_some() {
            return stacks.place(self.0).fmt(f);
        }
        let sections = image::sections();
        let section = sections.iter().find(|(range, _)| range.contains(&self.0));
        f.write_str(match section {
            Some((_, Access::Execute)) => "code without a symbol name",
            Some((_, Access::Read)) => "constants",
            Some((_, Access::Write)) => "variables",
            None => "outside the kernel image",
        })
    }
}
