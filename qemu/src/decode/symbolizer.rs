//! Looks up addresses in an image's debug information and symbol table.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use addr2line::Loader;
use anyhow::{Context, Result, anyhow, bail};
use linker::image::build_id;
use linker::symbols::{printable, short};
use object::{
    Architecture, CompressionFormat, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind,
};

use unwind::symbols::are_of_one_function;
use unwind::symbols::format::BUILD_ID_MAX;

use crate::frames::Words;

/// The most labels that a function of assembly is expected to have.
const LABELS: usize = 64;

/// Looks up addresses in an image.
pub struct Symbolizer {
    lines: Loader,
    /// Sorted by address.
    functions: Vec<Function>,
    /// Indices in `functions` by name, mangled and not; made at the first use.
    names: OnceLock<HashMap<String, Vec<usize>>>,
    /// Address ranges of code.
    code: Vec<(u64, u64)>,
    build_id: Option<String>,
    /// The table of its log messages.
    words: Option<Words>,
}

/// A function that has code of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its mangled name.
    pub symbol: String,
    /// Its first address.
    pub start: u64,
    /// Its size in bytes; 0 when the symbol table does not know it.
    pub size: u64,
}

/// A function of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name, demangled; what acts is escaped.
    pub name: String,
    /// Path, line and column (0: not known), as far as they are known.
    pub place: Option<(String, u32, u32)>,
}

/// The result for an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The function that it lies in.
    pub function: Option<Function>,
    /// The inlined functions at the address and the function itself, innermost first.
    pub sources: Vec<Source>,
}

impl Answer {
    /// The name of the function that has code of its own; empty when nothing is known.
    #[must_use]
    pub fn outermost(&self) -> &str {
        self.sources.last().map_or("", |source| &source.name)
    }
}

impl std::fmt::Debug for Symbolizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbolizer")
            .field("code", &self.code)
            .field("build_id", &self.build_id)
            .finish_non_exhaustive()
    }
}

