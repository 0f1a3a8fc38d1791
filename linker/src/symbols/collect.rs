//! Collects the functions of an image from its symbol table.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, SectionIndex, Symbol as ObjectFileSymbol,
    SymbolIterator, SymbolKind,
};
use rustc_hash::FxHashMap;

use super::starts::described;
use crate::image::is_code;
use crate::mapping;

/// A function and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Address of the first instruction.
    pub start: u64,
    /// Bytes of code. Of assembly without `.size`, up to the next symbol, the next function in call frame information, or the end of the
    /// section.
    pub size: u64,
    /// The file has the size.
    pub is_sized: bool,
    /// The name in the object file, mangled.
    pub name: String,
    /// Other names of the same address, in the order of preference.
    pub others: Vec<String>,
    /// How many of `others`, the first ones, are preferred less only for their letters.
    pub rivals: usize,
    /// How many of `others`, the first ones, are functions of the same size, with any binding.
    pub functions: usize,
    /// Names of functions that the code may be of as well as of `name`.
    pub or: Vec<String>,
    /// The code of one of these was replaced by this code.
    pub is_folded: bool,
}

/// What GCC, LLVM and BOLT append to the name of an outlined part of a function: `.cold`, `.cold.1`, `.warm`.
const OUTLINED: [&str; 2] = [".cold", ".warm"];

impl Symbol {
    /// Adds the other names of the address, whose best one is `own`.
    fn add_others(&mut self, own: &Rank<'_>, mut others: Vec<Rank<'_>>) {
        let is_rival = |(label, size, mark, binding, ..): &Rank<'_>| {
            (label, size, mark, binding) == (&own.0, &own.1, &own.2, &own.3)
        };
        others.sort_unstable();
        // A file may have the same symbol twice.
        others.dedup();
        others.retain(|other| other.5 != own.5);
        self.rivals = others.iter().filter(|other| is_rival(other)).count();
        let is_function =
            |(label, size, ..): &Rank<'_>| !label && (label, size) == (&own.0, &own.1);
        self.functions = others.iter().filter(|other| is_function(other)).count();
        self.others = others.iter().map(|other| other.5.to_owned()).collect();
    }

    /// Whether the name is that of an outlined part of a function, which is entered by jumps with the stack of the jumping code.
    /// Taken for a function, its right rows would be replaced by wrong ones.
    #[must_use]
    pub fn is_outlined(&self) -> bool {
        OUTLINED.iter().any(|suffix| self.name.contains(suffix))
    }
}

/// The functions of an image, ascending by start, one for each address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols(pub Vec<Symbol>);

/// The order of preference of several names of one address: a function before a label, the larger size, any name before that of a mark, a
/// global name before a weak before a local one, then the shorter name, then the first by its letters, so that every build chooses the same. Of
/// names that only their letters distinguish, `named` prefers those that calls have.
type Rank<'data> = (bool, Reverse<u64>, bool, u8, usize, &'data str);

/// The parts of names that linker scripts give to the begin and the end of sections.
const MARKS: [&str; 5] = ["start", "begin", "end", "stop", "text"];

/// Whether a name is one that linker scripts give to a place (`_stext`, `__text_start`, `__start_text`), and not to a function. `_start` and
/// `start` are functions.
fn is_mark(name: &str) -> bool {
    let Some(name) = name.strip_prefix('_') else {
        return false;
    };
    let words = || name.split(['_', '.']).filter(|word| !word.is_empty());
    let is_of_several = words().count() > 1;
    let is_joined = |word: &str| ["stext", "etext", "sinittext", "einittext"].contains(&word);
    match is_of_several {
        true => [words().next(), words().next_back()]
            .into_iter()
            .flatten()
            .any(|word| MARKS.contains(&word)),
        false => words().any(|word| word == "text" || is_joined(word)),
    }
}

impl Symbols {
    /// Collects the symbols that lie in executable sections.
    #[must_use]
    pub fn of(file: &object::File<'_>) -> Self {
        Self::collect(file, file.symbols())
    }

    /// [`Self::of`]; of a stripped file the exported symbols, which are better than none in output for people.
    #[must_use]
    pub fn for_readers(file: &object::File<'_>) -> Self {
        match file.symbols().next() {
            Some(_) => Self::of(file),
            None => Self::collect(file, file.dynamic_symbols()),
        }
    }

