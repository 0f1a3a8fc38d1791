//! Rows against the machine itself: a program runs one instruction after the other, and before each of them the row that
//! the proof has left must lead to the call that the program has come from.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::oracle::Caller;
use crate::common::stepper::Stepper;
use crate::common::{folder, rustc, say, succeed};
use linker::architecture::X86_64;
use linker::cfi::Frames;
use linker::function::Function;
use linker::image::Image;
use linker::prove::Rows;
use linker::prove::world::row_of;
use linker::symbols::Symbols;
use unwind::sframe::{Row, Rule};

/// Instructions of each program that are looked at.
const STEPS: usize = 100_000;

/// What a row says, with what is in the registers and in memory.
fn caller(row: &Row, at: &Stepper) -> Option<Caller> {
    let of = |rule: Rule, cfa: u64, same: u64| {
        let base = |base| {
            Some(match X86_64.register(base) {
                None => cfa,
                Some(0) => at.registers.rax,
                Some(1) => at.registers.rdx,
                Some(2) => at.registers.rcx,
                Some(3) => at.registers.rbx,
                Some(6) => at.registers.rbp,
                Some(7) => at.registers.rsp,
                Some(8) => at.registers.r8,
                Some(10) => at.registers.r10,
                Some(11) => at.registers.r11,
                Some(12) => at.registers.r12,
                Some(_) => return None,
            })
        };
        match rule {
            Rule::Same => Some(same),
            Rule::Undefined => None,
            Rule::Value { base: from, offset } => Some(base(from)?.wrapping_add_signed(offset)),
            Rule::Saved { base: from, offset } => at.word(base(from)?.wrapping_add_signed(offset)),
        }
    };
    let cfa = of(row.cfa, 0, 0)?;
    let return_address = of(row.return_address, cfa, 0)?;
    let frame_pointer = match row.frame_pointer == X86_64.lost_frame_pointer() {
        // It claims nothing.
        true => at.callers.last().map_or(0, |caller| caller.frame_pointer),
        false => of(row.frame_pointer, cfa, at.registers.rbp)?,
    };
    Some(Caller {
        stack_pointer: cfa,
        return_address,
        frame_pointer,
    })
}

fn row_at(functions: &[Function], address: u64) -> Option<Row> {
    let after = functions.partition_point(|one| one.start <= address);
    let function = &functions[after.checked_sub(1)?];
    (address < function.end()).then(|| row_of(function, address))?
}

/// What rows are worth while a program runs.
#[derive(Default)]
struct Seen {
    /// Instructions that ran, those of code outside the image not among them.
    steps: usize,
    /// Those of them whose row was right.
    right: usize,
    /// Those whose row was wrong: by address, with the row and what it should have led to.
    wrong: BTreeMap<u64, String>,
    /// Those that have no row.
    bare: BTreeSet<u64>,
}

impl Seen {
    fn look(&mut self, functions: &[Function], at: &Stepper) {
        let address = at.registers.rip;
        self.steps += 1;
        let Some(row) = row_at(functions, address) else {
            self.bare.insert(address);
            return;
        };
        let (said, meant) = (caller(&row, at), at.callers.last());
        // Where nothing called, a row says so, or counts on whatever lies there.
        let is_right = match meant {
            None => row.is_outermost(),
            Some(_) => said.as_ref() == meant,
        };
        if is_right {
            self.right += 1;
        } else {
            let text = || format!("{row:?} leads to {said:x?}, not to {meant:x?}");
            self.wrong.entry(address).or_insert_with(text);
        }
    }
}

