//! Files with exception tables.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSection, ObjectSymbol, SectionKind};
use unwind::Range;
use unwind::ehabi::Tables;

/// A linked file's tables, and where its code lies.
pub struct Image {
    index: (Vec<u8>, u32),
    table: (Vec<u8>, u32),
    pub code: Range,
    symbols: Vec<(String, u64)>,
}

impl Image {
    pub fn read(path: &Path) -> Self {
        let data = std::fs::read(path).expect("the file can be read");
        let file = object::File::parse(&*data).expect("the file is ELF");
        let part = |name: &str| {
            let section = file.section_by_name(name)?;
            let bytes = section.data().expect("its bytes").to_vec();
            Some((bytes, section.address().try_into().expect("32 bits")))
        };
        let code = file
            .sections()
            .filter(|section| section.kind() == SectionKind::Text);
        let ends = code.map(|section| (section.address(), section.address() + section.size()));
        let (starts, ends): (Vec<_>, Vec<_>) = ends.unzip();
        let symbols = file.symbols().map(|symbol| {
            let name = symbol.name().unwrap_or_default().to_owned();
            (name, symbol.address())
        });
        Self {
            index: part(".ARM.exidx").expect("an index"),
            // There is none where all entries are in the index.
            table: part(".ARM.extab").unwrap_or_default(),
            code: Range::new(
                starts.into_iter().min().expect("code"),
                ends.into_iter().max().expect("code"),
            ),
            symbols: symbols.collect(),
        }
    }

    pub fn tables(&self) -> Tables<'_> {
        let ((index, at), (table, table_at)) = (&self.index, &self.table);
        Tables::new(index, *at, table, *table_at, self.code)
    }

    /// The address of a symbol, without the bit for Thumb.
    pub fn symbol(&self, name: &str) -> u64 {
        let mut symbols = self.symbols.iter();
        let (_, address) = symbols
            .find(|(symbol, _)| symbol == name)
            .unwrap_or_else(|| panic!("no {name}"));
        address & !1
    }
}

/// A file of one of Debian's packages.
pub fn of_package(path: &str, package: &str) -> PathBuf {
    let target = setup::workspace::target_folder().expect("the target folder");
    setup::file(Path::new(path), package, &target).expect("a library is to be had")
}

/// Assembles and links a text for ARM. The code begins at 0x10000, and the tables lie above it.
pub fn assembled(folder: &Path, text: &str) -> PathBuf {
    // The assembler takes it for a format string.
    let text = text.replace('{', "{{").replace('}', "}}");
    let object = setup::assemble(folder, "armv7a-none-eabi", &text).expect("it can be assembled");
    let image = folder.join("image");
    let target = setup::workspace::target_folder().expect("the target folder");
    let linker = setup::program("ld.lld", "lld", &target).expect("a linker is to be had");
    let output = Command::new(linker)
        .args([
            "--no-merge-exidx-entries",
            "--image-base=0x10000",
            "--entry=0",
        ])
        .arg(&object)
        .arg("-o")
        .arg(&image)
        .output()
        .expect("the linker starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the linker says {said}");
    image
}
