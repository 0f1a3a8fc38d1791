//! The trap code, instruction by instruction: from each one the walk must lead to what was interrupted, by the image's own
//! table. gdb steps, and tells the registers and the words of the stacks; `unwind` walks here.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};
use qemu::build::Kernel;
use qemu::machine::{Arch, Boot, Verdict};
use support::{built, gdb};
use unwind::sframe::Tables;
use unwind::{Code, End, Frames, How, Range, Stacks};

/// Bytes of guard pages below each stack, and of the words of the boot stack and of one for exceptions: `stack.rs` and
/// `arch/*/stacks.rs` of the kernel.
const GUARD: u64 = 32 * 1024;
const BOOT: u64 = 128 * 1024;
const EXCEPTION: u64 = 32 * 1024;

/// What of an image is needed here.
struct Image {
    table: Vec<u8>,
    table_address: u64,
    text: Vec<u8>,
    text_address: u64,
    /// The first and the last instruction with rules, from the vector of a breakpoint on.
    first: u64,
    last: u64,
    /// Of the boot stack and, on AArch64, of that of exceptions.
    stacks: Vec<Range>,
}

impl Image {
    fn read(path: &Path, arch: Arch) -> Self {
        let data = std::fs::read(path).expect("the image can be read");
        let file = object::File::parse(&*data).expect("the image is ELF");
        let section = file.section_by_name(".sframe").expect("a table");
        let text = file.section_by_name(".text").expect("code");
        // By the end of their mangled names.
        let stack = |name: &str, size: u64| {
            let mut symbols = file.symbols();
            let symbol = symbols.find(|symbol| symbol.name().is_ok_and(|it| it.ends_with(name)));
            let start = symbol.unwrap_or_else(|| panic!("no {name}")).address() + GUARD;
            Range::new(start, start + size)
        };
        let mut stacks = vec![stack("5stack4BOOT", BOOT)];
        if arch == Arch::Aarch64 {
            stacks.push(stack("6stacks9EXCEPTION", EXCEPTION));
        }
        let symbol = |name: &str| {
            let mut symbols = file.symbols();
            let symbol = symbols.find(|symbol| symbol.name() == Ok(name));
            symbol.unwrap_or_else(|| panic!("no {name}"))
        };
        let common = symbol("trap_entry");
        let table = section.data().expect("its bytes").to_vec();
        let end = common.address() + common.size();
        let (first, last) = match arch {
            // To the `iretq`.
            Arch::X86_64 => (symbol("exception_3").address(), end - 2),
            // From where the interrupted stack pointer and program counter are saved.
            Arch::Aarch64 => {
                let tables = Tables::new(&table, section.address());
                let function = tables.function_at(end - 4).expect("rules of trap code");
                (function.start(), end - 4)
            }
        };
        Self {
            first,
            last,
            table,
            table_address: section.address(),
            text: text.data().expect("its bytes").to_vec(),
            text_address: text.address(),
            stacks,
        }
    }
}

/// The machine before an instruction.
struct Step {
    pc: u64,
    sp: u64,
    fp: u64,
    lr: u64,
    /// Words from an address on.
    words: Vec<(u64, Vec<u8>)>,
}

impl Step {
    fn read_u64(&self, address: u64) -> Option<u64> {
        self.words.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            let word = bytes.get(at..at.checked_add(8)?)?;
            Some(u64::from_le_bytes(word.try_into().ok()?))
        })
    }

    /// The addresses of the frames, how the second was found, and the end.
    fn walk(&self, arch: Arch, image: &Image) -> (Vec<u64>, Option<How>, End) {
        let tables = Tables::new(&image.table, image.table_address);
        let stacks = Stacks::new(&image.stacks, |address| self.read_u64(address));
        let code = [Code::new(&image.text, image.text_address)];
        match arch {
            Arch::X86_64 => {
                let registers = unwind::x86_64::Registers::new(self.pc, self.sp, self.fp);
                collect(Frames::new(tables, registers, stacks).code(&code))
            }
            Arch::Aarch64 => {
                let registers = unwind::aarch64::Registers::new(self.pc, self.sp, self.fp, self.lr);
                collect(Frames::new(tables, registers, stacks).code(&code))
            }
        }
    }
}