impl Symbolizer {
    /// Reads an image.
    ///
    /// # Errors
    /// When the file cannot be read, or is no object file.
    pub fn open(image: &Path) -> Result<Self> {
        let shown = image.display();
        let data = std::fs::read(image).with_context(|| format!("cannot read image {shown}"))?;
        let file = object::File::parse(&*data)
            .map_err(|error| anyhow!("image {shown} is no object file: {error}"))?;
        check_sizes(&file, data.len()).with_context(|| format!("image {shown}"))?;
        let lines = Loader::new(image).map_err(|error| {
            anyhow!("the debug information of image {shown} is damaged: {error}")
        })?;
        let build_id = build_id(&file).ok().flatten();
        // `.symbols` and reports have no more of it.
        let build_id = build_id.map(|id| &id[..id.len().min(BUILD_ID_MAX)]);
        Ok(Self {
            lines,
            functions: functions(&file),
            names: OnceLock::new(),
            code: file
                .sections()
                .filter(|section| section.kind() == SectionKind::Text)
                .map(|section| {
                    let start = section.address();
                    (start, start.saturating_add(section.size()))
                })
                .collect(),
            words: Words::of(&data).with_context(|| format!("image {shown}"))?,
            build_id: build_id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()),
        })
    }

    /// The image's build id, in hex.
    #[must_use]
    pub fn build_id(&self) -> Option<&str> {
        self.build_id.as_deref()
    }

    /// The table of the image's log messages, if it has one.
    #[must_use]
    pub const fn words(&self) -> Option<&Words> {
        self.words.as_ref()
    }

    /// Whether the image has code there. A return address may be the address after the last instruction.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        let mut code = self.code.iter();
        code.any(|(start, end)| (*start..=*end).contains(&address))
    }

    /// The one function with this name, mangled or not, and of this size; 0: the size is not known. A size up to the next function fits
    /// too, as Linux has no other.
    #[must_use]
    pub fn find(&self, name: &str, size: u64) -> Option<&Function> {
        let named = self.names.get_or_init(|| self.names()).get(name)?;
        let fits = |at: &&usize| {
            self.functions.get(**at).is_some_and(|function| {
                let next = self.functions.get(*at + 1);
                let room = next.map(|next| next.start.saturating_sub(function.start));
                [0, function.size].contains(&size) || function.size == 0 || room == Some(size)
            })
        };
        let mut fitting = named.iter().filter(fits);
        let found = fitting.next()?;
        // Several have the same name and size.
        let is_only = fitting.next().is_none();
        self.functions.get(*found).filter(|_| is_only)
    }

    /// Whether the image has this name, offset and size at an address, as far as it can tell: a function starts so many bytes before, with
    /// this size, and it, or a function that is inlined at the address, has this name. `size` 0: it is not known.
    #[must_use]
    pub fn agrees(
        &self,
        address: u64,
        answer: &Answer,
        name: &str,
        offset: u64,
        size: u64,
    ) -> bool {
        let start = address.wrapping_sub(offset);
        let first = self.functions.partition_point(|one| one.start < start);
        let here = self.functions[first..]
            .iter()
            .take_while(|one| one.start == start);
        let mut here = here.filter(|one| [0, one.size].contains(&size) || one.size == 0);
        // The device may leave out generic arguments, and which piece of a function it is.
        let name = short(name);
        let is_named = |other: &str| are_of_one_function(name.bytes(), short(other).bytes());
        let is_source = answer.sources.iter().any(|source| is_named(&source.name));
        let is_name = |one: &Function| {
            is_source || is_named(&demangled(&one.symbol)) || is_named(&one.symbol)
        };
        match self.functions.is_empty() {
            true => is_source,
            false => here.any(is_name),
        }
    }

    fn names(&self) -> HashMap<String, Vec<usize>> {
        let mut names: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, function) in self.functions.iter().enumerate() {
            let shown = demangled(&function.symbol);
            if shown != function.symbol {
                names.entry(shown).or_default().push(at);
            }
            names.entry(function.symbol.clone()).or_default().push(at);
        }
        names
    }

    /// Looks up an address.
    #[must_use]
    pub fn answer(&self, address: u64) -> Answer {
        let function = self.function(address);
        let mut sources = self.sources(address).unwrap_or_default();
        if sources.is_empty()
            && let Some(function) = &function
        {
            sources.push(Source {
                name: demangled(&function.symbol),
                place: None,
            });
        }
        Answer { function, sources }
    }

    fn function(&self, address: u64) -> Option<Function> {
        let next = self.functions.partition_point(|f| f.start <= address);
        let before = self.functions.get(..next)?;
        let holds = |function: &&Function| address - function.start < function.size;
        // Assembly has symbols without a size, which end where the next one starts, unless they are labels in a function.
        let last = before.last()?;
        let found = match last.size {
            0 => before.iter().rev().take(LABELS).find(holds).unwrap_or(last),
            _ => Some(last).filter(holds)?,
        };
        self.is_code(address).then(|| found.clone())
    }

    /// The source frames of an address. Damaged debug information counts as none: other addresses may have some.
    fn sources(&self, address: u64) -> Option<Vec<Source>> {
        let mut frames = self.lines.find_frames(address).ok()?;
        let mut sources = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame
                .function
                .as_ref()
                .and_then(|name| name.raw_name().ok().map(|name| demangled(&name)));
            let place = frame.location.and_then(|location| {
                let line = location.line.filter(|line| *line > 0)?;
                Some((
                    printable(location.file?).into_owned(),
                    line,
                    location.column.unwrap_or(0),
                ))
            });
            let place = place.filter(|(file, ..)| name.is_some() || is_assembly(file));
            // The symbol table has the name.
            let name = name.or_else(|| Some(demangled(&self.function(address)?.symbol)));
            sources.push(Source { name: name?, place });
        }
        Some(sources)
    }
}

/// Whether a file is assembly, which has lines without functions. In other languages a line without a function may be that of an inlined one,
/// as where debug information is split and the `.dwo` file is missing.
fn is_assembly(file: &str) -> bool {
    let kind = Path::new(file).extension();
    kind.is_some_and(|kind| ASSEMBLY.iter().any(|one| kind.eq_ignore_ascii_case(one)))
}

