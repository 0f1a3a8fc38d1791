//! Programs and texts that the tests decode.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{borrow::Cow, fs};

use object::{Object as _, ObjectSection as _, SectionKind};
use row_checker::aarch64::AArch64;
use row_checker::architecture::Architecture as _;
use row_checker::instruction::Instruction;
use row_checker::program::{Program, Section};

/// Returns an empty folder of a test. No two tests use the same name.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("row_checker_aarch64")
        .join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Returns a program that Debian's package contains; installs the package if the program is missing.
pub fn tool(name: &str, package: &str) -> Command {
    let target = setup::workspace::target_folder().unwrap();
    Command::new(setup::program(name, package, &target).unwrap_or_else(|why| panic!("{why:#}")))
}

/// Runs a command, which must succeed.
pub fn succeed(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|why| panic!("{command:?}: {why}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Returns the words that the assembler of rustc makes of a text.
pub fn words(name: &str, text: &str) -> Vec<u32> {
    let path = setup::assemble(&folder(name), "aarch64-unknown-none-softfloat", text).unwrap();
    let bytes = fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let section = file.section_by_name(".text").unwrap();
    section
        .data()
        .unwrap()
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect()
}

/// Returns a program of one section of code.
pub fn program(address: u64, words: &[u32]) -> Program<'static> {
    let data = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let section = Section {
        address,
        data: Cow::Owned(data),
        is_code: true,
        is_linkage: false,
    };
    Program {
        sections: vec![section],
        ..Program::default()
    }
}

/// Returns the loaded sections of an image.
pub fn image(bytes: &[u8]) -> Program<'_> {
    let file = object::File::parse(bytes).unwrap();
    let section = |section: object::Section<'_, '_>| Section {
        address: section.address(),
        data: Cow::Owned(section.data().unwrap().to_vec()),
        is_code: section.kind() == SectionKind::Text,
        is_linkage: false,
    };
    let mut sections: Vec<_> = (file.sections())
        .filter(|section| section.address() != 0)
        .map(section)
        .filter(|section| !section.data.is_empty())
        .collect();
    sections.sort_by_key(|section| section.address);
    Program {
        sections,
        ..Program::default()
    }
}

/// Decodes a word at an address.
pub fn decode(address: u64, word: u32) -> Option<Instruction> {
    AArch64.decode(&program(address, &[word]), address)
}
