//! The notation of programs with rows: see `support`.

use unwind::Kept;
use unwind::sframe::{Base, Row, Rule};

use super::support::Set;

/// A row of a line.
pub struct Note {
    /// The line.
    pub line: String,
    /// The row that the program has.
    pub row: Row,
    /// It must be accepted.
    pub is_right: bool,
    /// It must be accepted if the processor enters the function, and only then.
    pub if_entered: bool,
    /// Rows that must be refused in its place.
    pub wrong: Vec<Row>,
}

/// Rows from one label to another.
pub struct Group {
    pub start: String,
    pub end: String,
    pub is_trap: bool,
    /// The numbers of its rows.
    pub rows: Vec<usize>,
}

/// A program's text for the assembler, and what its lines state.
#[derive(Default)]
pub struct Notes {
    pub text: String,
    pub rows: Vec<Note>,
    pub groups: Vec<Group>,
    pub described: Vec<(String, String)>,
    pub traps: Vec<String>,
    pub pads: Vec<([String; 3], i32)>,
    pub red_zone: i32,
    pub other_mode: Vec<String>,
}

/// Returns the label of a row's instruction.
pub fn row_label(number: usize) -> String {
    format!("row_{number}")
}

impl Notes {
    /// Reads a program.
    pub fn of(set: Set, text: &str) -> Self {
        let mut notes = Self {
            text: set.start().to_owned(),
            red_zone: 0,
            ..Self::default()
        };
        let mut name = String::new();
        let mut is_open = false;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match *words {
                ["fn", symbol, ref kind @ ..] => {
                    notes.close(&mut is_open);
                    let mark = if set == Set::T32 { ".thumb_func\n" } else { "" };
                    let put =
                        format!("{mark}.globl {symbol}\n.type {symbol}, %function\n{symbol}:\n");
                    notes.text += &put.replace('%', if set == Set::X86 { "@" } else { "%" });
                    symbol.clone_into(&mut name);
                    if kind != ["bare"] {
                        notes.open(kind == ["trap"], &mut is_open);
                    }
                }
                ["rows", ref kind @ ..] => {
                    notes.close(&mut is_open);
                    notes.open(kind == ["trap"], &mut is_open);
                }
                ["end"] => {
                    notes.close(&mut is_open);
                    notes.text += &format!(".size {name}, . - {name}\n");
                }
                ["fde", ref mark @ ..] => {
                    let number = notes.described.len();
                    let (start, end) = (format!("fde_{number}"), format!("fde_end_{number}"));
                    notes.text += &format!("{start}:\n");
                    if mark == ["trap"] {
                        notes.traps.push(start.clone());
                    }
                    notes.described.push((start, end));
                }
                ["endfde"] => notes.text += &format!("fde_end_{}:\n", notes.described.len() - 1),
                ["enter32", name] => notes.other_mode.push(name.to_owned()),
                ["red", bytes] => notes.red_zone = bytes.parse().unwrap(),
                ["pad", start, end, pad, arguments] => {
                    let labels = [start, end, pad].map(str::to_owned);
                    notes.pads.push((labels, arguments.parse().unwrap()));
                }
                _ => notes.line(set, line),
            }
        }
        notes.close(&mut is_open);
        notes
    }

    fn open(&mut self, is_trap: bool, is_open: &mut bool) {
        let number = self.groups.len();
        let (start, end) = (format!("rows_{number}"), format!("rows_end_{number}"));
        self.text += &format!("{start}:\n");
        self.groups.push(Group {
            start,
            end,
            is_trap,
            rows: Vec::new(),
        });
        *is_open = true;
    }

    fn close(&mut self, is_open: &mut bool) {
        if std::mem::take(is_open) {
            let group = self.groups.last().unwrap();
            self.text += &format!("{}:\n", group.end);
        }
    }

    fn line(&mut self, set: Set, line: &str) {
        let (instruction, rows) = line.split_once('|').unwrap_or((line, ""));
        if !rows.is_empty() {
            let number = self.rows.len();
            self.text += &format!("{}:\n", row_label(number));
            let (mut right, mut if_entered) = (None, false);
            let mut wrong = Vec::new();
            for text in rows.split(';').map(str::trim) {
                match text.split_once(' ') {
                    Some(("not", text)) => wrong.push(row(set, text)),
                    Some(("if", text)) => (right, if_entered) = (Some(row(set, text)), true),
                    _ => right = Some(row(set, text)),
                }
            }
            let is_right = right.is_some();
            let row = right.unwrap_or_else(|| wrong.remove(0));
            self.rows.push(Note {
                line: line.to_owned(),
                row,
                is_right,
                if_entered,
                wrong,
            });
            self.groups.last_mut().unwrap().rows.push(number);
        }
        self.text += instruction.trim();
        self.text.push('\n');
    }
}

/// Returns the row at the first instruction of a function that was called.
pub fn call(set: Set) -> Row {
    row(set, if set == Set::X86 { "sp+8" } else { "sp+0" })
}

fn row(set: Set, text: &str) -> Row {
    let mut words = text.split_whitespace();
    let cfa = rule(words.next().unwrap());
    let return_address = match (set, cfa) {
        (_, Rule::Undefined) => Rule::Undefined,
        (Set::X86, _) => Rule::Saved {
            base: Base::Cfa,
            offset: -8,
        },
        _ => Rule::Same,
    };
    let mut row = Row {
        offset: 0,
        cfa,
        return_address,
        frame_pointer: Rule::Undefined,
        signed: false,
        kept: Kept::of_bytes([u8::MAX; Kept::COUNT]),
    };
    for word in words {
        match word.split_once('=') {
            None if word == "signed" => row.signed = true,
            Some(("ra", text)) => row.return_address = rule(text),
            Some(("fp", text)) => row.frame_pointer = rule(text),
            Some((register, text)) => {
                row.kept.set(
                    register.strip_prefix('r').unwrap().parse().unwrap(),
                    rule(text),
                );
            }
            None => panic!("{word}"),
        }
    }
    row
}

fn rule(text: &str) -> Rule {
    let inner = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let place = inner.unwrap_or(text);
    match place {
        "none" => return Rule::Undefined,
        "same" => return Rule::Same,
        _ => {}
    }
    let split = place.find(['+', '-']).unwrap();
    let offset: i64 = place[split..].parse().unwrap();
    let base = match &place[..split] {
        "sp" => Base::StackPointer,
        "fp" => Base::FramePointer,
        "c" => {
            return Rule::Saved {
                base: Base::Cfa,
                offset,
            };
        }
        name => Base::Register(name.strip_prefix('r').unwrap().parse().unwrap()),
    };
    match inner {
        Some(_) => Rule::Saved { base, offset },
        None => Rule::Value { base, offset },
    }
}
