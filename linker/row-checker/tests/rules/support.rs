//! Assembles and links small programs, and compares the checker's verdicts with those that the text states.
//!
//! A line is an instruction or an assembler directive, and may end in a row:
//!
//! ```text
//! call leaf  | fp+16; not sp+48
//! ```
//!
//! The row after `|` must be accepted at the instruction; after `| if` it must be accepted if the processor enters the function, and only then. Each row after `not` must be refused there, in the otherwise unchanged program.
//! A row is a canonical frame address, and where its other values are: `sp+16 ra=c-8 fp=c-16`, `(sp+24) ra=(sp+0)`, or `none` (no caller).
//! A frame pointer or a kept register that a row does not mention is lost.
//!
//! | line | meaning |
//! |---|---|
//! | `fn NAME` | a symbol of a function, and rows from here on: first that of a call |
//! | `fn NAME trap` | the rows are those of trap code |
//! | `fn NAME bare` | no rows |
//! | `end` | the symbol's end |
//! | `rows`, `rows trap` | other rows begin, without a symbol |
//! | `fde`, `fde trap`, `endfde` | the extent of call frame information, which may mark trap code |
//! | `red N` | bytes below the stack pointer that nothing overwrites |
//! | `enter32 LABEL` | boot loaders enter the code at the label in 32-bit mode |
//! | `pad FROM TO PAD N` | a call between the first two labels that throws continues at the third, with the stack pointer moved by `N` |

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, SymbolKind};
use row_checker::aarch64::AArch64;
use row_checker::architecture::Architecture;
use row_checker::arm::Arm;
use row_checker::check::{Verdict, check};
use row_checker::program::{Declared, Function, LandingPad, Mode, Program, Section};
use row_checker::value::Why;
use row_checker::x86_64::X86;
use unwind::sframe::Row;

use super::notation::{self, Notes};

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    X86,
    A64,
    A32,
    T32,
}

impl Set {
    const fn target(self) -> &'static str {
        match self {
            Self::X86 => "x86_64-unknown-none",
            Self::A64 => "aarch64-unknown-none-softfloat",
            Self::A32 | Self::T32 => "armv7a-none-eabi",
        }
    }

    /// Returns the directives before a program.
    pub const fn start(self) -> &'static str {
        match self {
            Self::X86 => ".text\n",
            Self::A64 => ".arch armv8.5-a\n.text\n",
            Self::A32 => ".syntax unified\n.text\n.arm\n",
            Self::T32 => ".syntax unified\n.text\n.thumb\n",
        }
    }

    fn architecture(self) -> &'static dyn Architecture {
        match self {
            Self::X86 => &X86,
            Self::A64 => &AArch64,
            Self::A32 | Self::T32 => &Arm,
        }
    }

    const fn word(self) -> usize {
        match self {
            Self::X86 | Self::A64 => 8,
            Self::A32 | Self::T32 => 4,
        }
    }
}

/// Compares the verdicts on a program with those that its text states.
///
/// # Panics
/// A verdict differs.
pub fn judge(set: Set, text: &str) {
    let failures = failures(set, text);
    assert!(
        failures.is_empty(),
        "{set:?}:\n{}\nin:\n{text}",
        failures.join("\n")
    );
}

fn failures(set: Set, text: &str) -> Vec<String> {
    let notes = Notes::of(set, text);
    let image = fs::read(link(set, &notes.text)).unwrap();
    let mut failures = Vec::new();
    let mut variants: Vec<Option<(usize, Row)>> = vec![None];
    for (number, note) in notes.rows.iter().enumerate() {
        variants.extend(note.wrong.iter().map(|row| Some((number, *row))));
    }
    for variant in variants {
        let Some(verdicts) = verdicts(set, &notes, &image, variant) else {
            failures.push("no claims were found that hold".to_owned());
            continue;
        };
        for (number, note) in notes.rows.iter().enumerate() {
            let is_replaced = variant.is_some_and(|(other, _)| other == number);
            let is_right = note.is_right && variant.is_none();
            if !is_right && !is_replaced && note.is_right {
                continue;
            }
            let Some(verdict) = &verdicts[number] else {
                failures.push(format!("{}: no verdict", note.line));
                continue;
            };
            let is_accepted = match verdict.unproven[..] {
                [] => !note.if_entered,
                [(_, reason)] => note.if_entered && reason.why == Some(Why::NotEntered),
                _ => false,
            };
            if is_accepted != is_right {
                let variant = if variant.is_some() {
                    "row replaced"
                } else {
                    "as it is"
                };
                failures.push(format!("{} ({variant}): {:?}", note.line, verdict.unproven));
            }
        }
    }
    failures
}

