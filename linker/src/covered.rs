//! How much of an image's code `.sframe` has rows for, and whose functions have code without rows.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use crate::function::{Function, LeftOut};
use crate::image::Image;
use crate::prove::text::Text;
use crate::symbols::{Names, Symbol, Symbols};

/// The least share of the code, in percent, that tables should cover. What the code does not tell is 3 % of a kernel at most;
/// a crate that was compiled without unwind tables, such as `core`, is more than 10 %.
pub const LEAST: u8 = 90;

/// How many groups are named.
const NAMED: usize = 4;

/// Functions that share the first part of their path: those of a crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The crate. Empty: assembly and C, whose names have no path.
    pub name: String,
    /// How many of its functions have code without rows.
    pub functions: usize,
    /// Bytes of that code.
    pub bytes: u64,
}

/// How much of the code has rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// Bytes of functions, without what fills room between them.
    pub code: u64,
    /// Bytes of them that have rows.
    pub covered: u64,
    /// Whose functions have code without rows, those with the most bytes first.
    pub missing: Vec<Group>,
}

impl Covered {
    /// Counts. Code is what a symbol calls a function, what has rows, and what is known to have none; without symbols, all that
    /// is executable.
    #[must_use]
    pub fn of(
        image: &Image<'_>,
        functions: &[Function],
        left_out: &[LeftOut],
        symbols: &Symbols,
    ) -> Self {
        let rows = functions.iter().filter(|one| !one.rows.is_empty());
        let end = |one: &Function| one.start.saturating_add(one.size.into());
        let rows = union(rows.map(|one| one.start..end(one)).collect());
        let extent = |symbol: &Symbol| symbol.start..symbol.start.saturating_add(symbol.size);
        let mut code: Vec<Range<u64>> = symbols.0.iter().map(extent).collect();
        if code.is_empty() {
            let text = Text::of(&image.file);
            let sections = text.code().iter();
            code.extend(sections.map(|(at, data)| *at..at.saturating_add(data.len() as u64)));
        }
        code.extend(rows.iter().cloned());
        let left_out = left_out.iter();
        code.extend(left_out.map(|left| left.start..left.start.saturating_add(left.size)));
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        for symbol in &symbols.0 {
            let extent = extent(symbol);
            let without = extent.end - extent.start - common(&rows, &extent);
            if without == 0 {
                continue;
            }
            let name = crate_of(&Names::Short.name(&symbol.name)).to_owned();
            let group = groups.entry(name.clone()).or_insert(Group {
                name,
                functions: 0,
                bytes: 0,
            });
            group.functions += 1;
            group.bytes += without;
        }
        let mut missing: Vec<Group> = groups.into_values().collect();
        missing.sort_by_key(|group| std::cmp::Reverse(group.bytes));
        Self {
            code: bytes(&union(code)),
            covered: bytes(&rows),
            missing,
        }
    }

    /// What is covered, in words, by the rows in the section with this name.
    #[must_use]
    pub const fn of_table(&self, table: &'static str) -> OfTable<'_> {
        OfTable {
            covered: self,
            table,
        }
    }

    /// Whether at least so many percent of the code have rows.
    #[must_use]
    pub fn is_at_least(&self, percent: u8) -> bool {
        u128::from(self.covered) * 100 >= u128::from(self.code) * u128::from(percent)
    }
}

/// What [`Covered::of_table`] says.
#[derive(Clone, Copy, Debug)]
pub struct OfTable<'a> {
    covered: &'a Covered,
    table: &'static str,
}

impl fmt::Display for OfTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Covered { code, covered, .. } = self.covered;
        // Rounded down: not all is 100 %.
        let tenths = u128::from(*covered) * 1000 / u128::from(*code).max(1);
        let tenths = if *code == 0 { 1000 } else { tenths };
        write!(
            f,
            "{table} has unwind rows for {whole}.{tenth} % of the code ({covered} of {code} bytes)",
            table = self.table,
            whole = tenths / 10,
            tenth = tenths % 10
        )?;
        let mut before = "; functions without rows: ";
        for group in self.covered.missing.iter().take(NAMED) {
            let name = match &*group.name {
                "" => "assembly and C",
                name => name,
            };
            write!(f, "{before}{name}: {}", group.functions)?;
            before = ", ";
        }
        let others = self.covered.missing.iter().skip(NAMED);
        let others: usize = others.map(|group| group.functions).sum();
        match others {
            0 => Ok(()),
            others => write!(f, "{before}others: {others}"),
        }
    }
}

