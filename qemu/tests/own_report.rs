//! A report on the host over real tables: this program, whose `.sframe` and `.symbols` are made from its own file, reports
//! itself. Its stack, its code and its registers are those that it runs with.
#![cfg(target_arch = "x86_64")]

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::Mutex;

use linker::link::Options;
use linker::symbols::Level;
use object::{Object, ObjectSection, ObjectSymbol};
use postmortem::{Image, PerCpu, Platform, Postmortem, Range, Section, Stack, TrapFrame, capture};
use unwind::ImageTables;

// The first function on a stack: nobody called it, which is what the undefined return address says.
std::arch::global_asm!(
    ".type own_report_begin, @function",
    ".global own_report_begin",
    "own_report_begin:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "push rbp",
    "mov rbp, rsp",
    "mov rsp, rdi",
    "call {main}",
    "mov rsp, rbp",
    "pop rbp",
    "ret",
    ".cfi_endproc",
    ".size own_report_begin, . - own_report_begin",
    main = sym main,
);

unsafe extern "C" {
    /// Calls `main` on the empty stack that ends at this address.
    fn own_report_begin(end: u64);
}

const WORDS: usize = 64 * 1024;

#[repr(align(16))]
struct Words(UnsafeCell<[u64; WORDS]>);

// SAFETY: no reference to the words is made; code reaches them through its stack pointer.
unsafe impl Sync for Words {}

static STACK: Words = Words(UnsafeCell::new([0; WORDS]));
static OUT: Mutex<String> = Mutex::new(String::new());
static IMAGE: Mutex<Option<Image>> = Mutex::new(None);
static POSTMORTEM: Postmortem = Postmortem::new(&Kernel, &CPUS);
static CPUS: [PerCpu; 1] = [PerCpu::new()];

struct Kernel;

// SAFETY: there is one CPU, and the stack is a static.
unsafe impl Platform for Kernel {
    fn write(&self, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).expect("text");
        OUT.lock().expect("no panic here").push_str(text);
    }

    fn leave(&self) -> ! {
        unreachable!("a breakpoint returns")
    }

    fn image(&self) -> Image {
        let image = *IMAGE.lock().expect("no panic here");
        image.expect("it is there before anything is reported")
    }

    fn stack(&self, index: usize) -> Option<Stack> {
        let start = STACK.0.get() as u64;
        let words = Range::new(start, start + size_of::<[u64; WORDS]>() as u64);
        (index == 0).then(|| Stack::new("boot", 0, words))
    }
}

extern "C" fn main() {
    outer(black_box(3));
}

#[inline(never)]
fn outer(count: u64) {
    let kept = black_box([count; 9]);
    middle(count);
    black_box(kept);
}

/// Calls itself.
#[inline(never)]
fn middle(count: u64) {
    match count {
        0 => inner(),
        _ => middle(black_box(count - 1)),
    }
    black_box(count);
}

#[inline(never)]
fn inner() {
    let registers = capture();
    let frame = TrapFrame {
        rip: registers.pc,
        rsp: registers.sp,
        rbp: registers.fp,
        vector: 3,
        ..TrapFrame::default()
    };
    POSTMORTEM.breakpoint(&frame);
}

/// This program's image, where it is loaded, with tables made from its file; the same with a wrong bit in the tables; and how far it was
/// moved.
fn own_image() -> ([Image; 2], u64) {
    let path = std::env::current_exe().expect("this program has a path");
    let file = std::fs::read(path).expect("its file can be read");
    let options = Options {
        repair: false,
        symbols: Some(Level::Names),
        ..Options::default()
    };
    let made = linker::make::make(&file, &options).expect("tables can be made of it");
    let made: &'static [u8] = made.bytes.leak();
    let file = object::File::parse(made).expect("it is ELF");
    let mut symbols = file.symbols();
    let begin = symbols.find(|symbol| symbol.name() == Ok("own_report_begin"));
    let begin = begin.expect("it has symbols").address();
    let moved = (own_report_begin as *const () as u64).wrapping_sub(begin);
    let section = |name| {
        let section = file.section_by_name(name).expect("the section is there");
        Section {
            bytes: section.data().expect("its bytes are there"),
            address: section.address().wrapping_add(moved),
        }
    };
    let tables = section(".sframe");
    let image = Image::new(section(".text"), tables, section(".symbols"));
    let mut bytes = tables.bytes.to_vec();
    // Of the checksum, so that only that tells.
    let at = bytes.len() - 5;
    bytes[at] ^= 1;
    let damaged = Image {
        tables: ImageTables::new(bytes.leak(), tables.address),
        ..image
    };
    ([image, damaged], moved)
}

/// What the program reports of itself.
fn report(image: Image) -> String {
    *IMAGE.lock().expect("no panic here") = Some(image);
    let end = Kernel.stack(0).expect("a stack").end();
    // SAFETY: an empty stack, on which nobody runs: the only test calls this.
    unsafe { own_report_begin(end) };
    std::mem::take(&mut *OUT.lock().expect("no panic there"))
}

#[test]
fn a_program_reports_itself_by_tables_made_from_its_own_file() {
    let ([image, damaged], moved) = own_image();
    let text = report(image);

    let first = text.lines().next().expect("a first line");
    assert!(first.starts_with("breakpoint on cpu 0 at 0x"), "{text}");
    assert!(first.ends_with(": breakpoint"), "{text}");
    let verified = format!("x86_64, no build id, tables and code verified, moved by {moved:#x}\n");
    assert!(text.contains(&verified), "{text}");
    assert!(text.contains(", stack boot\n"), "{text}");
    let names = [
        "gate::own_report::inner",
        "gate::own_report::middle",
        "gate::own_report::middle",
        "gate::own_report::middle",
        "gate::own_report::middle",
        "gate::own_report::outer",
        "gate::own_report::main",
        "own_report_begin",
    ];
    let found = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once(": 0x")?;
        let name = rest.split(' ').nth(2)?;
        name.split_once('+').map(|(name, _)| name)
    });
    assert_eq!(found.collect::<Vec<_>>(), names, "{text}");
    // The rows are those of the compiler, which nothing has checked.
    let end = format!(
        "end of backtrace: outermost function reached, from frame 1 on in doubt (the unwind tables contain no proof that their rows are correct), {} frames",
        names.len()
    );
    assert!(text.lines().any(|line| line == end), "{text}");

    let text = report(damaged);
    let end = "end of backtrace: outermost function reached, from frame 0 on in doubt (the tables are damaged: wrong checksum), ";
    assert!(text.contains(end), "{text}");
}
