//! gdb steps through handlers, and tells the registers and the words of the stacks; `unwind` walks here, from each
//! instruction, by the image's own table.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};
use qemu::machine::{Arch, Boot};
use unwind::sframe::Tables;
use unwind::x86_64::Registers;
use unwind::{Code, End, Found, Proof, Range, RowSource, Stacks, Unwinder};

use crate::support::words::{Words, hex};
use crate::support::{gdb, symbols};

/// Bytes of each stack that are looked at, up to its end.
const DEPTH: u64 = 8192;

/// The handlers, and the bytes of error code that each finds on its stack.
const HANDLERS: [(&str, u64); 3] = [("breakpoint", 0), ("page_fault", 8), ("double_fault", 8)];

/// How often a handler is stepped through that no other one interrupts.
const COUNT: u32 = 3;

/// What was seen of a handler.
#[derive(Debug)]
pub struct Passage {
    pub handler: &'static str,
    /// Instructions at which it was stopped.
    pub steps: usize,
    /// How many of them have an unproven row.
    pub unproven: usize,
    pub returned: bool,
    /// Where it starts.
    at: u64,
    error_code: u64,
    /// Stack pointer and frame pointer at its first instruction.
    entry: Option<(u64, u64)>,
}

/// Steps through the handlers of a boot, in the order in which they end. Fails where a walk from a handler does not lead on to
/// what was interrupted, as the processor's words on the stack have it.
pub fn run(path: &Path) -> Vec<Passage> {
    let data = std::fs::read(path).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    let handlers = HANDLERS.map(|(name, error_code)| {
        let demangled = format!("handlers::interrupts::{name}");
        let symbol = file.symbols().find(|symbol| {
            let name = symbol.name().expect("it is text");
            format!("{:#}", rustc_demangle::demangle(name)) == demangled
        });
        let symbol = symbol.unwrap_or_else(|| panic!("no {demangled}"));
        (name, error_code, symbol.address(), symbol.size())
    });
    let pairs = handlers.map(|(_, _, start, size)| format!("{start:x},{:x}", start + size));
    let ends = ["stack_end", "spare_end"].map(|name| symbols::address(&file, name));
    let stacks = ends.map(|end| format!("{:x},{end:x}", end - DEPTH));
    let script = gdb::script("handlers.py");
    let commands = [
        format!("set $stacks = \"{}\"", stacks.join(" ")),
        format!("set $handlers = \"{}\"", pairs.join(" ")),
        format!("set $count = {COUNT}"),
        format!("source {}", script.display()),
    ];
    let session = gdb::session(Boot::new(Arch::X86_64, path, ""), commands);
    let mut machine = Machine {
        file: &file,
        stacks: ends.map(|end| Range::new(end - DEPTH, end)),
        words: Words::default(),
    };
    let (mut open, mut over): (Vec<Passage>, Vec<Passage>) = Default::default();
    for line in session.said.lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("words") => machine.words.remember(words),
            Some("handler") => {
                let at = hex(words.next().expect("an address"));
                let found = handlers.iter().find(|(_, _, start, _)| *start == at);
                let (handler, error_code, ..) = *found.expect("one of the handlers");
                open.push(Passage {
                    handler,
                    steps: 0,
                    unproven: 0,
                    returned: false,
                    at,
                    error_code,
                    entry: None,
                });
            }
            Some("at") => {
                let registers: Vec<u64> = words.map(hex).collect();
                let passage = open.last_mut().expect("a handler");
                machine.check(passage, &registers);
            }
            Some("back") => {
                let mut passage = open.pop().expect("a handler");
                passage.returned = true;
                over.push(passage);
            }
            _ => {}
        }
    }
    over.extend(open);
    assert!(
        !over.is_empty(),
        "gdb said:\n{}\n{}",
        session.said,
        session.complained
    );
    over
}

/// What is known of the machine by now.
struct Machine<'a> {
    file: &'a object::File<'a>,
    stacks: [Range; 2],
    words: Words,
}

impl Machine<'_> {
    /// Walks from an instruction of a handler, and from what the handler has interrupted.
    fn check(&self, passage: &mut Passage, registers: &[u64]) {
        let &[pc, sp, fp] = registers else {
            panic!("registers {registers:x?}");
        };
        let (entry, kept) = *passage.entry.get_or_insert((sp, fp));
        let pushed = entry + passage.error_code;
        let interrupted = Registers::new(self.words.at(pushed), self.words.at(pushed + 24), kept);
        let (before, end) = self.walk(interrupted);
        let (found, found_end) = self.walk(Registers::new(pc, sp, fp));
        let place = format!("{}+{:#x}", passage.handler, pc - passage.at);
        assert_eq!(
            end,
            End::Complete,
            "{place}: what it interrupted: {before:x?}"
        );
        // `double_fault` never returns, so nothing in its code tells that it is a handler. `page_fault` overwrites the return address.
        let is_proven = self.proof(pc) == Proof::Proven;
        let expected = match is_proven {
            true => End::Complete,
            false => End::Outermost,
        };
        assert_eq!(found_end, expected, "{place}: {found:x?}");
        assert!(is_proven || passage.handler != "breakpoint", "{place}");
        passage.unproven += usize::from(!is_proven);
        assert_eq!(found[0], pc, "{place}");
        assert_eq!(found[1..], before, "{place}");
        passage.steps += 1;
    }

    fn section(&self, name: &str) -> (&[u8], u64) {
        let section = self.file.section_by_name(name);
        let section = section.expect("it is in the image");
        (section.data().expect("its bytes"), section.address())
    }

    /// Returns whether the row for an instruction is proven.
    fn proof(&self, pc: u64) -> Proof {
        let (table, address) = self.section(".sframe");
        let mut found = Found::EMPTY;
        let outcome = RowSource::look_up(&Tables::new(table, address), pc, &mut found);
        outcome.expect("a row");
        found.proof
    }

    fn walk(&self, registers: Registers) -> (Vec<u64>, End) {
        let (table, table_address) = self.section(".sframe");
        let (text, text_address) = self.section(".text");
        let code = [Code::new(text, text_address)];
        let unwinder = Unwinder::new(Tables::new(table, table_address)).code(&code);
        let stacks = Stacks::new(&self.stacks, |address| self.words.get(address));
        let mut frames = unwinder.frames(registers, stacks);
        let found = frames.by_ref().map(|frame| frame.pc).collect();
        (found, frames.end().expect("an ended walk has a reason"))
    }
}
