//! The result of a look-up in a symbol table.

use core::fmt::{self, Display, Write};
use core::iter::Take;

use crate::symbols::format::{
    EDGES_MAX, LINE_UNKNOWN, LOOKUP_STEPS, MAX_EDGES, OTHER_NAMES, TEXT_MAX, TEXT_STEPS,
};
use crate::symbols::grammar::{Expansion, Grammar};
use crate::symbols::record::{Edge, Record};
use crate::symbols::rows::Place;
use crate::symbols::table::SymbolTable;

/// The precision of an answer: how much of it is known. An answer never contains a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Precision {
    /// All source frames are known: the function and the functions that are inlined at the address, with their lines.
    Exact,
    /// Only the outermost source frame is known: the function, and the line in it. Functions that are inlined there are not known.
    OuterOnly,
    /// Only the function is known, not the line.
    NameOnly,
}

/// The result of [`SymbolTable::resolve`]: the function at an address, and the functions that are inlined there.
///
/// An answer refers to its source frames in the table. [`Self::frames`] reads them.
#[derive(Clone, Debug)]
pub struct Answer<'t, 'a> {
    table: &'t SymbolTable<'a>,
    /// The address of the function's first instruction.
    pub start: u64,
    /// The size of the function's code in bytes.
    pub size: u64,
    /// The precision of the answer.
    pub precision: Precision,
    /// The number of the function's record.
    record: u32,
    /// The line of the innermost frame, 0 if unknown.
    line: u32,
    /// The places of the edges from the function to the innermost frame: see [`Record::edge_place`].
    edges: [u32; MAX_EDGES],
    count: usize,
}

impl<'t, 'a> Answer<'t, 'a> {
    /// An empty answer, for [`SymbolTable::resolve_into`] to fill: an answer is large, so it is not returned by value.
    pub(crate) const fn empty(table: &'t SymbolTable<'a>) -> Self {
        Self {
            table,
            start: 0,
            size: 0,
            precision: Precision::NameOnly,
            record: 0,
            line: 0,
            edges: [0; MAX_EDGES],
            count: 0,
        }
    }

    /// Returns the buffer for the numbers of edges: see [`Self::fill`].
    pub(super) const fn edges_mut(&mut self) -> &mut [u32; MAX_EDGES] {
        &mut self.edges
    }

    /// Fills the answer for a function from the row at the address, with at most the promised precision. Replaces the numbers of the row's edges
    /// by their places.
    pub(super) fn fill(&mut self, place: &Place, promised: Precision) -> Option<()> {
        self.record = place.record;
        self.precision = Precision::NameOnly;
        self.line = 0;
        self.count = 0;
        if promised == Precision::NameOnly {
            return Some(());
        }
        let list = &self.table.records();
        let mut record = Record::get(list, place.record)?;
        let mut steps = LOOKUP_STEPS;
        let mut count = 0_usize;
        let mut line = None;
        for slot in self.edges.get_mut(..place.edge_count)? {
            let at = record.edge_place(*slot, &mut steps)?;
            let edge = Edge::at(list, at)?;
            if promised == Precision::OuterOnly && !edge.replaces() {
                line = Some(edge.line(&record));
                break;
            }
            *slot = at;
            count = count.wrapping_add(1);
            record = Record::get(list, edge.callee)?;
        }
        let line = line.unwrap_or_else(|| record.line(place.line));
        if promised == Precision::OuterOnly && line == 0 {
            return Some(());
        }
        self.precision = promised;
        self.line = line;
        self.count = count;
        Some(())
    }

