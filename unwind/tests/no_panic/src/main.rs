//! Every function of `unwind`, linked against a panic that is nowhere defined.
//!
//! The panic handler calls `a_panic_is_reachable`, which no object has. The handler itself is only linked when something
//! can reach it, so this image links if, and only if, the optimiser proved that nothing in it panics.
#![no_std]
#![no_main]

use core::fmt::{self, Write};
use core::hint::black_box;

use unwind::markup;
use unwind::report::{self, Backtrace, Text};
use unwind::sframe::{Function, Rule, Section, Sections, StartRule, Tables};
use unwind::symbols::SymbolTable;
use unwind::{
    Code, Fallbacks, Memory, Range, RegisterSet, RowSource, SavedRegister, Stacks, Trace,
    Unbounded, Unwinder, aarch64, s390x, x86_64,
};

unsafe extern "C" {
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: never linked, so never called.
    unsafe { a_panic_is_reachable() }
}

/// The serial line of this image: a byte that is written over and over.
struct Out;

impl Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| {
            black_box(byte);
        });
        Ok(())
    }
}

/// Nothing the optimiser can know: bytes, an address, a number.
#[repr(C)]
pub struct Input {
    bytes: &'static [u8],
    ranges: &'static [Range],
    words: [u64; 8],
}

fn rows(function: &Function<'_>) {
    black_box((
        function.start(),
        function.size(),
        function.row_count(),
        function.is_signal_frame(),
        function.is_pc_mask(),
        function.uses_key_b(),
        function.is_flexible(),
        function.block_size(),
    ));
    for row in function.rows() {
        black_box(row.is_outermost());
        black_box(matches!(row.cfa, Rule::Saved { .. }));
    }
}

fn section(input: &Input, section: &Section<'_>) {
    let [address, index, ..] = input.words;
    black_box((
        section.version(),
        section.flags(),
        section.abi(),
        section.byte_order(),
        section.fixed_frame_pointer_offset(),
        section.fixed_return_address_offset(),
        section.function_count(),
        section.row_count(),
        section.length(),
        section.address(),
    ));
    section.functions().for_each(|function| rows(&function));
    if let Some(function) = section.function(index as u32) {
        rows(&function);
        black_box(function.row_at(address));
    }
    black_box((
        section.function_at(address).is_some(),
        section.lookup(address).is_ok(),
    ));
}

fn walk<R: RegisterSet>(
    input: &Input,
    source: impl RowSource + Clone,
    registers: R,
    memory: impl Memory + Clone,
) {
    let symbols = SymbolTable::parse(input.bytes, input.words[1]);
    if let Ok(symbols) = &symbols {
        black_box((
            symbols.build_id(),
            symbols.level(),
            symbols.has_full_names(),
        ));
        if let Some(answer) = symbols.resolve(input.words[4]) {
            black_box((answer.start, answer.size, answer.precision));
            for frame in answer.frames() {
                let _ = frame.name.write(&mut Out);
                if let Some((file, line)) = frame.place() {
                    let _ = write!(Out, "{file}");
                    black_box((line, file == *"core"));
                }
            }
        }
        let _ = report::write_bytes(&mut Out, symbols.build_id());
    }
    let code = [
        Code::new(input.bytes, input.words[5]),
        Code::without_bytes(*input.ranges.first().unwrap_or(&Range::new(0, 0))),
    ];
    black_box(code[0].range());
    let saved = [SavedRegister::new(R::STACK_POINTER, 8)];
    let unwinder = Unwinder::new(source)
        .code(&code)
        .trap_registers(&saved)
        .fallbacks(Fallbacks::from_bits_truncate(input.words[2] as u8))
        .limit(input.words[3] as u32);
    let frames = unwinder.frames(registers, memory.clone());
    let mut called = unwinder.frames_from_call(registers, memory);
    for frame in called.by_ref() {
        black_box((frame, frame.lookup_pc(), frame.letter()));
    }
    black_box((called.end(), called.doubt(), called.found()));
    black_box(called.resume_at(registers));
    let _ = markup::write_context(&mut Out, "image", &[1, 2], &[]);
    let text = Text::new(None);
    let mut trace = Trace::new(frames.clone()).ends(input.words[6] as u32, input.words[7] as u32);
    let _ = trace.tell(&mut |event| markup::write(&mut Out, &text, event));
    let report = Backtrace::new(frames, symbols.ok());
    let _ = write!(Out, "{report}");
    if let Ok(end) = report.write(&mut Out) {
        let _ = write!(Out, "{end} {}", end.is_complete());
    }
}

/// The image's entry: a linker root that calls everything.
#[unsafe(no_mangle)]
pub extern "C" fn everything(input: &Input) {
    #[cfg(feature = "panics")]
    black_box(input.words[input.words[0] as usize]);
    let [address, pc, sp, fp, other, ..] = input.words;
    let tables = Tables::new(input.bytes, address);
    for found in tables
        .sections()
        .chain(Sections::with(input.bytes, address, StartRule::Section))
    {
        match found {
            Ok(found) => section(input, &found),
            Err(error) => drop(write!(Out, "{error}")),
        }
    }
    let outcome = tables.verify();
    let tables = tables.verified(black_box(outcome));
    match outcome {
        Ok(verified) => drop(black_box(verified.checksum)),
        Err(damage) => drop(write!(Out, "{damage}")),
    }
    match tables.lookup(pc) {
        Ok((function, row)) => drop(black_box((function.start(), row))),
        Err(error) => drop(write!(Out, "{error}")),
    }
    if let Err(error) = SymbolTable::parse(input.bytes, address) {
        let _ = write!(Out, "{error}");
    }
    let read = |address: u64| black_box(Some(address));
    let stacks = Stacks::new(input.ranges, read);
    let mut x86 = x86_64::Registers::new(pc, sp, fp);
    x86.r10 = Some(other);
    walk(input, tables, x86, stacks);
    walk(input, tables, x86, Unbounded(read));
    walk(input, &[tables; 2][..], x86, stacks);
    walk(input, &[&tables as &dyn RowSource][..], x86, stacks);
    let mut arm = aarch64::Registers::new(pc, sp, fp, other).with_authentication_bits(other);
    arm.elr = Some(other);
    arm.sp_el0 = Some(other);
    walk(input, tables, arm, stacks);
    walk(
        input,
        tables,
        s390x::Registers::new(pc, sp, fp, other),
        stacks,
    );
}
