//! What is read from the bytes before a return address, and of jumps, against LLVM's disassembler: every Thumb instruction of two bytes,
//! and many of four and of ARM.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use unwind::arm::Registers;
use unwind::{
    Base, Code, End, Fallbacks, Found, LookupError, Machine, Proof, Range, RowSource, Rule, Rules,
    Stacks, Unwinder,
};

use crate::arm::file;

/// A function with a frame of one word, and nothing else.
#[derive(Clone, Copy)]
struct One(Range);

impl RowSource for One {
    fn describes(&self, _: Machine) -> Result<(), End> {
        Ok(())
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        if !self.covers(pc) {
            return Err(LookupError::NoFunction);
        }
        let (base, offset) = (Base::StackPointer, 4);
        let cfa = Rule::Value { base, offset };
        let (base, offset) = (Base::Cfa, -4);
        *found = Found {
            range: self.0,
            place: 0,
            is_trap: false,
            proof: Proof::Proven,
            rules: Rules::new(cfa, Rule::Saved { base, offset }, Rule::Same),
        };
        Ok(())
    }

    fn covers(&self, pc: u64) -> bool {
        self.0.holds(pc, 1)
    }

    fn doubt(&self) -> Option<End> {
        None
    }
}

/// The step from a function at this address to where `return_address` leads: how its call is seen, and the call's target if a tail call
/// led to the function.
fn step(function: u64, return_address: u64, code: &[Code<'_>]) -> (Option<End>, Option<u64>) {
    let unwinder = Unwinder::new(One(Range::new(function, function + 2)));
    let unwinder = unwinder.code(code).fallbacks(Fallbacks::empty());
    let stack = [Range::new(0x1000, 0x1004)];
    let memory = Stacks::new(&stack, |_| Some(return_address));
    let mut frames = unwinder.frames(Registers::new(function, 0x1000, 0, 0), memory);
    assert!(frames.next().is_some());
    match frames.next() {
        Some(caller) => (frames.doubt().map(|doubt| doubt.reason), caller.tail_call),
        None => (frames.end(), None),
    }
}

/// Where no call or jump of the tests leads.
const ELSEWHERE: u64 = 0x7000_0000;

#[derive(Debug, PartialEq, Eq)]
enum Reading {
    To(u64),
    Anywhere,
    None,
}

/// How a call that ends these bytes is read.
fn call(bytes: &[u8], at: u64, thumb: u64) -> Reading {
    let code = [Code::new(bytes, at)];
    let end = at + bytes.len() as u64;
    match step(ELSEWHERE, end | thumb, &code).0 {
        None => Reading::Anywhere,
        Some(End::CalledElsewhere(from, target)) if from == end => Reading::To(target),
        Some(End::NoCall(from)) if from == end => Reading::None,
        other => panic!("{other:?}"),
    }
}

/// Whether a call of these bytes is seen to jump on to `to`.
fn jumps(bytes: &[u8], at: u64, thumb: u64, to: u64) -> bool {
    let from = at - 0x100;
    let distance = ((at - from - 8) / 4) as u32;
    // BLX or BL
    let bl = [0xeb00_0000, 0xfa00_0000][thumb as usize];
    let bl = (bl | distance).to_le_bytes();
    let code = [Code::new(&bl, from), Code::new(bytes, at)];
    let (doubt, tail_call) = step(to, from + 4, &code);
    assert_eq!(doubt.is_none(), tail_call == Some(at), "{doubt:?}");
    doubt.is_none()
}

/// Instructions in the disassembler's words, each at a multiple of 8.
fn disassembled(folder: &Path, text: &str) -> Vec<(u64, String)> {
    let path = file::assembled(folder, text);
    let target = setup::workspace::target_folder().expect("the target folder");
    let objdump = setup::program("llvm-objdump", "llvm", &target).expect("it is to be had");
    let output = Command::new(objdump)
        .args(["-d", "--no-show-raw-insn"])
        .arg(&path)
        .output()
        .expect("it starts");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().filter_map(|line| {
        let (address, rest) = line.trim().split_once(':')?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let rest = rest.split('@').next().unwrap_or_default();
        (address % 8 == 0 && !rest.is_empty()).then(|| (address, rest.trim().to_owned()))
    });
    lines.collect()
}

/// What an instruction is, in the disassembler's words.
fn truth(words: &str) -> (Reading, Reading) {
    // It takes bits of a distance for a condition, and one that there is not.
    let words = words.replace("<und>", "");
    let (name, operand) = words.split_once('\t').unwrap_or((&words, ""));
    let target = || {
        let last = operand.split(", ").last().unwrap_or_default();
        let digits = last.strip_prefix("0x")?.split(' ').next()?;
        let target = u64::from_str_radix(digits, 16).ok()?;
        // It prints more than 32 bits for those below 0.
        Some(Reading::To(target & 0xffff_ffff))
    };
    let conditions = [
        "", "eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le",
    ];
    let is = |mnemonic: &str| {
        let rest = name.trim_end_matches(".w").strip_prefix(mnemonic);
        rest.is_some_and(|condition| conditions.contains(&condition))
    };
    let by_register = || match operand {
        "lr" => Reading::None,
        _ => Reading::Anywhere,
    };
    if is("bl") && name != "blt" && name != "bls" && name != "ble" || is("blx") {
        return (target().unwrap_or(Reading::Anywhere), Reading::None);
    }
    if is("b") || name == "cbz" || name == "cbnz" {
        return (Reading::None, target().expect(name));
    }
    if is("bx") {
        return (Reading::None, by_register());
    }
    let is_pc = operand.strip_prefix("pc, ");
    match is_pc {
        Some("lr") if is("mov") => (Reading::None, Reading::None),
        Some(source) if is("mov") && source.starts_with(['r', 's', 'p']) => {
            (Reading::None, Reading::Anywhere)
        }
        _ => (Reading::None, Reading::None),
    }
}

/// An instruction to assemble: its bytes, and how the assembler is told of them.
struct Instruction {
    bytes: Vec<u8>,
    text: String,
}

/// Compares them all. Returns how many are calls, jumps, and others that are taken for jumps.
fn compare(instructions: &[Instruction], mode: &str, thumb: u64) -> [u32; 3] {
    let mut text = format!(".syntax unified\n.text\n.balign 8\n{mode}\n");
    for (number, Instruction { text: one, .. }) in instructions.iter().enumerate() {
        writeln!(text, "i{number}: {one}\n.balign 8").expect("a String takes all");
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let lines = disassembled(folder.path(), &text);
    assert_eq!(lines.len(), instructions.len());
    let mut counts = [0; 3];
    for ((at, words), Instruction { bytes, .. }) in lines.iter().zip(instructions) {
        let place = || format!("{bytes:x?} at {at:#x}: {words}");
        let (is_call, is_jump) = truth(words);
        assert_eq!(call(bytes, *at, thumb), is_call, "{}", place());
        counts[0] += u32::from(is_call != Reading::None);
        counts[1] += u32::from(is_jump != Reading::None);
        match is_jump {
            // Into itself: no other function.
            Reading::To(to) if (to..to + 2).contains(at) || to.abs_diff(*at) < 0x200 => {}
            Reading::To(to) => assert!(jumps(bytes, *at, thumb, to), "{}", place()),
            Reading::Anywhere => assert!(jumps(bytes, *at, thumb, ELSEWHERE), "{}", place()),
            Reading::None => counts[2] += u32::from(jumps(bytes, *at, thumb, ELSEWHERE)),
        }
    }
    counts
}

#[test]
fn thumb_instructions() {
    // Of BX and BLX the manual wants the lowest three bits to be 0, and the disassembler does not care.
    let is_sound = |half: &u16| half & 0xff00 != 0x4700 || half & 7 == 0;
    let short = (0..0xe800_u16).filter(is_sound).map(|half| Instruction {
        bytes: half.to_le_bytes().to_vec(),
        text: format!(".inst.n {half}"),
    });
    // Branches, and what has bits like theirs; each has distances of all sizes.
    let long = (0..0x8000_u32).map(|number| {
        let first = 0xf000 | number.wrapping_mul(0x9e5) & 0x7ff;
        let second = 0x8000 | number.wrapping_mul(0x9e37) & 0x7fff;
        let bytes = [(first as u16).to_le_bytes(), (second as u16).to_le_bytes()];
        Instruction {
            bytes: bytes.concat(),
            text: format!(".inst.w {:#x}", first << 16 | second),
        }
    });
    let [calls, jumps, taken] = compare(&short.chain(long).collect::<Vec<_>>(), ".thumb", 1);
    println!("Thumb: {calls} calls, {jumps} jumps, {taken} others that are taken for jumps");
    assert!(calls > 8000 && jumps > 8000 && taken < 100);
}

#[test]
fn arm_instructions() {
    // All conditions and operations; registers and distances of all kinds.
    let words = (0..0x8000_u32).map(|number| number << 17 | number.wrapping_mul(0x9e37_79b1) >> 15);
    let by_register = (0..0x1000_u32).map(|number| {
        let operation =
            [0x012f_ff10, 0x012f_ff20, 0x012f_ff30, 0x01a0_f000][number as usize >> 8 & 3];
        (number & 0xf0) << 24 | operation | number & 15
    });
    let instructions = words.chain(by_register).map(|word| Instruction {
        bytes: word.to_le_bytes().to_vec(),
        text: format!(".inst {word:#x}"),
    });
    let [calls, jumps, taken] = compare(&instructions.collect::<Vec<_>>(), ".arm", 0);
    println!("ARM: {calls} calls, {jumps} jumps, {taken} others that are taken for jumps");
    assert!(calls > 2000 && jumps > 2000 && taken < 100);
}
