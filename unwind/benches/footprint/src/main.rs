//! An image with what a kernel calls of `unwind`, or nothing of it.
#![no_std]
#![no_main]
// Without features less is used.
#![cfg_attr(not(feature = "report"), allow(dead_code))]

use core::hint::black_box;
#[cfg(feature = "walk")]
use unwind::{Frame, Frames, Stacks, Unwinder};

/// The tables that the walk goes by.
#[cfg(all(feature = "walk", not(feature = "map")))]
type Source<'a> = unwind::sframe::Tables<'a>;
#[cfg(feature = "map")]
type Source<'a> = unwind::map::Map<'a>;

#[cfg(target_arch = "aarch64")]
type Registers = unwind::aarch64::Registers;
#[cfg(target_arch = "x86_64")]
type Registers = unwind::x86_64::Registers;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// What a kernel knows: linker symbols, its stacks, its code, the registers of a trap.
#[derive(Clone, Copy)]
pub struct Given {
    registers: Registers,
    sframe: (&'static [u8], u64),
    symbols: (&'static [u8], u64),
    stacks: &'static [unwind::Range],
    code: &'static [unwind::Code<'static>],
}

/// The entry.
#[unsafe(no_mangle)]
pub extern "C" fn entry(given: &Given) {
    // Every kernel has memcpy.
    black_box(*black_box(given));
    #[cfg(feature = "walk")]
    walk(given);
    #[cfg(feature = "report")]
    let _ = report(given);
}

/// Reads the stack as a kernel does.
#[cfg(feature = "walk")]
fn read(address: u64) -> Option<u64> {
    // SAFETY: not run. In a kernel: the address lies in a stack that is mapped.
    Some(unsafe { (address as *const u64).read_volatile() })
}

#[cfg(feature = "walk")]
type Memory<'a> = Stacks<'a, fn(u64) -> Option<u64>>;
#[cfg(feature = "walk")]
type Walk<'a> = Frames<'a, Registers, Memory<'a>, Source<'a>>;

/// What a walk goes by. Not inlined: while it is made, there are several copies of the tables.
#[cfg(feature = "walk")]
#[inline(never)]
fn unwinder(given: &Given) -> Option<Unwinder<'_, Source<'_>>> {
    let (bytes, address) = given.sframe;
    #[cfg(not(feature = "map"))]
    let source = Source::new(bytes, address);
    #[cfg(feature = "map")]
    let source = Source::parse(bytes, address).ok()?;
    Some(Unwinder::new(source).code(given.code))
}

#[cfg(feature = "walk")]
fn stacks(given: &Given) -> Memory<'_> {
    Stacks::new(given.stacks, read)
}

#[cfg(feature = "walk")]
#[inline(never)]
fn walk(given: &Given) {
    let made = unwinder(given);
    let Some(unwinder) = &made else {
        return;
    };
    let mut frames = unwinder.frames(given.registers, stacks(given));
    while let Some(frame) = step(&mut frames) {
        black_box(frame);
    }
    black_box(frames.end());
}

/// One step.
#[cfg(feature = "walk")]
#[unsafe(no_mangle)]
#[inline(never)]
extern "Rust" fn step(frames: &mut Walk<'_>) -> Option<Frame<Registers>> {
    frames.next()
}

/// The form of the report. Not inlined: while it is made, there are several copies of the symbol table.
#[cfg(feature = "report")]
#[inline(never)]
fn text(given: &Given) -> unwind::report::Text<'_> {
    let (bytes, address) = given.symbols;
    unwind::report::Text::new(unwind::symbols::SymbolTable::parse(bytes, address).ok())
}

/// A whole report, from parsing the tables on.
#[cfg(feature = "report")]
#[unsafe(no_mangle)]
#[inline(never)]
extern "Rust" fn report(given: &Given) -> core::fmt::Result {
    let text = text(given);
    // Borrowed: moved out, it would be on the stack twice.
    let made = unwinder(given);
    let Some(unwinder) = &made else {
        return Ok(());
    };
    let mut frames = unwinder.frames(given.registers, stacks(given));
    let end = text.write_all(&mut Serial, &mut frames)?;
    black_box(end);
    Ok(())
}

/// A serial line: one function that stores bytes somewhere.
#[cfg(feature = "report")]
struct Serial;

#[cfg(feature = "report")]
impl core::fmt::Write for Serial {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        text.bytes().for_each(|byte| _ = black_box(byte));
        Ok(())
    }
}