    /// Returns the source frames, innermost first. The last one is the function that has code of its own. There is at least one.
    ///
    /// ```
    /// use unwind::symbols::SymbolTable;
    ///
    /// let blob = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/symbols/names.symbols"));
    /// let table = SymbolTable::parse(blob, 0)?;
    /// let answer = table.resolve(0x1014).expect("0x1014 is in a function");
    /// let frames: Vec<String> = answer.frames().map(|frame| frame.name.to_string()).collect();
    /// assert_eq!(frames, ["inside"]);
    /// # Ok::<(), unwind::symbols::SymbolsError>(())
    /// ```
    pub fn frames(
        &self,
    ) -> impl DoubleEndedIterator<Item = SourceFrame<'a>> + Clone + use<'t, 'a, '_> {
        // Not an inclusive range, which has three times the code.
        let inner = (0..self.count.wrapping_add(1)).rev();
        inner.filter_map(|index| self.frame(index))
    }

    /// Returns the source frame to which `index` edges lead. `None` if the callee of the next edge replaces it.
    fn frame(&self, index: usize) -> Option<SourceFrame<'a>> {
        let list = &self.table.records();
        let edge = |index: usize| {
            let places = self.edges.get(..self.count)?;
            Edge::at(list, *places.get(index)?)
        };
        let next = edge(index);
        if next.is_some_and(Edge::replaces) {
            return None;
        }
        let number = match index.checked_sub(1) {
            Some(before) => edge(before).map(|edge| edge.callee),
            None => Some(self.record),
        };
        let record = number.and_then(|number| Record::get(list, number));
        let line = match (next, &record) {
            (Some(edge), Some(record)) => edge.line(record),
            (None, _) => self.line,
            _ => 0,
        };
        let mut steps = EDGES_MAX;
        let name = record.and_then(|record| record.name(&mut steps));
        let file = match record {
            Some(record) if line != 0 => self.table.file(record.file),
            _ => None,
        };
        Some(SourceFrame {
            name: self.table.text(name.unwrap_or(&[])),
            file: file.map(|file| self.table.text(file)),
            line,
        })
    }
}

/// A source frame: a function with code at an address, or a function that is inlined there.
#[derive(Clone, Copy, Debug)]
pub struct SourceFrame<'a> {
    /// The name of the function, demangled.
    pub name: Text<'a>,
    file: Option<Text<'a>>,
    line: u32,
}

impl<'a> SourceFrame<'a> {
    /// Returns the file and the line, if they are known: in the innermost source frame, of the address; in other source frames, of the call
    /// to the next inner one.
    #[must_use]
    pub const fn place(&self) -> Option<(Text<'a>, u32)> {
        match self.file {
            Some(file) => Some((file, self.line)),
            None => None,
        }
    }
}

/// The text around names of other functions.
const BEGIN: &str = " (or ";
const END: &str = ")";

/// A compressed name or path. It is expanded while it is written, so that no buffer is needed.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// The part of the grammar.
    grammar: &'a [u8],
    codes: &'a [u8],
}

impl<'a> Text<'a> {
    pub(super) const fn new(grammar: &'a [u8], codes: &'a [u8]) -> Self {
        Self { grammar, codes }
    }

    /// Returns the compressed bytes. Texts whose compressed bytes have the same address and length are equal, so that many texts can be
    /// compared without expanding them.
    #[must_use]
    pub const fn compressed(&self) -> &'a [u8] {
        self.codes
    }

    /// Returns the bytes of the text, at most [`TEXT_MAX`].
    #[inline(never)]
    fn bytes(&self) -> Take<Expansion<'a>> {
        Grammar::new(self.grammar)
            .expand(self.codes, TEXT_STEPS)
            .take(TEXT_MAX)
    }

    /// Writes the text, character by character.
    ///
    /// Bytes that are not UTF-8 are written as U+FFFD. Control characters, line separators and marks of writing direction are written as `?`, so
    /// that a name cannot forge a line of a report. If several functions share the code, the other names follow in parentheses.
    ///
    /// # Errors
    /// Returns an error if `out` does.
    pub fn write(&self, out: &mut dyn Write) -> fmt::Result {
        let mut bytes = self.bytes();
        let mut end = "";
        while let Some(first) = bytes.next() {
            if first == OTHER_NAMES {
                out.write_str(BEGIN)?;
                end = END;
                continue;
            }
            out.write_char(match character(first, &mut bytes) {
                Some(character) if acts(character) => '?',
                Some(character) => character,
                None => char::REPLACEMENT_CHARACTER,
            })?;
        }
        out.write_str(end)
    }

    /// Returns the bytes of the name, without the names of other functions.
    fn own_bytes(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.bytes().take_while(|byte| *byte != OTHER_NAMES)
    }
}

