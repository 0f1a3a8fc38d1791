//! The tables that `unwind` stores as examples of the format, byte by byte. `SYMBOLS_GOLDEN=write cargo test -p sframe-link
//! golden::` writes them again, after a change that is meant to be one.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use linker::symbols::{
    Blob, Code, Coverage, Frame, Function, Level, Names, Piece, Traced, compare,
};
use unwind::symbols::SymbolTable;

/// Pseudo-random numbers (xorshift64*), the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// Code that no compiler has made: with all that the format can say, in little space. Instructions have `unit` bytes,
/// or a multiple.
fn code(unit: u64) -> Code {
    let mut random = Random(0x5eed);
    let mut code = Code {
        style: Names::Short,
        has_lines: true,
        knows_instructions: true,
        ..Code::default()
    };
    code.files.number("");
    code.names.number("");
    code.stacks.push(Vec::new());
    let files: Vec<u32> = [
        "kernel/src/main.rs",
        "kernel/src/task/mod.rs",
        "core/src/fmt/mod.rs",
        "alloc/src/vec/mod.rs",
    ]
    .into_iter()
    .map(|file| code.files.number(file))
    .collect();
    let inlined: Vec<(u32, u32)> = (0..12)
        .map(|index| {
            let name = format!("alloc::vec::Vec::<ä>::method_{}", index * 7);
            (code.names.number(&name), files[index % 4])
        })
        .collect();
    let mut at = 0x1000;
    for index in 0..40_u64 {
        // A range of its own: what is below 4 GiB in steps of 3 GiB, and code far from all.
        if index == 30 || index == 35 {
            at += 0x1_0000_0000 * index * index * index;
        }
        let name = code.names.number(&format!(
            "<kernel::task::Task as kernel::Run>::function_{index}"
        ));
        let start = at;
        let mut instructions = Vec::new();
        let own = files[index as usize % 2];
        // One in ten has no lines at all.
        let count = if index % 10 == 9 { 0 } else { random.below(30) };
        let mut stack = vec![Frame {
            name,
            file: own,
            line: 100 * index as u32 + 10,
        }];
        for _ in 0..count {
            match random.below(8) {
                0 => stack[0].line += 1,
                1 => stack[0].file = files[random.below(4) as usize],
                2 => stack.truncate(1),
                3 => stack.last_mut().unwrap().line = 0,
                4 if stack.len() == 1 => {
                    stack[0] = Frame {
                        file: own,
                        line: 100 * index as u32 + 11,
                        name,
                    }
                }
                depth => {
                    for _ in 0..depth.min(6) - 3 {
                        let (name, file) = inlined[random.below(12) as usize];
                        let line = 1000 + random.below(3) as u32 * 90;
                        stack.push(Frame { name, file, line });
                    }
                    // Deeper than a reader can take, now and then.
                    if stack.len() > 50 {
                        stack.truncate(3);
                    }
                }
            }
            for frame in &mut stack {
                if frame.line == 0 {
                    frame.file = 0
                } else if frame.file == 0 {
                    frame.file = own
                }
            }
            let length = unit * (1 + random.below(9));
            let known = code.stacks.iter().position(|known| *known == stack);
            let stack = if random.below(12) == 0 {
                0
            } else {
                known.unwrap_or_else(|| {
                    code.stacks.push(stack.clone());
                    code.stacks.len() - 1
                })
            };
            instructions.push(Traced {
                start: at,
                length: length as u32,
                is_call: (length > unit || unit > 1) && random.below(3) == 0,
                // Not by chance, which what follows would depend on.
                can_fault: (at / unit).is_multiple_of(3),
                stack: stack as u32,
            });
            at += length;
        }
        if count == 0 {
            at += unit * 3;
        }
        code.functions.push(Function {
            start,
            size: at - start,
            name,
        });
        code.pieces.push(Piece {
            function: index as usize,
            start,
            end: at,
            instructions,
        });
        at = (at + random.below(3) * unit).next_multiple_of(unit * 4);
    }
    nest(&mut code);
    code
}

