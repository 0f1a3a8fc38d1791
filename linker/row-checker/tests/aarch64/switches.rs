//! Jump tables that compilers make of `switch` and of labels as values: their addresses are named, and their forms are found.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use row_checker::aarch64::AArch64;
use row_checker::architecture::Architecture as _;
use row_checker::instruction::{Flow, IndirectJump, Instruction, TableBase, TableForm};
use row_checker::program::{Program, Section};

use super::inputs::{folder, image, program, succeed, tool, words};

/// Cases of each `switch`.
const CASES: u64 = 16;

/// Declares one function for each case.
fn declarations() -> String {
    (0..CASES)
        .map(|case| format!("void case_{case}(void);\n"))
        .collect()
}

/// Returns a function that chooses one of the cases with a `switch`. Each case calls a function `length` times.
fn switch(length: usize) -> String {
    let case = |case| {
        format!(
            "case {case}: {} break;\n",
            format!("case_{case}(); ").repeat(length)
        )
    };
    let cases: String = (0..CASES).map(case).collect();
    format!(
        "{}int _start(unsigned x) {{ switch (x) {{ {cases} }} return 1; }}",
        declarations()
    )
}

/// Returns a function that chooses one of the cases with a table of labels.
fn labels() -> String {
    let labels: String = (0..CASES).map(|case| format!("&&of_{case}, ")).collect();
    let case = |case| format!("of_{case}: case_{case}(); goto end;\n");
    let cases: String = (0..CASES).map(case).collect();
    format!(
        "{}int _start(unsigned x) {{ static void *const all[] = {{ {labels} }};\n\
         goto *all[x];\n{cases}end: return 1; }}",
        declarations()
    )
}

fn gcc() -> Command {
    tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
}

fn clang() -> Command {
    let mut command = tool("clang", "clang");
    command.arg("--target=aarch64-linux-gnu");
    command
}

/// Compiles a function, and compares the size of its table's entries and each entry's target.
fn compare(name: &str, mut compiler: Command, text: &str, options: &[&str], size: u8) {
    let folder = folder(name);
    let path = |file: &str| folder.join(file);
    fs::write(path("input.c"), text).unwrap();
    compiler.args(["-c", "-ffreestanding"]).args(options);
    succeed(compiler.arg("-o").arg(path("input.o")).arg(path("input.c")));
    let mut linker = tool("aarch64-linux-gnu-ld", "binutils-aarch64-linux-gnu");
    // The functions of the cases have addresses, and no code.
    linker.args((0..CASES).map(|case| format!("--defsym=case_{case}={:#x}", function(case))));
    succeed(linker.arg("-o").arg(path("image")).arg(path("input.o")));
    check(&path("image"), size);
}

/// Returns the address of a case's function.
fn function(case: u64) -> u64 {
    0x80_0000 + 4 * case
}

fn check(path: &Path, size: u8) {
    let bytes = fs::read(path).unwrap();
    let program = image(&bytes);
    let text = program
        .sections
        .iter()
        .find(|section| section.is_code)
        .unwrap();
    let all: Vec<u64> = (0..text.data.len() as u64)
        .step_by(4)
        .map(|by| text.address + by)
        .collect();
    let named = AArch64.named(&program, &all);
    // The number of each case by the addresses of its calls.
    let call = |at: &u64| {
        Some((*at, AArch64.decode(&program, *at)?)).filter(|one| one.1.flow == Flow::Call)
    };
    let case = |(at, call): (u64, Instruction)| (at, (call.target - function(0)) / 4);
    let cases: BTreeMap<u64, u64> = all.iter().filter_map(call).map(case).collect();
    let jumps: Vec<u64> = all
        .iter()
        .copied()
        .filter(|at| is_jump(&program, *at))
        .collect();
    let [at] = jumps[..] else {
        panic!("{path:?}: {} indirect jumps", jumps.len());
    };
    let found = AArch64.indirect_jump(&program, at, &before(&program, at));
    assert!(found.is_indexed && !found.is_import, "{path:?}");
    let tables = || {
        named
            .iter()
            .filter(|one| !program.section(one.address).unwrap().is_code)
    };
    let leads_to_cases = |form: &TableForm, table: u64, base: u64| {
        (0..CASES).all(|index| {
            let target = entry(&program, form, table, base, index);
            cases
                .range(target..)
                .next()
                .is_some_and(|(_, case)| *case == index)
        })
    };
    let mut right = found.forms.iter().filter(|form| {
        form.size == size
            && tables().any(|table| {
                let bases = match form.base {
                    TableBase::Zero => vec![0],
                    _ => named.iter().map(|one| one.address).collect(),
                };
                bases
                    .into_iter()
                    .any(|base| leads_to_cases(form, table.address, base))
            })
    });
    assert!(right.next().is_some(), "{path:?}: {found:?}");
    assert_eq!(found.forms.len(), 1, "{path:?}: {found:?}");
}

