//! The comparison of rules that are read out of code with rows.

use std::collections::BTreeMap;
use std::fmt;

use object::{Architecture, File, Object, ObjectSection, SectionKind};
use unwind::sframe::Tables;
use unwind::{
    Base, CodeReader, Found, Machine, Range, Row, RowSource, Rule, Rules, aarch64, x86_64,
};

/// An image's code, section by section.
pub struct Code<'data> {
    machine: Machine,
    sections: Vec<(u64, &'data [u8])>,
}

impl<'data> Code<'data> {
    pub fn of(file: &File<'data>) -> Self {
        let machine = match file.architecture() {
            Architecture::Aarch64 => Machine::AArch64,
            _ => Machine::X86_64,
        };
        let sections = file.sections();
        let text = sections.filter(|section| section.kind() == SectionKind::Text);
        let text = text.map(|text| (text.address(), text.data().expect("its bytes")));
        Self {
            machine,
            sections: text.collect(),
        }
    }

    /// The section with all of a function, and the function's bytes.
    fn function(&self, range: Range) -> Option<(unwind::Code<'data>, &'data [u8])> {
        let mut sections = self.sections.iter();
        sections.find_map(|&(address, bytes)| {
            let from = usize::try_from(range.start.checked_sub(address)?).ok()?;
            let to = usize::try_from(range.end.checked_sub(address)?).ok()?;
            Some((unwind::Code::new(bytes, address), bytes.get(from..to)?))
        })
    }

    /// Where the instructions of a function are, by another decoder.
    fn instructions(&self, bytes: &[u8], range: Range) -> Vec<u64> {
        if self.machine == Machine::AArch64 {
            return (range.start..range.end).step_by(4).collect();
        }
        let options = iced_x86::DecoderOptions::NONE;
        let decoder = iced_x86::Decoder::with_ip(64, bytes, range.start, options);
        let instructions = decoder.into_iter();
        instructions.map(|instruction| instruction.ip()).collect()
    }

    /// The rules that are read out of a function's code. There are no rows for it.
    fn read(&self, code: &unwind::Code<'_>, function: Range, pc: u64) -> Option<Rules> {
        let function_at = |_| Some(function);
        let nothing = Tables::none();
        let found = match self.machine {
            Machine::AArch64 => CodeReader::<aarch64::Registers, _>::new(nothing, &function_at)
                .read_code(self.machine, code, pc),
            _ => CodeReader::<x86_64::Registers, _>::new(nothing, &function_at).read_code(
                self.machine,
                code,
                pc,
            ),
        };
        found.map(|found| found.rules)
    }
}

/// How the rules for instructions compare with their rows.
#[derive(Default)]
pub struct Measured {
    pub same: u64,
    pub unknown: u64,
    /// By what differs, how many, and the first addresses.
    wrong: BTreeMap<String, (u64, Vec<u64>)>,
    /// Those of them whose row is proven.
    pub wrong_though_proven: u64,
}

impl Measured {
    pub fn all(&self) -> u64 {
        self.same + self.unknown + self.wrong()
    }

    pub fn wrong(&self) -> u64 {
        self.wrong.values().map(|(count, _)| count).sum()
    }

    pub fn percent(&self, count: u64) -> f64 {
        count as f64 * 100.0 / self.all() as f64
    }

    /// Compares at every instruction of a function that has a row and a caller. `rows` are the rows of the function.
    pub fn function(
        &mut self,
        code: &Code<'_>,
        range: Range,
        rows: &[Row],
        tables: &Tables<'_>,
        is_proven: &dyn Fn(u64) -> bool,
    ) {
        let Some((section, bytes)) = code.function(range) else {
            return;
        };
        let mut found = Found::EMPTY;
        for pc in code.instructions(bytes, range) {
            let outcome = tables.look_up(pc, &mut found);
            if outcome.is_err() || found.is_trap || found.rules.is_outermost() {
                continue;
            }
            let Some(read) = code.read(&section, range, pc) else {
                self.unknown += 1;
                continue;
            };
            let differs = difference(&found.rules, &read, rows);
            if differs.is_empty() {
                self.same += 1;
                continue;
            }
            self.wrong_though_proven += u64::from(is_proven(pc));
            let (count, places) = self.wrong.entry(differs).or_default();
            *count += 1;
            if places.len() < 4 {
                places.push(pc);
            }
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} instructions: {:.3} % the same, {:.3} % not known, {:.3} % wrong, {:.3} % though proven",
            self.all(),
            self.percent(self.same),
            self.percent(self.unknown),
            self.percent(self.wrong()),
            self.percent(self.wrong_though_proven)
        )?;
        for (differs, (count, places)) in &self.wrong {
            write!(f, "\n    {count}: {differs}: {places:x?}")?;
        }
        Ok(())
    }
}

/// What differs, if a walk would come to another caller, or might.
///
/// A register that is saved and has not been overwritten yet, or is restored already, is in two places. There a row may say either,
/// and so may the rules: they count as the same where another row of the function has that place, and it has not been popped.
fn difference(row: &Rules, read: &Rules, rows: &[Row]) -> String {
    let mut text = Vec::new();
    let mut note = |what: &str, read: Rule, row: Rule| {
        text.push(format!("{what} {read:?}, not {row:?}"));
    };
    if row.cfa() != read.cfa() && !is_frame_record(row, read) {
        note("frame", read.cfa(), row.cfa());
    }
    // Below it everything was popped.
    let lowest = match row.cfa() {
        Rule::Value {
            base: Base::StackPointer,
            offset,
        } => -offset,
        _ => i64::MIN,
    };
    for (what, of) in [
        (
            "return address",
            Rules::return_address as fn(&Rules) -> Rule,
        ),
        ("frame pointer", Rules::frame_pointer),
    ] {
        let equal = match (of(row), of(read)) {
            (
                Rule::Same,
                Rule::Saved {
                    base: Base::Cfa,
                    offset,
                },
            ) => {
                let mut others = rows.iter().map(Rules::from);
                offset >= lowest && others.any(|other| of(&other) == of(read))
            }
            (
                Rule::Saved {
                    base: Base::Cfa,
                    offset,
                },
                Rule::Same,
            ) => offset < lowest,
            (row, read) => row == read,
        };
        if !equal {
            note(what, of(read), of(row));
        }
    }
    text.join("; ")
}

/// Whether the row counts from the stack pointer, and the rules from a frame pointer that points to where the row has the caller's one:
/// to a frame record (AAPCS64, 6.4.6). Both give the same frame. The toolchain's `core` has frame pointers, and rows that do not use them.
fn is_frame_record(row: &Rules, read: &Rules) -> bool {
    let from = |rules: &Rules, register: Base| match rules.cfa() {
        Rule::Value { base, offset } if base == register => Some(offset),
        _ => None,
    };
    let record = match row.frame_pointer() {
        Rule::Saved {
            base: Base::Cfa,
            offset,
        } => Some(-offset),
        _ => None,
    };
    from(row, Base::StackPointer).is_some()
        && record.is_some()
        && from(read, Base::FramePointer) == record
}
