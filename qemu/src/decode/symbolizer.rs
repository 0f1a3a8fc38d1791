//! Looks up addresses in an image's debug information and symbol table.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail};
use linker::image::build_id;
use linker::symbols::{
    DebugLookup, Names, Symbol, Symbols, named, printable, short, with_others, without_others,
};
use object::{CompressionFormat, Object, ObjectKind, ObjectSection, SectionKind};

use unwind::symbols::are_of_one_function;
use unwind::symbols::format::BUILD_ID_MAX;

use crate::frames::Words;

/// Looks up addresses in an image.
pub struct Symbolizer {
    /// `None`: the image has none.
    debug: Option<DebugLookup>,
    symbols: Symbols,
    /// Indices in `symbols` by name, mangled and not; made at the first use.
    names: OnceLock<HashMap<String, Vec<usize>>>,
    /// Address ranges of code.
    code: Vec<(u64, u64)>,
    /// The image can be loaded anywhere.
    is_movable: bool,
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
            .map_err(|error| anyhow!("image {shown} is not an object file: {error}"))?;
        check_sizes(&file, data.len()).with_context(|| format!("image {shown}"))?;
        let symbols = named(&file, Symbols::for_readers(&file));
        let symbols = symbols.with_context(|| format!("image {shown}"))?;
        let debug = DebugLookup::of(&file, image, &symbols);
        let debug = debug.with_context(|| format!("image {shown}"))?;
        let build_id = build_id(&file).ok().flatten();
        // `.symbols` and reports have no more of it.
        let build_id = build_id.map(|id| &id[..id.len().min(BUILD_ID_MAX)]);
        Ok(Self {
            debug,
            symbols,
            names: OnceLock::new(),
            code: file
                .sections()
                .filter(|section| section.kind() == SectionKind::Text)
                .map(|section| {
                    let start = section.address();
                    (start, start.saturating_add(section.size()))
                })
                .collect(),
            is_movable: file.kind() == ObjectKind::Dynamic,
            words: Words::of(&data).with_context(|| format!("image {shown}"))?,
            build_id: build_id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()),
        })
    }

    /// The image's build id, in hex.
    #[must_use]
    pub fn build_id(&self) -> Option<&str> {
        self.build_id.as_deref()
    }

    /// Whether the image can be loaded at any page. Others, such as Linux with KASLR, move by large pages if at all.
    #[must_use]
    pub const fn is_movable(&self) -> bool {
        self.is_movable
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
    pub fn find(&self, name: &str, size: u64) -> Option<Function> {
        let symbols = &self.symbols.0;
        let name = without_others(name);
        let named = self.names.get_or_init(|| self.names()).get(name)?;
        let mut fitting = named.iter().filter(|at| self.has_size(**at, size));
        let found = fitting.next()?;
        // Several have the same name and size.
        let is_only = fitting.next().is_none();
        symbols.get(*found).filter(|_| is_only).map(Function::of)
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
        let symbols = &self.symbols.0;
        let here = symbols.binary_search_by_key(&start, |symbol| symbol.start);
        let here = here.ok().filter(|at| self.has_size(*at, size));
        let here = here.map(|at| &symbols[at]);
        // The device may leave out generic arguments, and which piece of a function it is.
        let name = short(without_others(name));
        let is_named = |other: &str| are_of_one_function(name.bytes(), short(other).bytes());
        let mut sources = answer
            .sources
            .iter()
            .map(|source| without_others(&source.name));
        let is_source = sources.any(is_named);
        match symbols.is_empty() {
            true => is_source,
            false => here.is_some_and(|one| {
                let mut names = all_names(one);
                is_source || names.any(|name| is_named(&demangled(name)) || is_named(name))
            }),
        }
    }

    /// Whether a device may have this size, in bytes, for the symbol with this number; 0: it has none.
    fn has_size(&self, at: usize, size: u64) -> bool {
        let symbols = &self.symbols.0;
        symbols.get(at).is_some_and(|symbol| {
            let next = symbols.get(at + 1);
            let room = next.map(|next| next.start.saturating_sub(symbol.start));
            [0, symbol.size].contains(&size) || room == Some(size)
        })
    }

    fn names(&self) -> HashMap<String, Vec<usize>> {
        let mut names: HashMap<String, Vec<usize>> = HashMap::new();
        let mut add = |name: String, at: usize| {
            let named = names.entry(name).or_default();
            // Several names of one function may be shown alike.
            if named.last() != Some(&at) {
                named.push(at);
            }
        };
        for (at, symbol) in self.symbols.0.iter().enumerate() {
            for name in all_names(symbol) {
                let shown = demangled(name);
                if shown != *name {
                    add(shown, at);
                }
                add(name.clone(), at);
            }
        }
        names
    }

    /// Looks up an address. Lines that are of another function than the symbol are left out.
    #[must_use]
    pub fn answer(&self, address: u64) -> Answer {
        let symbol = self.symbols.at(address);
        let function = symbol.map(Function::of);
        let of_symbol = || {
            let function = function.as_ref()?;
            Some(demangled(&function.symbol))
        };
        let named = function.as_ref();
        let named = named.map(|function| (function.start, &*function.symbol));
        let debug = self.debug.as_ref();
        let frames = debug.and_then(|debug| debug.frames(address, named).ok());
        let mut frames = frames.unwrap_or_default();
        // Of several names of a function, that in reports of the kernel itself is the symbol's.
        if let (Some(symbol), Some(outermost)) = (symbol, frames.last_mut()) {
            let is_other = |name: &String| symbol.others.contains(name);
            outermost.name = outermost.name.take().filter(|name| !is_other(name));
        }
        let frames = frames.into_iter();
        // Assembly has lines without functions: the symbol table has the name.
        let mut sources: Vec<Source> = frames
            .filter_map(|frame| {
                let name = frame.name.map(|name| demangled(&name));
                let place = frame.place;
                Some(Source {
                    name: name.or_else(of_symbol)?,
                    place: place
                        .map(|(file, line, column)| (printable(&file).into_owned(), line, column)),
                })
            })
            .collect();
        if sources.is_empty() {
            let of_symbol = of_symbol().map(|name| Source { name, place: None });
            sources.extend(of_symbol);
        }
        if let (Some(symbol), Some(outermost)) = (symbol, sources.last_mut()) {
            let own = std::mem::take(&mut outermost.name);
            let others = symbol.or.iter().map(|other| demangled(other));
            outermost.name = with_others(own, others);
        }
        Answer { function, sources }
    }
}

/// All names of a symbol's address.
fn all_names(symbol: &Symbol) -> impl Iterator<Item = &String> {
    std::iter::once(&symbol.name).chain(&symbol.others)
}

impl Function {
    fn of(symbol: &Symbol) -> Self {
        Self {
            symbol: symbol.name.clone(),
            start: symbol.start,
            size: if symbol.is_sized { symbol.size } else { 0 },
        }
    }
}

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
            "the compressed sections expand to {mebibytes} MiB, more than {LARGEST_RATIO} times the size of the file",
            mebibytes = all >> 20
        );
    }
    Ok(())
}

/// A demangled name, as a report with full names has it: what acts is escaped.
fn demangled(symbol: &str) -> String {
    Names::Full.name(symbol)
}

#[cfg(test)]
mod tests;