fn is_jump(program: &Program<'_>, at: u64) -> bool {
    AArch64
        .decode(program, at)
        .is_some_and(|one| one.flow == Flow::IndirectJump)
}

/// Returns the addresses of the instructions before a jump, the nearest first, up to another branch.
fn before(program: &Program<'_>, at: u64) -> Vec<u64> {
    let continues = |at: &u64| {
        AArch64
            .decode(program, *at)
            .is_some_and(|one| one.flow == Flow::Next)
    };
    (1..)
        .map(|count| at - 4 * count)
        .take_while(continues)
        .collect()
}

/// Returns the target in an entry of a table.
fn entry(program: &Program<'_>, form: &TableForm, table: u64, base: u64, index: u64) -> u64 {
    let size = usize::from(form.size);
    let bytes = program.bytes(table + index * u64::from(form.size)).unwrap();
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[..size]);
    let unused = 64 - 8 * u32::from(form.size);
    let entry = u64::from_le_bytes(word) << unused;
    let entry = match form.signed {
        true => entry.cast_signed() >> unused,
        false => (entry >> unused).cast_signed(),
    };
    base.wrapping_add_signed(entry * i64::from(form.scale))
}

#[test]
fn gcc_makes_tables_of_bytes() {
    compare("gcc_bytes", gcc(), &switch(1), &["-O2"], 1);
}

#[test]
fn gcc_makes_tables_of_halves() {
    compare("gcc_halves", gcc(), &switch(60), &["-O2"], 2);
}

#[test]
fn gcc_without_optimization_makes_tables() {
    compare("gcc_unoptimized", gcc(), &switch(1), &["-O0"], 4);
}

#[test]
fn clang_makes_tables_of_bytes() {
    compare("clang_bytes", clang(), &switch(1), &["-O2"], 1);
}

#[test]
fn clang_makes_tables_of_halves() {
    compare("clang_halves", clang(), &switch(60), &["-O2"], 2);
}

#[test]
fn clang_makes_tables_of_words() {
    compare("clang_words", clang(), &switch(1), &["-O0"], 4);
}

#[test]
fn compilers_make_tables_of_labels() {
    compare("gcc_labels", gcc(), &labels(), &["-O2"], 8);
    compare("clang_labels", clang(), &labels(), &["-O2"], 8);
}

/// Returns how a jump at the end of a text finds its target.
fn found(name: &str, text: &str) -> IndirectJump {
    let words = words(name, text);
    let program = program(0x1000, &words);
    let at = 0x1000 + 4 * (words.len() as u64 - 1);
    AArch64.indirect_jump(&program, at, &before(&program, at))
}

/// A tail call by a pointer, after code that reads an array. An entry in a register from another block is possible, too.
#[test]
fn a_jump_whose_target_is_not_from_an_indexed_load_may_read_any_form() {
    let texts = [
        (
            "other_load",
            "ldr w1, [x2, x3, lsl #2]\nldr x4, [x0, #8]\nbr x4",
        ),
        ("over_call", "ldr x1, [x2, x3, lsl #3]\nbl .\nbr x1"),
        ("other_block", "br x1"),
    ];
    for (name, text) in texts {
        let found = found(name, text);
        assert!(!found.is_indexed, "{text}");
        let sizes: Vec<u8> = found.forms.iter().map(|form| form.size).collect();
        assert_eq!(sizes, [1, 1, 2, 2, 4, 4, 8, 8], "{text}");
    }
}