    fn collect<'data, 'file>(
        file: &'file object::File<'data>,
        symbols: SymbolIterator<'data, 'file>,
    ) -> Self {
        let code = code_of(file);
        let has_marks = has_marks(file);
        let mut best: BTreeMap<u64, (Rank<'data>, SectionIndex)> = BTreeMap::new();
        let mut others: FxHashMap<u64, Vec<Rank<'data>>> = FxHashMap::default();
        let described = described(file);
        let functions: Vec<u64> = described.iter().map(|(start, _)| *start).collect();
        // A description of trap code may begin behind the first instructions of its label.
        let of_functions = described.iter().filter(|(_, is_trap_code)| !is_trap_code);
        let mut ends: Vec<u64> = of_functions.map(|(start, _)| *start).collect();
        for symbol in symbols {
            let Some((rank, section)) = candidate(&symbol, &code, has_marks) else {
                let is_data = symbol.kind() == SymbolKind::Data;
                ends.extend(is_data.then_some(symbol.address()));
                continue;
            };
            match best.entry(place(file, &symbol)) {
                Entry::Vacant(entry) => {
                    entry.insert((rank, section));
                }
                Entry::Occupied(mut entry) => {
                    let other = match rank < entry.get().0 {
                        true => entry.insert((rank, section)).0,
                        false => rank,
                    };
                    others.entry(*entry.key()).or_default().push(other);
                }
            }
        }
        ends.sort_unstable();
        let mut all = Self(with_sizes(&best, &code, &functions));
        for symbol in &mut all.0 {
            if let (Some(others), Some((own, _))) =
                (others.remove(&symbol.start), best.get(&symbol.start))
            {
                symbol.add_others(own, others);
            }
        }
        all.end_before(&ends);
        all
    }

    /// Lets code without a size end before the next of these addresses, which are ascending.
    pub(super) fn end_before(&mut self, starts: &[u64]) {
        for symbol in self.0.iter_mut().filter(|symbol| !symbol.is_sized) {
            let next = starts.partition_point(|start| *start <= symbol.start);
            let most = starts.get(next).map(|next| next - symbol.start);
            symbol.size = symbol.size.min(most.unwrap_or(u64::MAX));
        }
    }

    /// The functions of a file that have a name which `is` accepts, also where [`Self::of`] prefers another one of theirs: addresses, and sizes in
    /// bytes as the file has them.
    #[must_use]
    pub fn with_name(file: &object::File<'_>, is: impl Fn(&str) -> bool) -> BTreeMap<u64, u64> {
        let code = code_of(file);
        let has_marks = has_marks(file);
        let found = file.symbols().filter(|symbol| {
            candidate(symbol, &code, has_marks).is_some_and(|((.., name), _)| is(name))
        });
        found
            .map(|symbol| (place(file, &symbol), symbol.size()))
            .collect()
    }

    /// The function that contains an address.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&Symbol> {
        let after = self.0.partition_point(|symbol| symbol.start <= address);
        let symbol = self.0.get(after.checked_sub(1)?)?;
        (address - symbol.start < symbol.size).then_some(symbol)
    }
}

/// The address of the first instruction. That of a function in Thumb code is marked by its lowest bit.
fn place(file: &object::File<'_>, symbol: &ObjectFileSymbol<'_, '_>) -> u64 {
    match (file.architecture(), symbol.kind()) {
        (Architecture::Arm, SymbolKind::Text) => symbol.address() & !1,
        _ => symbol.address(),
    }
}

/// The sections with code: where each starts and ends.
fn code_of(file: &object::File<'_>) -> FxHashMap<SectionIndex, (u64, u64)> {
    let sections = file.sections().filter(|section| is_code(section.flags()));
    let ends = sections.map(|section| {
        let start = section.address();
        let end = start.saturating_add(section.size());
        (section.index(), (start, end))
    });
    ends.collect()
}

/// The rank and the section of a symbol, if it may be the name of a function.
fn candidate<'data>(
    symbol: &ObjectFileSymbol<'data, '_>,
    code: &FxHashMap<SectionIndex, (u64, u64)>,
    has_marks: bool,
) -> Option<(Rank<'data>, SectionIndex)> {
    let section = symbol.section_index()?;
    let &(start, end) = code.get(&section)?;
    let name = symbol.name().ok().filter(|name| !name.is_empty())?;
    let label = match symbol.kind() {
        SymbolKind::Text => false,
        // Labels of assembly; but not what says where code and data begin.
        SymbolKind::Label | SymbolKind::Unknown if !is_mapping(symbol, name, has_marks) => true,
        _ => return None,
    };
    // A label at the end of a section (`__text_end`) names nothing.
    if !(start..end).contains(&symbol.address()) {
        return None;
    }
    let binding = match (symbol.is_global(), symbol.is_weak()) {
        (true, false) => 0,
        (true, true) => 1,
        (false, _) => 2,
    };
    let mark = label && is_mark(name);
    let rank = (
        label,
        Reverse(symbol.size()),
        mark,
        binding,
        name.len(),
        name,
    );
    Some((rank, section))
}

/// Whether symbols of a file say where code and data begin.
fn has_marks(file: &object::File<'_>) -> bool {
    matches!(
        file.architecture(),
        Architecture::Arm | Architecture::Aarch64
    )
}

/// Whether a symbol is one of Arm's mapping symbols (`$x`, `$d.1`). `objcopy --prefix-symbols` gives them a prefix, too.
fn is_mapping(symbol: &ObjectFileSymbol<'_, '_>, name: &str, has_marks: bool) -> bool {
    has_marks && symbol.is_local() && symbol.size() == 0 && mapping::kind_of(name).is_some()
        || name.starts_with('$')
}

/// Gives a size to symbols without one, and leaves out labels inside of functions. What is a function by its type and in call frame information is
/// no such label: the size of the function before it is too large. `functions` are the starts there, ascending.
fn with_sizes(
    best: &BTreeMap<u64, (Rank<'_>, SectionIndex)>,
    code: &FxHashMap<SectionIndex, (u64, u64)>,
    functions: &[u64],
) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = Vec::with_capacity(best.len());
    // The largest end so far: functions may be nested.
    let mut reach = 0;
    let mut entries = best.iter().peekable();
    while let Some((&start, ((label, Reverse(size), .., name), section))) = entries.next() {
        let is_function = !*label && functions.binary_search(&start).is_ok();
        if start < reach && (*label || *size == 0) && !is_function {
            continue;
        }
        let end = code.get(section).map_or(start, |&(_, end)| end);
        let is_sized = *size != 0;
        let size = match *size {
            0 => {
                let next = entries.peek().map_or(end, |&(&next, _)| next);
                next.min(end) - start
            }
            // Hand-written sizes may be wrong.
            size => size.min(end - start),
        };
        reach = reach.max(start + size);
        symbols.push(Symbol {
            start,
            size,
            is_sized,
            name: (*name).to_owned(),
            others: Vec::new(),
            rivals: 0,
            functions: 0,
            or: Vec::new(),
            is_folded: false,
        });
    }
    symbols
}