/// Returns the advice for too little coverage. `may_synthesize`: the link may have had `--sframe-repair=no`. `core` and `alloc` need no switch,
/// because `core` and `alloc` of rustup have `.debug_frame` for x86-64 and 32-bit ARM, and `.eh_frame` for AArch64.
#[must_use]
pub fn advice(may_synthesize: bool) -> String {
    let synthesize = match may_synthesize {
        true => " To synthesize unwind rows from the code, remove --sframe-repair=no.",
        false => "",
    };
    format!(
        "backtraces end at code without unwind rows.{synthesize} To get unwind rows from compilers, compile Rust with -Cforce-unwind-tables=yes and C with -fasynchronous-unwind-tables, and keep .eh_frame and .debug_frame in the linker script"
    )
}

/// The first identifier of a path: the crate of a function, or of the trait that it implements.
fn crate_of(name: &str) -> &str {
    let (path, _) = name.split_once("::").unwrap_or(("", ""));
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let start = path.rfind(|letter| !is_part(letter));
    start.map_or(path, |start| {
        path.get(start..).map_or(path, |rest| {
            rest.trim_start_matches(|letter| !is_part(letter))
        })
    })
}

/// Ascending ranges that contain the same, none of which touch.
fn union(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut union: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match union.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => union.push(range),
        }
    }
    union
}

fn bytes(ranges: &[Range<u64>]) -> u64 {
    let sizes = ranges.iter().map(|range| range.end - range.start);
    sizes.fold(0, u64::saturating_add)
}

/// Bytes that a range has in common with a union.
fn common(union: &[Range<u64>], range: &Range<u64>) -> u64 {
    let first = union.partition_point(|one| one.end <= range.start);
    let overlapping = union[first..]
        .iter()
        .take_while(|one| one.start < range.end);
    overlapping
        .map(|one| one.end.min(range.end) - one.start.max(range.start))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_names() {
        for (name, expected) in [
            ("core::fmt::write", "core"),
            ("<kernel::Serial as core::fmt::Write>::write_str", "kernel"),
            ("<&mut T as core::fmt::Write>::write_str", "core"),
            ("<[u8] as alloc::slice::Concat>::concat", "alloc"),
            ("memcpy", ""),
            ("", ""),
        ] {
            assert_eq!(crate_of(name), expected, "{name}");
        }
    }

    #[test]
    fn ranges_are_counted_once() {
        let all = union(vec![10..20, 30..40, 15..25, 40..41, 12..13]);
        assert_eq!(all, [10..25, 30..41]);
        assert_eq!(bytes(&all), 26);
        for (range, expected) in [
            (0..10, 0),
            (0..11, 1),
            (20..35, 10),
            (25..30, 0),
            (0..99, 26),
        ] {
            assert_eq!(common(&all, &range), expected, "{range:?}");
        }
    }

    #[test]
    fn what_is_said() {
        let group = |name: &str, functions| Group {
            name: name.to_owned(),
            functions,
            bytes: 1,
        };
        let mut covered = Covered {
            code: 1000,
            covered: 899,
            missing: vec![group("core", 412), group("", 3)],
        };
        assert_eq!(
            covered.of_table(".sframe").to_string(),
            ".sframe has unwind rows for 89.9 % of the code (899 of 1000 bytes); functions without rows: core: 412, \
             assembly and C: 3"
        );
        assert!(!covered.is_at_least(90) && covered.is_at_least(89));
        covered.missing = ["a", "b", "c", "d", "e", "f"]
            .map(|name| group(name, 1))
            .into();
        covered.covered = 900;
        assert!(covered.is_at_least(90));
        assert!(
            covered
                .of_table(".sframe")
                .to_string()
                .ends_with("d: 1, others: 2")
        );
        covered = Covered::default();
        assert_eq!(
            covered.of_table(".sframe").to_string(),
            ".sframe has unwind rows for 100.0 % of the code (0 of 0 bytes)"
        );
        assert!(covered.is_at_least(100));
    }
}