/// Puts a function into the middle of another one.
fn nest(code: &mut Code) {
    let outer = code
        .pieces
        .iter()
        .position(|piece| piece.instructions.len() > 10)
        .expect("one of them is long");
    let name = code.names.number("inside");
    let (from, to) = (
        code.pieces[outer].instructions[4].start,
        code.pieces[outer].instructions[8].start,
    );
    let inside = Function {
        start: from,
        size: to - from,
        name,
    };
    let index = code.functions.len();
    // Functions ascend by start, pieces say which one they are of.
    code.functions.push(inside);
    let piece = code.pieces[outer].clone();
    let part = |function, start: u64, end: u64| Piece {
        function,
        start,
        end,
        instructions: piece
            .instructions
            .iter()
            .filter(|one| (start..end).contains(&one.start))
            .copied()
            .collect(),
    };
    let parts = [
        part(piece.function, piece.start, from),
        Piece {
            instructions: Vec::new(),
            ..part(index, from, to)
        },
        part(piece.function, to, piece.end),
    ];
    code.pieces.splice(outer..=outer, parts);
}

fn answers(table: &SymbolTable<'_>, code: &Code) -> String {
    let mut text = String::new();
    let mut ask = |address: u64| {
        let answer = match table.resolve(address) {
            None => "nothing".to_owned(),
            Some(answer) => {
                let frames: Vec<String> = answer
                    .frames()
                    .map(|frame| match frame.place() {
                        Some((file, line)) => format!("{} at {file}:{line}", frame.name),
                        None => frame.name.to_string(),
                    })
                    .collect();
                format!(
                    "{:#x}/{:#x} {:?} {}",
                    answer.start,
                    answer.size,
                    answer.precision,
                    frames.join(" in ")
                )
            }
        };
        writeln!(text, "{address:#x} {answer}").unwrap();
    };
    for piece in &code.pieces {
        ask(piece.start);
        ask(piece.end - 1);
        for instruction in piece.instructions.iter().skip(1).step_by(8) {
            ask(instruction.start);
            ask(instruction.start + u64::from(instruction.length) - 1);
        }
    }
    ask(0);
    ask(u64::MAX);
    text
}

#[test]
fn stored_tables_are_what_is_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../unwind/tests/data/symbols");
    let write = std::env::var_os("SYMBOLS_GOLDEN").is_some_and(|value| value == "write");
    for (name, unit, level) in [
        ("names", 1, Level::Names),
        ("lines", 1, Level::Lines),
        ("call-sites", 1, Level::CallSites),
        ("calls", 1, Level::Calls),
        ("faults", 1, Level::Faults),
        ("all", 1, Level::All),
        ("calls-of-words", 4, Level::Calls),
        ("faults-of-words", 4, Level::Faults),
    ] {
        let code = code(unit);
        let blob = Blob::new(&code, level);
        let bytes = blob.to_bytes(0, b"a build id of twenty");
        let table = SymbolTable::parse(&bytes, 0).unwrap();
        let comparison = compare(&table, &code, Coverage::Every);
        assert_eq!(comparison.differences, [], "{name}");
        let answers = answers(&table, &code);
        let file = |extension: &str| folder.join(name).with_extension(extension);
        if write {
            fs::write(file("symbols"), &bytes).unwrap();
            fs::write(file("answers"), &answers).unwrap();
            continue;
        }
        assert!(
            fs::read_to_string(file("answers")).unwrap() == answers,
            "{name}: other answers"
        );
        assert!(
            fs::read(file("symbols")).unwrap() == bytes,
            "{name}: the same answers, other bytes"
        );
    }
}

/// Those that say more than names.
const LEVELS: [Level; 5] = [
    Level::Lines,
    Level::CallSites,
    Level::Calls,
    Level::Faults,
    Level::All,
];

