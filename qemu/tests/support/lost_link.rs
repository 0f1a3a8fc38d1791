//! Panics of the kernel for AArch64 whose compiler said nothing of unwinding.

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;

use super::report::{Frame, Report};
use super::ways::is_library;

/// The first frame that is a guess, where nobody can know better: a function of a library that never returns, such as
/// `panic_fmt`, saves the link register nowhere, so that its caller cannot be found. That is what the report then has to say.
///
/// Only on the way of a panic: from the panic handler, by functions of libraries that are sure, to guesses.
pub fn begins_at(kernel: Kernel, report: &Report) -> Option<usize> {
    let is_plain = kernel.arch == Arch::Aarch64 && kernel.profile == Profile::Plain;
    let why = "end of backtrace: incomplete: the unwind row needs the link register, whose value is unknown, from frame ";
    let number = report.end.strip_prefix(why)?.split(' ').next()?;
    let number: usize = number.parse().ok()?;
    let (sure, guesses) = report.frames.split_at_checked(number)?;
    let [handler, library @ ..] = sure else {
        return None;
    };
    let is_sure =
        |frame: &Frame| frame.letter == 'r' && frame.name.as_deref().is_some_and(is_library);
    let is_handler =
        handler.letter == 'p' && handler.name.as_deref() == Some("__rustc::rust_begin_unwind");
    let is_lost = is_plain
        && is_handler
        && !library.is_empty()
        && library.iter().all(is_sure)
        && !guesses.is_empty()
        && guesses.iter().all(|frame| frame.letter == '?');
    is_lost.then_some(number)
}
