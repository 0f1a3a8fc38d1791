//! A program for ARM, compiled from the source that the tests of big-endian machines have.

use std::path::PathBuf;
use std::process::Command;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use tempfile::TempDir;
use unwind::Range;

use crate::arm::file::Image;

/// An executable file, and what of it a walk and the comparison need.
pub struct Program {
    pub path: PathBuf,
    pub image: Image,
    /// The bytes of its code, and where they lie.
    pub code: (Vec<u8>, u64),
    /// First instructions of all C functions.
    pub functions: Vec<u64>,
    /// The code that has no caller.
    pub first: Range,
    /// From here on the stack is the program's own.
    pub stack_is_set: u64,
    pub stack: Range,
    _folder: TempDir,
}

impl Program {
    pub fn compile(options: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("program");
        let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
        let target = setup::workspace::target_folder().expect("the target folder");
        let clang = setup::program("clang", "clang", &target).expect("clang is to be had");
        setup::program("ld.lld", "lld", &target).expect("a linker is to be had");
        let output = Command::new(clang)
            .args(["--target=arm-linux-gnueabihf", "-mcpu=cortex-a15"])
            .args(["-ffreestanding", "-fno-stack-protector", "-fno-pic"])
            .args(["-std=gnu17", "-Wno-unknown-attributes", "-Werror"])
            .args(["-static", "-nostdlib", "-fuse-ld=lld", "-funwind-tables"])
            .arg("-Wl,--no-merge-exidx-entries")
            .args(options.split(' '))
            .arg("-o")
            .arg(&path)
            .arg(format!("{tests}/big_endian/source/program.c"))
            .arg(format!("{tests}/arm/source/start.s"))
            .output()
            .expect("clang starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "clang says {said}");
        let data = std::fs::read(&path).expect("the program can be read");
        let file = object::File::parse(&*data).expect("the program is ELF");
        let functions = file.symbols().filter(|symbol| {
            symbol.kind() == SymbolKind::Text && symbol.size() > 0 && symbol.name() != Ok("_start")
        });
        let functions = functions.map(|symbol| symbol.address() & !1).collect();
        let text = file.section_by_name(".text").expect("code");
        let code = (text.data().expect("its bytes").to_vec(), text.address());
        let image = Image::read(&path);
        Self {
            first: Range::new(image.symbol("_start"), image.symbol("start_end")),
            stack_is_set: image.symbol("stack_is_set"),
            stack: Range::new(image.symbol("stack_start"), image.symbol("stack_end")),
            image,
            code,
            functions,
            path,
            _folder: folder,
        }
    }
}