#[test]
fn a_wrong_answer_is_found_by_asking_everywhere_and_at_ends_only() {
    let mut code = code(1);
    let places: Vec<(usize, usize)> = (0..code.pieces.len())
        .flat_map(|piece| (0..code.pieces[piece].instructions.len()).map(move |at| (piece, at)))
        .collect();
    for level in LEVELS {
        let bytes = Blob::new(&code, level).to_bytes(0, &[]);
        let table = SymbolTable::parse(&bytes, 0).unwrap();
        assert_eq!(differences(&table, &code, Coverage::Ends), [0_u64; 0]);
        let mut wrong = 0;
        for &(piece, at) in places.iter().step_by(5) {
            let stack = code.pieces[piece].instructions[at].stack;
            // As if the table said of this instruction alone what it should not.
            code.pieces[piece].instructions[at].stack = (stack + 7) % code.stacks.len() as u32;
            let every = differences(&table, &code, Coverage::Every);
            let ends = differences(&table, &code, Coverage::Ends);
            if level == Level::Faults {
                // Those around it that had the same frames should have fewer now, all of them.
                assert_eq!(ends.is_empty(), every.is_empty(), "{piece}, {at}");
                assert!(ends.iter().all(|address| every.contains(address)));
            } else {
                assert_eq!(ends, every, "{level}: {piece}, {at}");
            }
            wrong += usize::from(!ends.is_empty());
            code.pieces[piece].instructions[at].stack = stack;
        }
        // At some instructions a level has nothing to say, and two stacks may have the same outermost line.
        assert!(wrong > places.len() / 5 / 4, "{level}: {wrong}");
    }
}

#[test]
fn a_row_that_ends_too_early_or_too_late_is_found() {
    let right = code(1);
    for level in LEVELS {
        let mut wrong = 0;
        for piece in (0..right.pieces.len()).step_by(5) {
            let stacks = right.pieces[piece].instructions.windows(2);
            let stacks = stacks.map(|two| (two[0].stack, two[1].stack));
            for (at, (before, after)) in stacks.enumerate().filter(|(_, (a, b))| a != b) {
                for (moved, stack) in [(at, after), (at + 1, before)] {
                    let mut code = code(1);
                    code.pieces[piece].instructions[moved].stack = stack;
                    let bytes = Blob::new(&code, level).to_bytes(0, &[]);
                    let table = SymbolTable::parse(&bytes, 0).unwrap();
                    let every = differences(&table, &right, Coverage::Every);
                    let ends = differences(&table, &right, Coverage::Ends);
                    assert_eq!(
                        ends.is_empty(),
                        every.is_empty(),
                        "{level}: {piece}, {moved}"
                    );
                    assert!(ends.iter().all(|address| every.contains(address)));
                    wrong += usize::from(!ends.is_empty());
                }
            }
        }
        assert!(wrong > 20, "{level}: {wrong}");
    }
}

#[test]
fn at_ends_every_instruction_that_can_fault_is_asked_about() {
    // Every piece has the same frames everywhere, so only its ends must be asked about otherwise.
    let one_run = || {
        let mut code = code(1);
        for piece in &mut code.pieces {
            let stack = piece.instructions.first().map_or(0, |first| first.stack);
            for instruction in &mut piece.instructions {
                instruction.stack = stack;
                instruction.is_call = false;
            }
        }
        code
    };
    let right = one_run();
    let mut found = 0;
    for (piece, instructions) in right.pieces.iter().map(|one| &one.instructions).enumerate() {
        let inside = 1..instructions.len().saturating_sub(1);
        let Some(at) = inside.into_iter().find(|at| instructions[*at].can_fault) else {
            continue;
        };
        let mut code = one_run();
        let stack = (instructions[at].stack + 7) % right.stacks.len() as u32;
        code.pieces[piece].instructions[at].stack = stack;
        let bytes = Blob::new(&code, Level::Faults).to_bytes(0, &[]);
        let table = SymbolTable::parse(&bytes, 0).unwrap();
        let wrong = instructions[at].start;
        assert!(differences(&table, &right, Coverage::Every).contains(&wrong));
        assert!(differences(&table, &right, Coverage::Ends).contains(&wrong));
        found += 1;
    }
    assert!(found > 20, "{found}");
}

fn differences(table: &SymbolTable<'_>, code: &Code, coverage: Coverage) -> Vec<u64> {
    let comparison = compare(table, code, coverage);
    let differences = comparison.differences.iter();
    differences.map(|difference| difference.address).collect()
}
