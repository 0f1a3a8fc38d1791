//! Single-steps through handlers with the oracle's machine, and walks from each instruction with the image's own tables.

use std::path::Path;

use qemu::machine::Arch;
use qemu::oracle::{Image, Machine};
use qemu::stub::{Registers, State};
use unwind::{End, Found, Proof, Range, RegisterSet, RowSource, Stacks, Unwinder, x86_64};

use crate::support::built;
use crate::support::event::HANG;

/// Bytes of each stack that a walk may read, up to the end of the stack.
const DEPTH: u64 = 8192;

/// The handlers, and the bytes of error code that each finds on its stack.
const HANDLERS: [(&str, u64); 3] = [("breakpoint", 0), ("page_fault", 8), ("double_fault", 8)];

/// `iretq`.
const INTERRUPT_RETURN: [u8; 2] = [0x48, 0xcf];

/// A handler of the kernel.
#[derive(Clone, Copy)]
struct Handler {
    name: &'static str,
    error_code: u64,
    code: Range,
}

/// What was seen of a handler.
#[derive(Debug)]
pub struct Passage {
    pub handler: &'static str,
    /// Instructions at which it was stopped.
    pub steps: usize,
    /// How many of them have an unproven row.
    pub unproven: usize,
    pub returned: bool,
}

/// Steps through the handlers of a boot. Returns them in the order in which they end. Fails if a walk from a handler does not lead to what
/// was interrupted, according to the words that the processor has pushed.
pub fn run(path: &Path) -> Vec<Passage> {
    let image = Image::read(path, Arch::X86_64).expect("the image can be read");
    let handlers = HANDLERS.map(|(name, error_code)| {
        let full = format!("handlers::interrupts::{name}");
        let function = image.functions().find(|(name, _)| *name == full);
        let (_, code) = function.unwrap_or_else(|| panic!("no {full}"));
        Handler {
            name,
            error_code,
            code,
        }
    });
    let emulator = built::emulator(Arch::X86_64);
    let machine = Machine::start(&emulator, path, &image, "", 1).expect("the machine starts");
    let stacks = ["stack_end", "spare_end"].map(|name| {
        let end = image.address(name).expect("the end of a stack");
        Range::new(end - DEPTH, end)
    });
    let mut stepper = Stepper {
        image: &image,
        machine,
        handlers,
        stacks,
        passages: Vec::new(),
    };
    let starts = handlers.map(|handler| handler.code.start);
    let stops = stepper.machine.stop_at(&starts);
    stops.expect("it stops at handlers");
    while let Some(state) = stepper.go_on() {
        if stepper.step_handler(state).is_none() {
            break;
        }
    }
    stepper.passages
}

struct Stepper<'a> {
    image: &'a Image,
    machine: Machine,
    handlers: [Handler; 3],
    stacks: [Range; 2],
    passages: Vec<Passage>,
}

