//! Rows that the search for rows gets wrong, or does not find, and that follow from the states of the checker.
//!
//! A line of a program is an instruction or a directive, and may state the frame address before the instruction:
//!
//! ```text
//! pop %rbx  | sp+16
//! ```
//!
//! `none, stack at sp` means that no caller exists, and that the stack is empty if the stack pointer is the address of the symbol `stack`; `none, stack-8
//! at sp`, if it is 8 bytes below. `(sp+24)` is the word at `sp+24`, in trap code, where `x30 at sp+16` is the place of the interrupted link register (AArch64); `-` means that no row
//! is found.

mod borders;
mod compiled;
mod handlers;
mod labels;
mod stacks;
mod stubs;
mod values;
mod vectors;

use std::fs;

use linker::image::Image;
use object::{Object, ObjectSection, ObjectSymbol};
use unwind::map::Map;
use unwind::sframe::{Base, Rule, Tables};
use unwind::{Found, Proof, RowSource, Rules};

use crate::common::{
    SCRIPT, assemble, folder, scripts, sframe, sframe_link, stderr, stdout, succeed,
};

const X86_64: &str = "x86_64-unknown-none";
const AARCH64: &str = "aarch64-unknown-none-softfloat";
const ARM: &str = "armv7a-none-eabi";

/// Returns the entry, which calls `outer`.
fn start(target: &str) -> String {
    let (column, call, end) = match target {
        X86_64 => ("rip", "call", "jmp ."),
        AARCH64 => ("x30", "bl", "b ."),
        _ => ("lr", "bl", "b ."),
    };
    let sections = match target {
        ARM => ".syntax unified\n.cfi_sections .debug_frame\n.arm\n",
        _ => "",
    };
    format!(
        "{sections}.globl _start\n.type _start, %function\n_start:\n.cfi_startproc\n.cfi_undefined {column}\n\
         {call} outer | none\n{end}\n.cfi_endproc\n.size _start, . - _start\n"
    )
}

/// Links a program with tables, and compares each stated frame address with the row of the table, which must be proven. `sframe check` must find no
/// fault.
fn judge(name: &str, target: &str, program: &str) {
    let failures = failures(name, target, program);
    assert!(
        failures.is_empty(),
        "{}\nin:\n{program}",
        failures.join("\n")
    );
}

fn failures(name: &str, target: &str, program: &str) -> Vec<String> {
    let mut stated: Vec<(&str, &str)> = Vec::new();
    let mut text = String::new();
    let start = start(target);
    for line in start.lines().chain(program.lines()) {
        if let Some((instruction, frame)) = line.split_once('|') {
            text += &format!(".Lstated{}:\n{instruction}\n", stated.len());
            stated.push((instruction.trim(), frame.trim()));
        } else {
            text += &format!("{line}\n");
        }
    }
    // The section is not loaded, so that no address of code is found in data.
    text += ".section .stated, \"\", %progbits\n";
    for number in 0..stated.len() {
        text += &format!(".long .Lstated{number} - _start\n");
    }
    let folder = folder(name);
    let text = text.replace('{', "{{").replace('}', "}}");
    let object = assemble(&folder, target, &text);
    fs::write(
        folder.join("image.ld"),
        SCRIPT.replace("0xffffffff80100000", "0x100000"),
    )
    .unwrap();
    let mut command = sframe_link();
    let command = command
        .current_dir(&folder)
        .args([
            "-L",
            &scripts(),
            "-T",
            "image.ld",
            "-o",
            "image",
            "--sframe-load=map",
        ])
        .arg(object);
    succeed(command);
    let path = folder.join("image");
    let data = fs::read(&path).unwrap();
    let image = Image::parse(&data).unwrap();
    let section = |name| image.section(name).unwrap();
    let map = section(".unwind_map").unwrap();
    let map = Map::parse(map.data, map.address).unwrap();
    let tables = section(".sframe").map(|section| Tables::new(section.data, section.address));
    let places = image.file.section_by_name(".stated").unwrap();
    let (places, _) = places.data().unwrap().as_chunks();
    let mut symbols = image.file.symbols();
    let stack = symbols.find(|symbol| symbol.name() == Ok("stack"));
    let stack = stack.map_or(0, |symbol| symbol.address());
    let mut failures = Vec::new();
    for ((instruction, frame), place) in stated.into_iter().zip(places) {
        let address = image.file.entry() + u64::from(u32::from_le_bytes(*place));
        let of_map = row(&map, address) + &stack_pointer(&map, address, stack);
        let of_tables = tables.as_ref().map_or(of_map.clone(), |tables| {
            row(tables, address) + &stack_pointer(tables, address, stack)
        });
        let link = tables.as_ref().and_then(|tables| link(tables, address));
        let of_tables = of_tables + &link.unwrap_or_default();
        // A map does not contain the link register.
        let of_rows = frame.split_once(", x30").map_or(frame, |(rows, _)| rows);
        if of_map != of_rows || of_tables != frame {
            failures.push(format!(
                "{address:#x} {instruction}: {of_tables} instead of {frame}"
            ));
        }
    }
    let check = sframe(&["check", "--coverage=0"], &path);
    if !check.status.success() {
        failures.push(stdout(&check) + &stderr(&check));
    }
    failures
}

/// Returns the frame address by the row for an address, and a remark if the row is not proven.
fn row(rows: &impl RowSource, address: u64) -> String {
    let mut found = Found::EMPTY;
    if rows.look_up(address, &mut found).is_err() {
        return "-".to_owned();
    }
    let proof = match found.proof {
        Proof::Proven => "",
        Proof::Unproven => " unproven",
        Proof::IfEntered => " if entered",
        Proof::Unknown => " without proof",
    };
    let trap = if found.is_trap { " trap" } else { "" };
    format!("{}{trap}{proof}", frame_address(&found.rules))
}

/// Returns the stack pointer of code without a caller, by the address of the symbol `stack`.
fn stack_pointer(rows: &impl RowSource, address: u64, stack: u64) -> String {
    let Some(stack_pointer) = rows.stack_pointer(address) else {
        return String::new();
    };
    match stack_pointer.wrapping_sub(stack).cast_signed() {
        0 => ", stack at sp".to_owned(),
        distance => format!(", stack{distance:+} at sp"),
    }
}

/// Returns where trap code has the interrupted link register.
fn link(tables: &Tables<'_>, address: u64) -> Option<String> {
    Some(match tables.first().unwrap().interrupted_link(address)? {
        Rule::Saved { offset, .. } => format!(", x30 at sp{offset:+}"),
        _ => ", x30".to_owned(),
    })
}

fn frame_address(rules: &Rules) -> String {
    let name = |base| match base {
        Base::StackPointer => "sp".to_owned(),
        Base::FramePointer => "fp".to_owned(),
        base => format!("{base:?}"),
    };
    match rules.cfa() {
        Rule::Value { base, offset } => format!("{}{offset:+}", name(base)),
        Rule::Saved { base, offset } => format!("({}{offset:+})", name(base)),
        _ => "none".to_owned(),
    }
}