/// Returns the verdict on the instruction of each note.
fn verdicts(
    set: Set,
    notes: &Notes,
    image: &[u8],
    variant: Option<(usize, Row)>,
) -> Option<Vec<Option<Verdict>>> {
    let file = object::File::parse(image).unwrap();
    let labels: BTreeMap<&str, u64> = (file.symbols())
        .filter_map(|symbol| Some((symbol.name().ok()?, symbol.address())))
        .collect();
    let is_thumb = set == Set::T32;
    let label = |name: &str| labels[name] & !u64::from(is_thumb);
    let at = |number: usize| label(&notation::row_label(number));
    let mut rows: Vec<Vec<Row>> = Vec::new();
    for group in &notes.groups {
        let start = label(&group.start);
        let mut own: Vec<Row> = Vec::new();
        for &number in &group.rows {
            let mut row = match variant {
                Some((replaced, row)) if replaced == number => row,
                _ => notes.rows[number].row,
            };
            row.offset = (at(number) - start) as u32;
            own.push(row);
        }
        if !group.is_trap && own.first().is_none_or(|row| row.offset > 0) {
            own.insert(0, notation::call(set));
        }
        rows.push(own);
    }
    let functions = notes.groups.iter().zip(&rows);
    let functions = functions.map(|(group, rows)| Function {
        start: label(&group.start),
        end: label(&group.end),
        rows,
        is_trap_code: group.is_trap,
        block: None,
    });
    let symbols = symbols(&file, is_thumb);
    let mut declared: Vec<Declared> = (symbols.iter().copied())
        .filter(|one| one.start < one.end)
        .collect();
    declared.extend(notes.described.iter().map(|(start, end)| Declared {
        start: label(start),
        end: label(end),
    }));
    let sections = sections(&file);
    let program = Program {
        taken: addresses(&sections, set.word(), is_thumb),
        sections,
        modes: modes(&file, set),
        marked: marked(&file, set),
        functions: functions.collect(),
        symbols: symbols.into(),
        declared: declared.into(),
        entry: labels.get("_start").map_or(0, |_| label("_start")),
        landing_pads: (notes.pads.iter())
            .map(|(labels, arguments)| LandingPad {
                start: label(&labels[0]),
                end: label(&labels[1]),
                pad: label(&labels[2]),
                arguments: *arguments,
            })
            .collect(),
        red_zone: notes.red_zone,
        is_hosted: notes.red_zone == 128,
        is_relocatable: false,
        other_mode: (notes.other_mode.iter()).map(|name| label(name)).collect(),
        described: {
            let starts = notes.described.iter().map(|(start, _)| label(start));
            let starts: std::collections::BTreeSet<u64> = starts.collect();
            starts.into_iter().collect()
        },
        traps: notes.traps.iter().map(|name| label(name)).collect(),
    };
    let all = check(&program, set.architecture())?;
    let find = |number| {
        let at = at(number);
        // A row may start inside of an instruction.
        let contains =
            |verdict: &&Verdict| (verdict.at..verdict.at + u64::from(verdict.length)).contains(&at);
        let exact = all.iter().find(|verdict| verdict.at == at);
        exact.or_else(|| all.iter().find(contains)).cloned()
    };
    Some((0..notes.rows.len()).map(find).collect())
}

/// Returns the loaded sections.
fn sections<'data>(file: &object::File<'data>) -> Vec<Section<'data>> {
    let loaded = file
        .sections()
        .filter(|one| one.address() != 0 && one.size() != 0);
    let mut sections: Vec<_> = loaded
        .map(|section| Section {
            address: section.address(),
            data: section.data().unwrap().to_vec().into(),
            is_code: section.kind() == SectionKind::Text,
            is_linkage: section.name().unwrap().starts_with(".plt"),
        })
        .filter(|section| !section.data.is_empty())
        .collect();
    sections.sort_by_key(|section| section.address);
    sections
}