fn collect<R: unwind::Registers, M: unwind::Memory>(
    mut frames: Frames<'_, R, M>,
) -> (Vec<u64>, Option<How>, End) {
    let found: Vec<_> = frames.by_ref().collect();
    (
        found.iter().map(|frame| frame.pc).collect(),
        found.get(1).map(|frame| frame.how),
        frames.end().expect("an ended walk has a reason"),
    )
}

#[test]
fn every_instruction_leads_to_what_was_interrupted() {
    for kernel in built::every_kernel() {
        let path = built::image(kernel);
        let image = Image::read(&path, kernel.arch);
        let steps = step(kernel, &path, &image);
        assert!(steps.len() > 30, "{kernel:?}: {} instructions", steps.len());
        let mut interrupted = BTreeSet::new();
        let mut outer = BTreeSet::new();
        for step in &steps {
            let (found, how, end) = step.walk(kernel.arch, &image);
            let at = format!("{kernel:?} at {:#x}: {found:x?}", step.pc);
            assert_eq!((how, end), (Some(How::TrapFrame), End::Complete), "{at}");
            interrupted.insert(found[1]);
            outer.insert(found[2..].to_vec());
        }
        // The same before and after the handler ran, but that it stepped over AArch64's brk.
        let first = *interrupted.first().expect("something was interrupted");
        let expected = match kernel.arch {
            Arch::X86_64 => vec![first],
            Arch::Aarch64 => vec![first, first + 4],
        };
        assert_eq!(Vec::from_iter(interrupted), expected, "{kernel:?}");
        assert_eq!(outer.len(), 1, "{kernel:?}: {outer:x?}");
        assert!(outer.first().is_some_and(|outer| !outer.is_empty()));
    }
}

/// Boots scenario `breakpoint`, and lets gdb step through the trap code.
fn step(kernel: Kernel, path: &Path, image: &Image) -> Vec<Step> {
    let stacks = image.stacks.iter().enumerate();
    let stacks = stacks.map(|(index, stack)| format!("set $stack_{index} = {}", stack.end));
    let ends = [("first", image.first), ("last", image.last)];
    let ends = ends.map(|(name, address)| format!("set ${name} = {address}"));
    let script = format!("source {}", gdb::script("step.py").display());
    let commands = stacks.chain(ends).chain([script, "continue".to_owned()]);
    let session = gdb::session(Boot::new(kernel.arch, path, "breakpoint"), commands);
    let text = &session.said;
    let said = || {
        let said = text.lines().filter(|line| !line.starts_with("words "));
        let said = said.collect::<Vec<_>>().join("\n");
        format!("gdb said:\n{said}\n{}", session.complained)
    };
    assert_eq!(session.booted.verdict, Verdict::Success, "{}", said());
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match *words {
            ["at", pc, sp, fp, lr] => steps.push(Step {
                pc: hex(pc),
                sp: hex(sp),
                fp: hex(fp),
                lr: hex(lr),
                words: Vec::new(),
            }),
            ["words", address, bytes] => {
                let step = steps.last_mut().expect("words of a step");
                step.words.push((hex(address), unhex(bytes)));
            }
            _ => {}
        }
    }
    steps
}

fn hex(text: &str) -> u64 {
    let digits = text.strip_prefix("0x").expect("a hexadecimal number");
    u64::from_str_radix(digits, 16).expect("a hexadecimal number")
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |index: usize| u8::from_str_radix(&text[index..index + 2], 16).expect("digits");
    (0..text.len()).step_by(2).map(digit).collect()
}