/// Runs a program and compares both what its call frame information says and what holds.
fn run(path: &Path) -> (Seen, Seen, Frames, Symbols) {
    let data = fs::read(path).unwrap();
    let image = Image::parse(&data).unwrap();
    let symbols = Symbols::of(&image.file);
    let rows = Rows::of(&image, true, Frames::default(), &symbols).unwrap();
    let mut at = Stepper::start(Command::new(path).env_clear().stdout(Stdio::null()));
    let (mut described, mut mended) = (Seen::default(), Seen::default());
    let is_code = |address| image.code().iter().any(|range| range.contains(&address));
    let mut steps = 0;
    while at.step().is_some() && steps < STEPS {
        steps += 1;
        if is_code(at.registers.rip) {
            described.look(&rows.described, &at);
            mended.look(&rows.frames.functions, &at);
        }
    }
    (described, mended, rows.frames, symbols)
}

fn compile(name: &str, arguments: &[&str]) -> PathBuf {
    let folder = folder(name);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/stepped.rs");
    succeed(
        rustc()
            .current_dir(&folder)
            .args([
                "--edition=2024",
                "-Ctarget-feature=+crt-static",
                "-Crelocation-model=static",
            ])
            .args(["-Csymbol-mangling-version=v0", "-Cdebuginfo=0", "-oprogram"])
            .args(arguments)
            .arg(source),
    );
    folder.join("program")
}

/// Runs a program until enough of it was seen, and checks every instruction.
fn check(name: &str, arguments: &[&str]) {
    let (described, mended, frames, symbols) = run(&compile(name, arguments));
    let symbol = |at: &u64| symbols.at(*at).map_or("", |symbol| symbol.name.as_str());
    say(format_args!(
        "{name}: {} instructions ran, {} with a right row; as described, {} with a right row, and a wrong one at {} addresses",
        mended.steps,
        mended.right,
        described.right,
        described.wrong.len(),
    ));
    let wrong: Vec<String> = mended
        .wrong
        .iter()
        .map(|(at, text)| format!("{at:#x}, {}: {text}", symbol(at)))
        .collect();
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
    // The machine knows a lie when it sees one, and that nothing was said.
    assert!(described.wrong.keys().any(|at| symbol(at) == "lying"));
    assert!(described.bare.iter().any(|at| symbol(at) == "silent"));
    // All that Rust has compiled has rows, and so has the assembly in the program.
    let is_of_program = |name: &&str| {
        name.starts_with("_R") || ["main", "lying", "silent", "switching"].contains(name)
    };
    let why = |at: u64| {
        let of = frames
            .left_out
            .iter()
            .find(|left| (left.start..left.start + left.size).contains(&at));
        of.map(|left| left.why.to_string())
    };
    let bare = mended.bare.iter().filter(|at| is_of_program(&symbol(at)));
    let bare: Vec<String> = bare
        .map(|at| format!("{at:#x}, {}: {:?}", symbol(at), why(*at)))
        .collect();
    assert!(bare.is_empty(), "{name}:\n{}", bare.join("\n"));
    assert!(
        mended.steps > STEPS / 2,
        "{name}: {} instructions",
        mended.steps
    );
}

/// A test for each way to compile: with tables by the compiler, and with those alone that the code tells.
macro_rules! levels {
    ($(#[$part:ident] $name:ident, $bare:ident, $level:literal;)*) => {$(
        #[$part]
        fn $name() {
            check(concat!("stepped_", $level), &[concat!("-Copt-level=", $level)]);
        }

        #[$part]
        fn $bare() {
            let level = concat!("-Copt-level=", $level);
            let arguments = [level, "-Cpanic=abort", "-Cforce-unwind-tables=no"];
            check(concat!("stepped_bare_", $level), &arguments);
        }
    )*};
}

levels! {
    #[gate]
    level_0, level_0_without_tables, "0";
    #[long]
    level_1, level_1_without_tables, "1";
    #[gate]
    level_3, level_3_without_tables, "3";
    #[long]
    level_s, level_s_without_tables, "s";
    #[long]
    level_z, level_z_without_tables, "z";
}

#[gate]
fn frame_pointers() {
    check(
        "stepped_frame_pointers",
        &["-Copt-level=2", "-Cforce-frame-pointers=yes"],
    );
}