fn symbols(file: &object::File<'_>, is_thumb: bool) -> Vec<Declared> {
    let functions = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text);
    let mut symbols: Vec<_> = functions
        .map(|symbol| {
            let start = symbol.address() & !u64::from(is_thumb);
            Declared {
                start,
                end: start + symbol.size(),
            }
        })
        .collect();
    symbols.sort_unstable();
    symbols
}

fn modes(file: &object::File<'_>, set: Set) -> Vec<(u64, Mode)> {
    if set.word() == 8 {
        return Vec::new();
    }
    let mode = |name: &str| match name.get(..2)? {
        "$a" => Some(Mode::Usual),
        "$t" => Some(Mode::Thumb),
        "$d" => Some(Mode::Data),
        _ => None,
    };
    let marks =
        (file.symbols()).filter_map(|symbol| Some((symbol.address(), mode(symbol.name().ok()?)?)));
    let mut modes: Vec<_> = marks.collect();
    modes.sort_unstable_by_key(|(at, _)| *at);
    modes
}

/// Returns the ranges that mapping symbols mark as data.
fn marked(file: &object::File<'_>, set: Set) -> Vec<(u64, u64)> {
    if set != Set::A64 {
        return Vec::new();
    }
    let marks = file
        .symbols()
        .filter(|symbol| symbol.name().is_ok_and(|name| name.starts_with('$')))
        .map(|symbol| (symbol.address(), symbol.name().unwrap().starts_with("$d")));
    let ends = file
        .sections()
        .map(|one| (one.address() + one.size(), false));
    let mut all: Vec<_> = marks.chain(ends).collect();
    all.sort_unstable();
    all.dedup_by_key(|(at, _)| *at);
    let pairs = all.windows(2).filter(|pair| pair[0].1);
    pairs.map(|pair| (pair[0].0, pair[1].0)).collect()
}

/// Returns the words of data that are addresses of code, and where they are.
fn addresses(sections: &[Section<'_>], word: usize, is_thumb: bool) -> Vec<(u64, u64)> {
    let is_code = |address: u64| {
        let end = |one: &Section<'_>| one.address + one.data.len() as u64;
        sections
            .iter()
            .any(|one| one.is_code && (one.address..end(one)).contains(&address))
    };
    let mut taken = Vec::new();
    for section in sections.iter().filter(|section| !section.is_code) {
        for (index, bytes) in section.data.chunks_exact(word).enumerate() {
            let number = bytes
                .iter()
                .rev()
                .fold(0, |all, byte| all << 8 | u64::from(*byte));
            let address = number & !u64::from(is_thumb);
            if is_code(address) {
                taken.push((address, section.address + (index * word) as u64));
            }
        }
    }
    taken.sort_unstable();
    taken
}

/// Assembles and links a program.
fn link(set: Set, text: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("row_checker_rules")
        .join(number.to_string());
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let text = text.replace('{', "{{").replace('}', "}}");
    let input = setup::assemble(&folder, set.target(), &text)
        .unwrap_or_else(|why| panic!("{why:#}\n{text}"));
    let target = setup::workspace::target_folder().unwrap();
    let linker = setup::program("ld.lld", "lld", &target).unwrap();
    let output = folder.join("image");
    let linked = Command::new(linker)
        .args(["-e", "0", "-T"])
        .arg(script(&folder))
        .arg("-o")
        .args([&output, &input])
        .output()
        .unwrap();
    assert!(
        linked.status.success(),
        "{}",
        String::from_utf8_lossy(&linked.stderr)
    );
    output
}

/// Writes a linker script: code, code that the linker makes, and data.
fn script(folder: &Path) -> PathBuf {
    let path = folder.join("script.ld");
    let text = "SECTIONS { . = 0x100000; .text : { *(.text) } .other : { *(.other) } .plt : { *(.plt) }\n\
                . = 0x110000; .rodata : { *(.rodata) } .data : { *(.data) } }\n";
    fs::write(&path, text).unwrap();
    path
}