impl Stepper<'_> {
    /// Runs up to the start of a handler. Returns `None` if the machine has ended.
    fn go_on(&mut self) -> Option<State> {
        let stopped = self.machine.run_within(HANG).expect("the machine runs");
        let (state, is_late) = stopped?;
        assert!(!is_late, "neither a handler nor the end of the machine");
        Some(state)
    }

    /// The handler that starts at an address.
    fn handler_at(&self, pc: u64) -> Option<Handler> {
        let mut handlers = self.handlers.iter();
        handlers.find(|one| one.code.start == pc).copied()
    }

    /// Steps from the first instruction of a handler to the interrupted one. Returns `None` if the machine has ended before.
    fn step_handler(&mut self, entry: State) -> Option<State> {
        let handler = self.handler_at(entry.pc).expect("one of the handlers");
        let mut passage = Passage {
            handler: handler.name,
            steps: 0,
            unproven: 0,
            returned: false,
        };
        let mut state = entry;
        let end = loop {
            self.check(handler, &entry, &state, &mut passage);
            let is_return = (self.image.instruction(state.pc)).starts_with(&INTERRUPT_RETURN);
            let after = self.machine.step().expect("the machine steps");
            let next = match after {
                Some(after) if is_return => break Some(after),
                Some(after) if (handler.code.start..handler.code.end).contains(&after.pc) => {
                    Some(after)
                }
                Some(after) => self.run_out(after),
                None => None,
            };
            match next {
                Some(next) => state = next,
                None => break None,
            }
        };
        passage.returned = end.is_some();
        self.passages.push(passage);
        end
    }

    /// Runs from the first instruction of a called function to its return. Steps through handlers that interrupt the function.
    fn run_out(&mut self, called: State) -> Option<State> {
        let to = self.word(called.sp);
        loop {
            let stopped = self.machine.run_to_within(to, HANG);
            let (mut state, is_late) = stopped.expect("the machine runs")?;
            assert!(!is_late, "a function neither returns nor ends the machine");
            if state.pc == to && state.sp > called.sp {
                return Some(state);
            }
            state = self.step_handler(state)?;
            assert_ne!(state.pc, to, "a handler has interrupted no function");
        }
    }

    /// Walks from an instruction of a handler, and from what the handler has interrupted.
    fn check(&self, handler: Handler, entry: &State, state: &State, passage: &mut Passage) {
        let pushed = entry.sp + handler.error_code;
        let (pc, sp) = (self.word(pushed), self.word(pushed + 24));
        let interrupted = x86_64::Registers::new(pc, sp, registers(entry).fp());
        let (before, end) = self.walk(interrupted);
        let (found, found_end) = self.walk(registers(state));
        let place = format!("{}+{:#x}", handler.name, state.pc - handler.code.start);
        assert_eq!(
            end,
            End::Complete,
            "{place}: what it interrupted: {before:x?}"
        );
        // `double_fault` never returns, so nothing in its code shows that it is a handler, but the stack does. `page_fault` overwrites the
        // return address.
        let proof = self.proof(state.pc);
        let is_shown_by_code = handler.name != "double_fault";
        assert_eq!(proof != Proof::IfEntered, is_shown_by_code, "{place}");
        let is_proven = proof != Proof::Unproven;
        let expected = match is_proven {
            true => End::Complete,
            false => End::Outermost,
        };
        assert_eq!(found_end, expected, "{place}: {found:x?}");
        assert!(is_proven || handler.name != "breakpoint", "{place}");
        passage.unproven += usize::from(!is_proven);
        assert_eq!(found[0], state.pc, "{place}");
        assert_eq!(found[1..], before, "{place}");
        passage.steps += 1;
    }

    /// The word at an address of a stack.
    fn word(&self, address: u64) -> u64 {
        let word = self.machine.ram.word(address);
        word.unwrap_or_else(|| panic!("no word at {address:#x}"))
    }

    /// Returns whether the row for an instruction is proven.
    fn proof(&self, pc: u64) -> Proof {
        let mut found = Found::EMPTY;
        let tables = self.image.tables(&self.image.table);
        let outcome = RowSource::look_up(&tables, pc, &mut found);
        outcome.expect("a row");
        found.proof
    }

    fn walk(&self, registers: x86_64::Registers) -> (Vec<u64>, End) {
        let code = [self.image.code()];
        let unwinder = Unwinder::new(self.image.tables(&self.image.table)).code(&code);
        let stacks = Stacks::new(&self.stacks, |address| self.machine.ram.word(address));
        let mut frames = unwinder.frames(registers, stacks);
        let found = frames.by_ref().map(|frame| frame.pc).collect();
        (found, frames.end().expect("an ended walk has a reason"))
    }
}

fn registers(state: &State) -> x86_64::Registers {
    match state.registers {
        Registers::X86(registers) => registers,
        _ => panic!("registers of another architecture"),
    }
}
