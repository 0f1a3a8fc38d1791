//! Functions by chance: near and far, with rules of every form, with many rules, without rows, of repeated blocks.

use linker::architecture::{AARCH64, AARCH64_BE, ARM, Architecture, S390X, X86_64};
use linker::cfi::Frames;
use linker::function::Function;
use unwind::Kept;
use unwind::sframe::{Base, Row, Rule};

use crate::map::made::Made;
use crate::map::random::Random;

/// Functions for each architecture.
pub fn made(seed: u64) -> Vec<(String, Made)> {
    [&X86_64, &AARCH64, &AARCH64_BE, &S390X]
        .into_iter()
        .map(|architecture| {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let frames = Frames {
                functions: functions(architecture, &mut random),
                left_out: Vec::new(),
            };
            let name = format!("seed {seed}, {}", architecture.name);
            (name, Made::of(architecture, frames).expect("a map"))
        })
        .collect()
}

/// Functions of 32-bit ARM, which only a map can say all of: where callers' registers are, and which are parts of one.
pub fn arm(seed: u64) -> Vec<Function> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut functions = functions(&ARM, &mut random);
    for function in &mut functions {
        (function.block, function.key_b) = (None, false);
        function.continues = random.below(4) == 0;
    }
    functions
}

fn functions(architecture: &Architecture, random: &mut Random) -> Vec<Function> {
    let unit = 1 << architecture.unit;
    let mut start = 0x10_0000;
    // Few rules, as in real files, or more than a byte names.
    let rules = [3, 40, 2000][random.below(3)];
    (0..=random.below(100))
        .map(|_| {
            start += match random.below(8) {
                0..4 => 0,
                4 => unit * random.below(0x100) as u64,
                5 => unit * random.below(0x4000) as u64,
                _ => random.next() >> 40 & !(unit - 1),
            };
            let most = [8, 300, 5000][random.below(3)];
            let size = unit * (1 + random.below(most) as u64);
            let function = function(architecture, start, size as u32, rules, random);
            start = function.end();
            function
        })
        .collect()
}

/// Many functions, each in another corner of the address space.
pub fn far_apart() -> Frames {
    let function = |number: u64| Function {
        start: number << 40,
        size: 64,
        rows: Vec::new(),
        signal: false,
        key_b: false,
        continues: false,
        block: None,
    };
    Frames {
        functions: (1..40).map(function).collect(),
        left_out: Vec::new(),
    }
}

fn function(
    architecture: &Architecture,
    start: u64,
    size: u32,
    rules: usize,
    random: &mut Random,
) -> Function {
    let unit = 1 << architecture.unit;
    let blocks = 16 / unit;
    let block = (random.below(8) == 0).then_some(16_u8);
    let reach = match block {
        Some(_) => blocks.min(size / unit),
        None => size / unit,
    };
    let most = [2, 12, 100][random.below(3)];
    let mut offsets: Vec<u32> = (0..random.below(most))
        .map(|_| unit * random.below(reach as usize) as u32)
        .collect();
    offsets.push(0);
    offsets.sort_unstable();
    offsets.dedup();
    if random.below(16) == 0 {
        offsets.clear();
    }
    let mut rows: Vec<Row> = Vec::new();
    for offset in offsets {
        let row = row(architecture, offset, random.below(rules) as u64);
        let last = rows.last().map(|last| Row { offset, ..*last });
        if last != Some(row) {
            rows.push(row);
        }
    }
    Function {
        start,
        size,
        rows,
        signal: random.below(8) == 0,
        key_b: random.below(8) == 0,
        continues: false,
        block,
    }
}

/// One of the rows that a format can hold, by its number.
fn row(architecture: &Architecture, offset: u32, number: u64) -> Row {
    let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    random.next();
    let (cfa, scale) = (-architecture.stack_pointer_offset, architecture.cfa_scale);
    let register = Base::Register(1 + random.below(3) as u32);
    let base = [Base::StackPointer, Base::FramePointer, register][random.below(3)];
    let default = architecture.default_return_address();
    // Rows without a caller, usual ones, and any.
    let (cfa, return_address, frame_pointer) = match random.below(10) {
        0 => (Rule::Undefined, Rule::Undefined, Rule::Undefined),
        1..7 => (
            Rule::Value {
                base: [Base::StackPointer, Base::FramePointer][random.below(2)],
                offset: cfa + 8 * scale * random.below(100) as i64,
            },
            default,
            [
                Rule::Same,
                Rule::Saved {
                    base: Base::Cfa,
                    offset: -16,
                },
            ][random.below(2)],
        ),
        _ => {
            let offset = cfa + scale * (random.below(1 << 22) as i64 - (1 << 21));
            let cfa = match random.below(2) {
                0 => Rule::Value { base, offset },
                _ => Rule::Saved { base, offset },
            };
            (cfa, default, any(base, &mut random))
        }
    };
    Row {
        offset,
        cfa,
        return_address,
        frame_pointer,
        signed: architecture.sign_state.is_some() && random.below(8) == 0,
        kept: match architecture.kept.is_empty() {
            true => Kept::ALL,
            false => Kept::of_bytes(std::array::from_fn(|_| match random.below(4) {
                0 => 0,
                1 => u8::MAX,
                _ => random.next() as u8,
            })),
        },
    }
}

/// A rule for the frame pointer.
fn any(base: Base, random: &mut Random) -> Rule {
    let base = [base, Base::Cfa][random.below(2)];
    let offset = random.below(1 << 20) as i64 - (1 << 19);
    match random.below(3) {
        0 => Rule::Same,
        1 => Rule::Value { base, offset },
        _ => Rule::Saved { base, offset },
    }
}
