//! Who called whom: as `docs/guide/own-report.md` has it, with a second stack.

use core::arch::asm;

use unwind::report::Backtrace;
use unwind::sframe::Tables;
use unwind::symbols::SymbolTable;
use unwind::x86_64::Registers;
use unwind::{Code, Range, Stacks, Unwinder};

unsafe extern "C" {
    static stack_start: u8;
    static stack_end: u8;
    static spare_start: u8;
    static spare_end: u8;
    static __text_start: u8;
    static __text_end: u8;
    static __sframe_start: u8;
    static __sframe_end: u8;
    static __symbols_start: u8;
    static __symbols_end: u8;
}

/// Prints who called the code with these registers.
pub fn print(registers: Registers) {
    let sframe = bytes(&raw const __sframe_start, &raw const __sframe_end);
    let text = bytes(&raw const __text_start, &raw const __text_end);
    let symbols = bytes(&raw const __symbols_start, &raw const __symbols_end);
    let stacks = [
        Range::new(&raw const stack_start as u64, &raw const stack_end as u64),
        Range::new(&raw const spare_start as u64, &raw const spare_end as u64),
    ];
    // SAFETY: only asked for aligned words inside the stacks.
    let read = |address| Some(unsafe { (address as *const u64).read_volatile() });
    let tables = Tables::new(sframe, sframe.as_ptr() as u64);
    let code = [Code::new(text, text.as_ptr() as u64)];
    let unwinder = Unwinder::new(tables).code(&code);
    let frames = unwinder.frames(registers, Stacks::new(&stacks, read));
    let names = SymbolTable::parse(symbols, symbols.as_ptr() as u64).ok();
    let _ = Backtrace::new(frames, names).write(&mut crate::serial::Serial);
}

/// The registers right here.
#[inline(always)]
pub fn here() -> Registers {
    let (pc, sp, fp);
    // SAFETY: reads registers.
    unsafe {
        asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) pc, out(reg) sp, out(reg) fp)
    };
    Registers::new(pc, sp, fp)
}

fn bytes(start: *const u8, end: *const u8) -> &'static [u8] {
    // SAFETY: the linker script puts constant bytes between these symbols.
    unsafe { core::slice::from_raw_parts(start, end as usize - start as usize) }
}
