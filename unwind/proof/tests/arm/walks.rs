//! Walks by exception tables, of a program that runs: between every two instructions, against the calls that the machine has made. Those
//! are told by its registers: at a function's first instruction, the link register has the address behind the instruction before.
//! No table and no decoder has a hand in it.

use std::collections::BTreeSet;

use unwind::arm::Registers;
use unwind::{Code, End, Fallbacks, RegisterSet, Stacks, Unwinder};

use crate::arm::machine::{Core, Machine, Words};
use crate::arm::program::Program;

/// ARM and Thumb code, with frame pointers and without. ARM code calls the first function of each.
const OPTIONS: [&str; 7] = [
    "-marm -O0",
    "-marm -O1 -fomit-frame-pointer",
    "-marm -O2",
    "-mthumb -O0",
    "-mthumb -O1",
    "-mthumb -O2 -fno-omit-frame-pointer",
    "-mthumb -Os",
];

/// A frame: its program counter, its stack pointer, and `r4` to `r11`, which functions leave to their callers as they were.
type Place = (u64, u64, [u64; 8]);

/// The frame that a function returns to, by the registers at its first instruction.
fn caller(at_entry: &Core) -> Place {
    let kept = std::array::from_fn(|index| at_entry[index + 4].into());
    (u64::from(at_entry[14] & !1), at_entry[13].into(), kept)
}

struct Walked {
    frames: Vec<Place>,
    end: End,
    doubt: Option<End>,
}

fn walk(program: &Program, core: &Core, stack: &Words, from_call: bool) -> Walked {
    let (bytes, address) = &program.code;
    let code = [Code::new(bytes, *address)];
    let outermost = [program.first];
    let tables = program.image.tables().outermost(&outermost);
    let unwinder = Unwinder::new(tables)
        .code(&code)
        .fallbacks(Fallbacks::empty());
    let ranges = [stack.range];
    let memory = Stacks::new(&ranges, |address| Some(stack.word(address)));
    let registers = Registers::of(core);
    // Nobody has told which code has no caller: what the linker writes of it says nothing.
    let untold = Unwinder::new(program.image.tables()).code(&code);
    let mut untold = untold.frames_from_call(registers, memory);
    untold.by_ref().for_each(drop);
    assert!(!untold.end().is_some_and(|end| end.is_complete()));
    let mut frames = match from_call {
        true => unwinder.frames_from_call(registers, memory),
        false => unwinder.frames(registers, memory),
    };
    let places = frames.by_ref().map(|frame| {
        let registers = frame.registers.expect("a frame by a row has registers");
        assert!(frame.fp_known);
        let kept = std::array::from_fn(|index| match index as u32 + 4 {
            11 => registers.fp(),
            number => registers.other(number).expect("a register that is kept"),
        });
        (frame.pc, registers.sp(), kept)
    });
    Walked {
        frames: places.collect(),
        end: frames.end().expect("an ended walk has a reason"),
        doubt: frames.doubt().map(|doubt| doubt.reason),
    }
}

/// What came of the walks of a program.
#[derive(Debug, Default)]
struct Tally {
    calls: u32,
    deepest: usize,
    boundaries: u32,
    /// Between instructions: lists that are right although in doubt, and others.
    right: u32,
    wrong: u32,
}

fn every_call(options: &str) -> Tally {
    let program = Program::compile(options);
    let entries: BTreeSet<u64> = program.functions.iter().copied().collect();
    let mut unseen = entries.clone();
    let mut machine = Machine::start(&program);
    let mut core = machine.core();
    // Outermost first.
    let mut callers: Vec<Place> = Vec::new();
    let mut tally = Tally::default();
    loop {
        let stack = machine.stack(core[13]);
        let (_, sp, kept) = caller(&core);
        let mut truth: Vec<Place> = vec![(core[15].into(), sp, kept)];
        truth.extend(callers.iter().rev());
        let walked = walk(&program, &core, &stack, false);
        let place = format!("{options}, at {:#x}", core[15]);
        tally.boundaries += 1;
        // Exception tables contain no proof: this is their least doubt.
        if walked.doubt == Some(End::UnprovenTables) {
            // Of one function, which no other has called.
            assert_eq!(walked.frames, truth, "{place}");
            assert_eq!(
                truth.len(),
                1,
                "{place}: complete from an interrupted function"
            );
        } else if walked.frames == truth {
            let doubt = Some(End::OnlyAtCalls(core[15].into()));
            assert_eq!(
                (walked.end, walked.doubt),
                (End::Outermost, doubt),
                "{place}"
            );
            tally.right += 1;
        } else {
            tally.wrong += 1;
        }
        let before = core;
        if !machine.step() {
            break;
        }
        core = machine.core();
        let pc = u64::from(core[15]);
        unseen.remove(&pc);
        if let Some((returns_to, sp, kept)) = callers.last()
            && (pc, u64::from(core[13])) == (*returns_to, *sp)
        {
            assert_eq!(caller(&core).2, *kept, "what a function has to keep");
            callers.pop();
        } else if entries.contains(&pc)
            && (before[15] + 1..=before[15] + 4).contains(&(core[14] & !1))
        {
            callers.push(caller(&core));
            tally.calls += 1;
            tally.deepest = tally.deepest.max(callers.len());
            // The caller, as a debugger sees it behind its call.
            let mut after = core;
            after[15] = core[14];
            let stack = machine.stack(after[13]);
            let walked = walk(&program, &after, &stack, true);
            let truth: Vec<Place> = callers.iter().rev().copied().collect();
            assert_eq!(
                walked.frames, truth,
                "{options}, call from {:#x}",
                before[15]
            );
            let doubt = Some(End::UnprovenTables);
            assert_eq!((walked.end, walked.doubt), (End::Outermost, doubt));
        }
    }
    assert_eq!(unseen, BTreeSet::new(), "functions that did not run");
    println!("{options}: {tally:?}");
    tally
}

#[test]
fn every_list_of_callers_is_right_at_every_call() {
    for options in OPTIONS {
        let tally = every_call(options);
        assert!(tally.calls > 40 && tally.deepest >= 6, "{tally:?}");
        assert!(tally.right > tally.boundaries / 4, "{tally:?}");
    }
}