/// The extensions of files of assembly.
const ASSEMBLY: [&str; 4] = ["s", "sx", "asm", "inc"];

/// Debug information is seldom compressed to less than a fifth of its size.
const LARGEST_RATIO: u64 = 32;
/// Sizes, in bytes, that are no matter in any file.
const SMALL: u64 = 64 << 20;

/// Checks that the sections take little more memory than the file has room for: a compressed one of a few bytes can say that
/// it has any size.
fn check_sizes(file: &object::File<'_>, size: usize) -> Result<()> {
    let unpacked = file.sections().filter_map(|section| {
        let range = section.compressed_file_range().ok()?;
        let is_packed = range.format != CompressionFormat::None;
        is_packed.then_some(range.uncompressed_size)
    });
    let all = unpacked.fold(0, u64::saturating_add);
    let most = SMALL.saturating_add(LARGEST_RATIO.saturating_mul(size as u64));
    if all > most {
        bail!(
            "its compressed sections would take {} MiB, more than {} times its own size",
            all >> 20,
            LARGEST_RATIO
        );
    }
    Ok(())
}

/// The functions of the symbol table. Of several at an address, the one that says its size, and of those the first.
fn functions(file: &object::File<'_>) -> Vec<Function> {
    let is_code = |index| {
        file.section_by_index(index)
            .is_ok_and(|section| section.kind() == SectionKind::Text)
    };
    // The lowest bit of a 32-bit ARM function says that its code is Thumb.
    let thumb = u64::from(file.architecture() == Architecture::Arm);
    let mut functions: Vec<_> = file
        .symbols()
        .filter(|symbol| match symbol.kind() {
            SymbolKind::Text => true,
            // A label of assembly; symbols of a linker script have no section or no code.
            SymbolKind::Unknown | SymbolKind::Label => symbol.section_index().is_some_and(is_code),
            _ => false,
        })
        .filter_map(|symbol| {
            let name = symbol.name().ok()?;
            // Arm's mapping symbols, which mark code and data, name nothing.
            if name.is_empty() || name.starts_with('$') {
                return None;
            }
            Some(Function {
                symbol: name.to_owned(),
                start: symbol.address() & !thumb,
                size: symbol.size(),
            })
        })
        .collect();
    functions.sort_by_key(|function| (function.start, std::cmp::Reverse(function.size)));
    functions.dedup_by_key(|function| function.start);
    functions
}

/// A demangled name, without its hash, as a report has it: what acts is escaped.
fn demangled(symbol: &str) -> String {
    printable(&addr2line::demangle_auto(symbol.into(), None)).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// The image has the line of the inlined function only.
    #[test]
    fn function_in_a_missing_dwo_file_has_no_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = "static inline int inner(int *p) { return *p + 5; }\nint leaf(int *p)\n{\n    return inner(p);\n}\n";
        fs::write(folder.path().join("source.c"), source).expect("a file");
        let target = setup::workspace::target_folder().expect("a folder");
        let gcc = setup::program("gcc", "gcc", &target).expect("a compiler");
        let run = |arguments: &[&str]| {
            let mut compiler = Command::new(&gcc);
            let status = compiler.current_dir(folder.path()).args(arguments).status();
            assert!(status.expect("it can be started").success());
        };
        run(&["-c", "-O2", "-gsplit-dwarf", "source.c"]);
        run(&[
            "-nostdlib",
            "-static",
            "-Wl,-eleaf",
            "source.o",
            "-o",
            "image",
        ]);
        fs::remove_file(folder.path().join("source.dwo")).expect("it is there");
        let symbolizer = Symbolizer::open(&folder.path().join("image")).expect("an image");
        let leaf = symbolizer.find("leaf", 0).expect("a function").start;
        let expected = Source {
            name: "leaf".to_owned(),
            place: None,
        };
        assert_eq!(symbolizer.answer(leaf).sources, [expected]);
    }
}
