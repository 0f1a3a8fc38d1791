//! Assembles text, and decodes all of it.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use row_checker::architecture::Architecture as _;
use row_checker::arm::Arm;
use row_checker::instruction::Effect::{self, Set};
use row_checker::instruction::Operand::Computed;
use row_checker::instruction::{Flow, Instruction};
use row_checker::program::{Mode, Program, Section};

/// The address of the assembled code.
pub const START: u64 = 0x10_0000;

/// An empty folder of a test.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Assembles text for a set, as a program whose only section has the code.
pub fn assembled(name: &str, set: &str, text: &str) -> Program<'static> {
    let text = text.replace('{', "{{").replace('}', "}}");
    let text = format!(".syntax unified\n.{set}\n{text}\n");
    let path = setup::assemble(&folder(name), "armv7a-none-eabi", &text).unwrap();
    let data = fs::read(path).unwrap();
    program(&data, START)
}

/// The section `.text` of an object file, with what its mapping symbols mark.
pub fn program(data: &[u8], address: u64) -> Program<'static> {
    let file = object::File::parse(data).unwrap();
    let section = file.section_by_name(".text").unwrap();
    let mut modes: Vec<_> = file
        .symbols()
        .filter(|symbol| symbol.section_index() == Some(section.index()))
        .filter_map(|symbol| {
            let mode = match symbol.name().ok()?.get(..2)? {
                "$a" => Mode::Usual,
                "$t" => Mode::Thumb,
                "$d" => Mode::Data,
                _ => return None,
            };
            Some((address + symbol.address(), mode))
        })
        .collect();
    modes.sort_unstable_by_key(|(at, _)| *at);
    Program {
        sections: vec![Section {
            address,
            data: section.data().unwrap().to_vec().into(),
            is_code: true,
            is_linkage: false,
        }],
        modes,
        ..Program::default()
    }
}

/// All instructions of a program, with their addresses.
pub fn instructions(program: &Program<'_>) -> Vec<(u64, Instruction)> {
    let section = &program.sections[0];
    let end = section.address + section.data.len() as u64;
    let mut at = section.address;
    let mut all = Vec::new();
    while at < end {
        let instruction = Arm.decode(program, at);
        let length = instruction.as_ref().map_or(2, |one| one.length);
        all.extend(instruction.map(|one| (at, one)));
        at += u64::from(length);
    }
    all
}

/// The only instruction of a text.
pub fn one(name: &str, set: &str, text: &str) -> Instruction {
    let program = assembled(name, set, text);
    Arm.decode(&program, START)
        .unwrap_or_else(|| panic!("{text}"))
}

/// The effects, with only those registers of computed values that are expected: the decoder may list more registers than the instruction reads.
fn reduced(effects: &[Effect], expected: &[Effect]) -> Vec<Effect> {
    let mut expected = expected.iter();
    let reduce = |effect: &Effect| match (*effect, expected.next()) {
        (Set(to, Computed(all)), Some(Set(_, Computed(some)))) => Set(to, Computed(all & some)),
        (other, _) => other,
    };
    effects.iter().map(reduce).collect()
}

/// Compares the effects of each line of a text with those that are expected.
pub fn compare(name: &str, set: &str, cases: &[(&str, Vec<Effect>)]) {
    let text: Vec<_> = cases.iter().map(|(line, _)| *line).collect();
    let program = assembled(name, set, &text.join("\n"));
    let found = instructions(&program);
    for ((line, expected), (at, instruction)) in cases.iter().zip(&found) {
        let effects = reduced(&instruction.effects, expected);
        assert_eq!(&effects, expected, "{line} at {at:#x}");
    }
    assert!(
        found.len() >= cases.len(),
        "{} of {}",
        found.len(),
        cases.len()
    );
}

/// The flow, the target as a distance from the start of the code, and whether a condition decides.
pub fn flow(instruction: &Instruction) -> (Flow, u64, bool) {
    let target = instruction.target.saturating_sub(START);
    (instruction.flow, target, instruction.is_conditional)
}
