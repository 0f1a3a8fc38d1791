//! The smallest report: registers and the words of the stack, of which the host makes the trace. It needs no table, no name, and
//! no walk in the kernel.

use core::fmt::{self, Display, Write};

use unwind::RegisterSet as _;

use super::memory::Stacks;
use super::{alone, begin_report};
use crate::arch::{Registers, write_known};
use crate::probe;

/// So much of a stack is written: the rest of the page that the stack pointer is in, and another page.
const PAGE: u64 = 0x1000;
const TWO_PAGES: u64 = 2 * PAGE;

/// Bytes of a word of the stack, the hexadecimal digits that it is written with, and how many of them are in a line.
const WORD: u64 = Registers::WORD;
const DIGITS: usize = 2 * WORD as usize;
const IN_LINE: u64 = 32 / WORD;

/// Writes what [`print`](super::print) is asked to in the smallest way: `what` happened, registers, and the stack's words, 4 to
/// 8 KiB of them, which are 20 KB of text at most. `unwind-qemu autopsy LOG --image FILE` makes the trace of that, by the image's
/// tables or its debug information, neither of which has to be loaded. A trace ends where another stack begins.
///
/// What it reads, and what happens if it fails, is as there; of other CPUs it has nothing.
///
/// ```no_run
/// # struct Serial;
/// # impl core::fmt::Write for Serial { fn write_str(&mut self, _: &str) -> core::fmt::Result { Ok(()) } }
/// // #[panic_handler]
/// fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
///     postmortem::print_stack(&mut Serial, info);
///     loop {}
/// }
/// ```
#[inline(always)]
pub fn print_stack(out: &mut dyn Write, what: &dyn Display) {
    let registers = crate::arch::capture();
    print_stack_from(out, what, registers);
    // As in `print`.
    core::hint::black_box(());
}

/// The same from other registers: see [`print_from`](super::print_from).
#[inline(never)]
pub fn print_stack_from(out: &mut dyn Write, what: &dyn Display, registers: Registers) {
    alone(out, what, |out| {
        let stacks = begin_report(out, what, None);
        let _ = write_words(out, &stacks, registers);
    });
}

fn write_words(out: &mut dyn Write, stacks: &Stacks, registers: Registers) -> fmt::Result {
    write_known(out, &registers, true)?;
    let mut end = registers.sp & !(WORD - 1);
    let most = TWO_PAGES.wrapping_sub(end & (PAGE - 1)) / WORD;
    for number in 0..most {
        let Some(word) = stacks.read(end) else {
            break;
        };
        if number & (IN_LINE - 1) == 0 {
            write!(out, "\nstack {end:#018x}:")?;
        }
        write!(out, " {word:0DIGITS$x}")?;
        end = end.wrapping_add(WORD);
    }
    // So that nothing can be missing unnoticed. By where the function lies that reads, the host tells how far a loader has moved the
    // image.
    let read = probe::address();
    writeln!(out, "\nend of stack {end:#018x} read {read:#x}")
}
