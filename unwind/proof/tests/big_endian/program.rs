//! The program, compiled, and its tables.

use std::path::PathBuf;
use std::process::Command;

use linker::link::Options;
use linker::make::make;
use linker::sframe::Version;
use object::{File, Object, ObjectSection, ObjectSymbol, SymbolKind};
use tempfile::TempDir;
use unwind::Range;

use crate::big_endian::target::Target;
use crate::big_endian::walk::Section;

/// An executable file, and what of it a walk and the comparison need.
pub struct Program {
    pub path: PathBuf,
    pub code: Section,
    /// First instructions of all functions but the first to run.
    pub functions: Vec<u64>,
    /// From here on the stack is the program's own.
    pub stack_is_set: u64,
    pub stack: Range,
    data: Vec<u8>,
    _folder: TempDir,
}

impl Program {
    pub fn compile(target: &Target, options: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("program");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/big_endian/source");
        let output = Command::new(target.compiler())
            .args([
                "-ffreestanding",
                "-fno-stack-protector",
                "-fno-pie",
                "-static",
                "-nostdlib",
            ])
            .args([
                "-std=gnu17",
                "-Wall",
                "-Werror",
                "-fasynchronous-unwind-tables",
            ])
            .args(target.always)
            .args(options.split(' '))
            .arg("-o")
            .arg(&path)
            .arg(format!("{source}/program.c"))
            .arg(format!("{source}/{}.s", target.source))
            .output()
            .expect("the compiler starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the compiler says {said}");
        let data = std::fs::read(&path).expect("the program can be read");
        let file = File::parse(&*data).expect("the program is ELF");
        let address = |name: &str| {
            let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name));
            symbol.unwrap_or_else(|| panic!("no {name}")).address()
        };
        let functions = file.symbols().filter(|symbol| {
            symbol.kind() == SymbolKind::Text && symbol.size() > 0 && symbol.name() != Ok("_start")
        });
        Self {
            code: section(&data, ".text").expect("the program has code"),
            functions: functions.map(|symbol| symbol.address()).collect(),
            stack_is_set: address("stack_is_set"),
            stack: Range::new(address("stack_start"), address("stack_end")),
            path,
            _folder: folder,
            data,
        }
    }

    /// The table that `sframe make` makes of the compiler's directives.
    pub fn tables(&self, version: Version) -> Section {
        let options = Options {
            sframe: Some(version),
            symbols: None,
            ..Options::default()
        };
        let made = make(&self.data, &options).expect("tables can be made");
        section(&made.bytes, ".sframe").expect("the table is there")
    }

    /// The table that the assembler has made, if it makes any.
    pub fn own_table(&self) -> Option<Section> {
        section(&self.data, ".sframe")
    }
}

fn section(data: &[u8], name: &str) -> Option<Section> {
    let file = File::parse(data).expect("the file is ELF");
    let section = file.section_by_name(name)?;
    Some(Section {
        bytes: section.data().expect("its bytes").to_vec(),
        address: section.address(),
    })
}