/// Returns the character that begins with this byte; `None` if the bytes are not UTF-8. `core::str::from_utf8` would take more code than
/// everything else that writes a name.
#[inline]
fn character(first: u8, bytes: &mut Take<Expansion<'_>>) -> Option<char> {
    // The number of further bytes, the least character that needs them, and the bits of the first byte that mark it.
    let (more, least, mark) = match first {
        0xf0.. => (3, 0x1_0000, 0xf0 << 18),
        0xe0.. => (2, 0x800, 0xe0 << 12),
        0xc0.. => (1, 0x80, 0xc0 << 6),
        // No character begins with a continuation byte.
        0x80.. => (0, u32::MAX, 0),
        _ => (0, 0, 0),
    };
    let mut number = u32::from(first);
    let mut goes_on = true;
    for _ in 0..more {
        let byte = bytes.next().unwrap_or(0);
        goes_on &= byte & 0xc0 == 0x80;
        number = number.wrapping_shl(6) | u32::from(byte & 0x3f);
    }
    let number = number.wrapping_sub(mark);
    match goes_on && number >= least {
        true => char::from_u32(number),
        false => None,
    }
}

/// Checks whether a character has another effect than to be shown.
const fn acts(character: char) -> bool {
    matches!(
        character,
        ..' ' | '\u{7f}'..'\u{a0}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Checks whether two names belong to pieces of one function: they are equal, except for a suffix that begins with a dot. Compilers add such
/// a suffix to the name of a piece at another place (`.cold`). A jump between such pieces is not a tail call.
///
/// ```
/// use unwind::symbols::are_of_one_function;
///
/// assert!(are_of_one_function("main".bytes(), "main.cold".bytes()));
/// assert!(!are_of_one_function("main".bytes(), "main2".bytes()));
/// ```
#[must_use]
pub fn are_of_one_function(
    one: impl IntoIterator<Item = u8>,
    other: impl IntoIterator<Item = u8>,
) -> bool {
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    loop {
        match (one.next(), other.next()) {
            (None, None | Some(b'.')) | (Some(b'.'), None) => return true,
            (ours, theirs) if ours != theirs => return false,
            _ => {}
        }
    }
}

impl Text<'_> {
    /// Checks whether this is the name of the seldom executed piece of a function.
    pub(super) fn is_cold(&self) -> bool {
        let mut rest: &[u8] = b".cold";
        self.own_bytes().any(|byte| {
            rest = match rest.split_first() {
                Some((next, after)) if *next == byte => after,
                _ if byte == b'.' => b"cold",
                _ => b".cold",
            };
            rest.is_empty()
        })
    }

    /// Does what [`are_of_one_function`] does, for compressed names. Not inlined, so that they are on the stack only during this call.
    #[inline(never)]
    pub(crate) fn is_piece_of(&self, other: &Self) -> bool {
        are_of_one_function(self.own_bytes(), other.own_bytes())
    }
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        self.write(f)?;
        f.write_str("\"")
    }
}

/// Compares the text with a string, without expanding it into a buffer.
impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        let (mut rest, mut end) = (other.as_bytes(), "");
        for byte in self.bytes() {
            let shown = match byte {
                OTHER_NAMES => {
                    end = END;
                    BEGIN.as_bytes()
                }
                _ => core::slice::from_ref(&byte),
            };
            match rest.strip_prefix(shown) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        rest == end.as_bytes()
    }
}

const _: () = assert!(
    LINE_UNKNOWN == 1,
    "LINE_UNKNOWN must be 1, because Edge::line subtracts 1 from a stored line, and the result 0 is an unknown line"
);

#[cfg(test)]
mod tests;
