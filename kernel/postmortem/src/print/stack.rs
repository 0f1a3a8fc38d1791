//! The smallest report: registers and the words of the stack, from which the host makes the trace. It needs no tables, no names, and no
//! walk in the kernel.

use core::fmt::{self, Display, Write};

use unwind::RegisterSet as _;

use super::memory::Stacks;
use super::{alone, begin_report};
use crate::arch::{Registers, write_known};
use crate::probe;

/// Bytes of a page. The words of two pages are written: the rest of the page that contains the stack pointer, and the next page.
const PAGE: u64 = 0x1000;
const TWO_PAGES: u64 = 2 * PAGE;

/// Bytes of a word of the stack, the hexadecimal digits that it is written with, and how many of them are in a line.
const WORD: u64 = Registers::WORD;
const DIGITS: usize = 2 * WORD as usize;
const IN_LINE: u64 = 32 / WORD;

/// Writes the smallest report: `what`, registers, and the words of the stack.
///
/// The report has 4 to 8 KiB of the stack, which is at most 20 KB of text. `unwind-qemu autopsy LOG --image FILE` makes the trace on the
/// host, from the image's tables or its debug information; neither has to be loaded. A trace ends where another stack begins.
///
/// The function reads memory and handles failures like [`print`](super::print). It has nothing about other CPUs.
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
    // See `print`.
    core::hint::black_box(());
}

/// Writes the smallest report like [`print_stack`], from `registers` of interrupted code: see [`print_from`](super::print_from).
///
/// ```no_run
/// # fn serial() -> impl core::fmt::Write { String::new() }
/// extern "C" fn exception(frame: &mut postmortem::TrapFrame) {
///     postmortem::print_stack_from(&mut serial(), &"exception", frame.registers());
///     loop {}
/// }
/// ```
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
    // The last line makes a missing end visible. The host compares the address of the read function with the image, to find how far a
    // loader moved it.
    let address_of_read = probe::address();
    writeln!(out, "\nend of stack {end:#018x} read {address_of_read:#x}")
}
