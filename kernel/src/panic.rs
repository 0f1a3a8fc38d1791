//! The end of a kernel that met an error: says what, where, and who called whom; then leaves.
//!
//! Takes no lock, allocates nothing, and needs nothing to have been set up.

use core::fmt::{self, Write};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU32, Ordering};

use unwind::report::{Backtrace, write_bytes};
use unwind::sframe::Tables;
use unwind::symbols::SymbolTable;
use unwind::{Frames, Stacks};

use crate::arch;
use crate::arch::exit::leave;
use crate::arch::registers::{Registers, capture};
use crate::console::Console;
use crate::verdict::Verdict;
use crate::{image, stack};

/// How many reports were begun.
static BEGUN: AtomicU32 = AtomicU32::new(0);

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let registers = capture();
    die(Cause::Panic(info), registers)
}

/// Reports an exception that nothing can be done about. `registers` are those it interrupted.
pub fn fault(what: fmt::Arguments<'_>, registers: Registers) -> ! {
    die(Cause::Fault(what), registers)
}

/// Why the kernel cannot go on.
enum Cause<'a> {
    Panic(&'a PanicInfo<'a>),
    Fault(fmt::Arguments<'a>),
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(info) => {
                f.write_str("panicked")?;
                if let Some(location) = info.location() {
                    write!(f, " at {location}")?;
                }
                write!(f, ": {}", info.message())
            }
            Self::Fault(what) => write!(f, "fault: {what}"),
        }
    }
}

fn die(cause: Cause<'_>, registers: Registers) -> ! {
    // The console never fails, and what a broken `Display` has written is there.
    match BEGUN.fetch_add(1, Ordering::Relaxed) {
        0 => {
            let mut console = Console::for_report();
            let _ = writeln!(console, "{cause}");
            let _ = report(&mut console, registers);
        }
        // Something in the report, or another processor, met an error as well: no second report.
        1 => {
            let _ = writeln!(Console::for_report(), "during the report: {cause}");
        }
        // The line above did it. Its line is ended, and that is all.
        _ => drop(Console::for_report()),
    }
    leave(Verdict::Panicked)
}

fn report(console: &mut Console, registers: Registers) -> fmt::Result {
    write!(console, "cpu 0, task main, {}, build ", arch::NAME)?;
    write_bytes(console, image::build_id())?;
    console.write_str("\n")?;

    let sframe = image::sframe();
    let text = [image::text()];
    let ranges = stack::ranges();
    let frames = Frames::new(
        Tables::new(sframe.bytes(), sframe.start()),
        registers,
        Stacks::new(&ranges, stack::read_u64),
    )
    .text(&text);
    Backtrace::new(frames, symbols(console)?).write(console)?;
    Ok(())
}

/// The names, if there are any that can be trusted.
fn symbols(console: &mut Console) -> Result<Option<SymbolTable<'static>>, fmt::Error> {
    let symbols = image::symbols();
    match SymbolTable::parse(symbols.bytes(), symbols.start()) {
        Ok(table) if table.build_id() == image::build_id() => Ok(Some(table)),
        Ok(table) => {
            console.write_str("no names: .symbols is of another image, build ")?;
            write_bytes(console, table.build_id())?;
            console.write_str("\n")?;
            Ok(None)
        }
        Err(error) => {
            writeln!(console, "no names: .symbols: {error}")?;
            Ok(None)
        }
    }
}