/// The addition extends the sign of an entry that is loaded without.
#[test]
fn a_jump_with_an_addition_that_extends_the_entry_reads_signed_numbers() {
    for (size, load, extension) in [(1, "ldrb", "sxtb"), (2, "ldrh", "sxth"), (4, "ldr", "sxtw")] {
        let text = format!("{load} w1, [x2, x3]\nadr x2, .\nadd x2, x2, w1, {extension} #2\nbr x2");
        let (signed, scale, base) = (true, 4, TableBase::Named);
        let found = found(&format!("extended_{size}"), &text);
        assert_eq!(
            found.forms,
            [TableForm {
                size,
                signed,
                scale,
                base
            }],
            "{text}"
        );
    }
}

/// An instruction between the load and the addition may extend the sign, or shift the entry.
#[test]
fn a_jump_with_an_extended_entry_may_read_any_form() {
    let text = "ldrb w1, [x2, x3]\nsxtb x1, w1\nadd x2, x2, x1, lsl #2\nbr x2";
    let found = found("extended", text);
    let form = |signed, scale| TableForm {
        size: 1,
        signed,
        scale,
        base: TableBase::Named,
    };
    assert_eq!(
        found.forms,
        [form(false, 1), form(false, 4), form(true, 1), form(true, 4)]
    );
    assert!(!found.is_indexed);
    // The jump goes elsewhere than to a sum of the address and the entry.
    for sum in [
        "sub x2, x2, w1, uxtb #2",
        "add x2, x2, w1, uxtb #2\nadd x2, x2, #8",
    ] {
        let text = format!("ldrb w1, [x2, x3]\nadr x2, .\n{sum}\nbr x2");
        assert!(!self::found("sum", &text).is_indexed, "{text}");
    }
}

#[test]
fn addresses_are_named_by_one_or_more_instructions() {
    let text = "adrp x0, .\nadr x1, .+12\nnop\nadd x2, x0, #8\nmov x3, #0x1000\nmovk x3, #0, lsl #16\n\
                ldr x4, .+12\nmov x0, x5\nadd x6, x0, #4\n.quad 0x1004";
    let words = words("named", text);
    let mut program = program(0x1000, &words);
    let all: Vec<u64> = (0..9).map(|index| 0x1000 + 4 * index).collect();
    let named = |program: &Program<'_>| -> Vec<(u64, u64)> {
        let named = AArch64.named(program, &all);
        named
            .iter()
            .map(|one| (one.at - 0x1000, one.address))
            .collect()
    };
    let in_code = [(4, 0x1010), (12, 0x1008)];
    let constants = [(16, 0x1000), (20, 0x1000)];
    let words = [(24, 0x1004)];
    assert_eq!(named(&program), [&in_code[..], &constants, &words].concat());
    program.is_relocatable = true;
    assert_eq!(named(&program), [&in_code[..], &words].concat());
}

/// A word that code loads is a constant only if it is in code, too: nothing writes there.
#[test]
fn a_loaded_word_is_a_constant_only_in_code() {
    let words = words("constant", "ldr x0, .+8\nnop\n.quad 0x9000");
    let mut program = program(0x1000, &words[..2]);
    let data = words[2..].iter().flat_map(|word| word.to_le_bytes());
    let beside = |is_code| Section {
        address: 0x1008,
        data: data.clone().collect(),
        is_code,
        is_linkage: false,
    };
    for (is_code, expected) in [(true, Some(0x9000)), (false, None)] {
        program.sections.truncate(1);
        program.sections.push(beside(is_code));
        assert_eq!(AArch64.constant(&program, 0, &[0x1000]), expected);
    }
}
