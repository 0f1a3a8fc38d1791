//! `core` and `alloc` without unwind tables, as rustup's prebuilt ones are: the rows that the link makes from their code
//! against those of the same code with tables.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::support::built::{image, target};
use crate::support::each::kernel_tests;
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind};
use linker::architecture::{AARCH64, X86_64};
use linker::symbols::Coding;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use unwind::sframe::{Base, Row, Rule, Tables};

kernel_tests! { plain:
    the_code_of_core_and_alloc_has_rows,
    rows_from_code_lead_where_those_of_the_compiler_lead,
}

/// What is asked of an image.
struct Image {
    table: Vec<u8>,
    table_address: u64,
    /// Sorted by address.
    functions: Vec<Function>,
}

/// A function.
struct Function {
    /// Without the hash that tells crates apart.
    name: String,
    address: u64,
    code: Vec<u8>,
}

impl Image {
    fn read(path: &Path) -> Self {
        let data = fs::read(path).expect("the image can be read");
        let file = object::File::parse(&*data).expect("the image is ELF");
        let section = |name| {
            let section = file.section_by_name(name);
            let section = section.unwrap_or_else(|| panic!("no {name}"));
            (section.address(), section.data().expect("its bytes"))
        };
        let (text_address, text) = section(".text");
        let (table_address, table) = section(".sframe");
        let mut functions: Vec<_> = file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
            .filter_map(|symbol| {
                let name = rustc_demangle::demangle(symbol.name().ok()?);
                let start = symbol.address().checked_sub(text_address)? as usize;
                let code = text.get(start..start + symbol.size() as usize)?.to_vec();
                Some(Function {
                    name: format!("{name:#}"),
                    address: symbol.address(),
                    code,
                })
            })
            .collect();
        functions.sort_by_key(|function| function.address);
        // Functions with the same code may have been made one.
        functions.dedup_by_key(|function| function.address);
        Self {
            table: table.to_vec(),
            table_address,
            functions,
        }
    }

    fn row(&self, pc: u64) -> Option<Row> {
        let tables = Tables::new(&self.table, self.table_address);
        tables.lookup(pc).ok().map(|(_, row)| row)
    }

    /// The functions whose name no other one has.
    fn by_name(&self) -> HashMap<&str, &Function> {
        let mut count: HashMap<&str, usize> = HashMap::new();
        for function in &self.functions {
            *count.entry(&function.name).or_default() += 1;
        }
        let functions = self.functions.iter();
        let functions = functions.filter(|function| count[&*function.name] == 1);
        functions
            .map(|function| (&*function.name, function))
            .collect()
    }
}

impl Function {
    fn is_library(&self) -> bool {
        let path = self.name.trim_start_matches(['<', '&']);
        ["core::", "alloc::"].iter().any(|it| path.starts_with(it))
    }
}

/// Where the instructions start, and which of them are calls.
fn starts(arch: Arch, function: &Function) -> impl Iterator<Item = (u64, bool)> {
    let coding = match arch {
        Arch::X86_64 => Coding::X86,
        Arch::Aarch64 => Coding::A64,
    };
    let decoded = coding.decode(&function.code, function.address);
    let decoded = decoded.into_iter();
    decoded.map(|it| (function.address + u64::from(it.offset), it.is_call))
}

fn decode(function: &Function) -> impl Iterator<Item = Instruction> {
    let Function { code, address, .. } = function;
    Decoder::with_ip(64, code, *address, DecoderOptions::NONE).into_iter()
}

/// Whether both are the same instructions, but for what the linker fills in: addresses of functions and of data.
fn is_same_code(arch: Arch, left: &Function, right: &Function) -> bool {
    if left.code.len() != right.code.len() {
        return false;
    }
    match arch {
        Arch::X86_64 => {
            let left = decode(left).map(|it| x86_without_addresses(&it));
            left.eq(decode(right).map(|it| x86_without_addresses(&it)))
        }
        Arch::Aarch64 => {
            let words = |function: &Function| -> Vec<u32> {
                let words = function.code.chunks_exact(4);
                let words = words.map(|word| word.try_into().expect("four bytes"));
                words
                    .map(u32::from_le_bytes)
                    .map(a64_without_address)
                    .collect()
            };
            words(left) == words(right)
        }
    }
}

/// The length and what it does with which registers and numbers; 0 for those that may be addresses.
fn x86_without_addresses(it: &Instruction) -> (usize, iced_x86::Code, Vec<u64>) {
    // The kernel's code and data are in the uppermost 2 GiB.
    let unless_address = |number: u64| {
        if (0xffff_ffff_8010_0000..0xffff_ffff_f000_0000).contains(&number) {
            0
        } else {
            number
        }
    };
    let mut operands = Vec::new();
    for index in 0..it.op_count() {
        let kind = it.op_kind(index);
        operands.push(kind as u64);
        match kind {
            OpKind::Register => operands.push(it.op_register(index) as u64),
            OpKind::Memory => {
                operands.push(it.memory_base() as u64);
                operands.push(it.memory_index() as u64);
                operands.push(u64::from(it.memory_index_scale()));
                let number = it.memory_displacement64();
                operands.push(if it.is_ip_rel_memory_operand() {
                    0
                } else {
                    unless_address(number)
                });
            }
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {}
            // None for the memory of string instructions, which the code implies.
            _ => operands.extend(it.try_immediate(index).ok().map(unless_address)),
        }
    }
    (it.len(), it.code(), operands)
}

/// The instruction with zeros for an address that the linker fills in. What counts from sp is no such address.
fn a64_without_address(word: u32) -> u32 {
    const SP: u32 = 31;
    let base = word >> 5 & 31;
    let masks = [
        // "Arm Architecture Reference Manual", C4.1: adr and adrp
        (0x1f00_0000, 0x1000_0000, 0x9f00_001f),
        // b and bl
        (0x7c00_0000, 0x1400_0000, 0xfc00_0000),
    ];
    for (mask, value, keep) in masks {
        if word & mask == value {
            return word & keep;
        }
    }
    // add, 64 bits wide, immediate; loads and stores with an unsigned immediate
    let has_low_bits = word & 0xffc0_0000 == 0x9100_0000 || word & 0x3b00_0000 == 0x3900_0000;
    if has_low_bits && base != SP {
        return word & 0xffc0_03ff;
    }
    word
}

fn the_code_of_core_and_alloc_has_rows(plain: Kernel) {
    let arch = plain.arch;
    let image = Image::read(&image(plain));
    let (mut with, mut all) = (0_usize, 0_usize);
    let mut without = Vec::new();
    for function in image.functions.iter().filter(|it| it.is_library()) {
        let rows = starts(arch, function).map(|(at, _)| image.row(at));
        let rows: Vec<_> = rows.collect();
        let missing = rows.iter().filter(|row| row.is_none()).count();
        all += rows.len();
        with += rows.len() - missing;
        if missing > 0 {
            without.push(format!("{missing} in {}", function.name));
        }
    }
    println!("{arch}: {with} of {all} instructions have rows; without: {without:#?}");
    assert!(all > 2_000, "{arch}: {all} instructions");
    assert!(with * 100 >= all * 99, "{arch}: {with} of {all}");
}

/// Where rules lead is compared as they are written. Those that count from another register are counted apart, and must be
/// few: the compiler may prefer the frame pointer where the link found the stack pointer.
fn rows_from_code_lead_where_those_of_the_compiler_lead(plain: Kernel) {
    let arch = plain.arch;
    let release = Kernel {
        arch,
        profile: Profile::Release,
    };
    let with = match arch {
        Arch::X86_64 => image(release),
        // With rustup's `core`, fewer than half of the functions have the same code.
        Arch::Aarch64 => {
            let own = release.build_with_own_core(&target());
            own.expect("the kernel is built")
        }
    };
    let [with, without] = [with, image(plain)].map(|path| Image::read(&path));
    let (left, right) = (with.by_name(), without.by_name());
    let (mut functions, mut instructions) = (0_usize, 0_usize);
    let (mut same, mut other_base, mut lost_pointers) = (0_usize, 0_usize, 0_usize);
    let mut elsewhere = Vec::new();
    for (name, left) in &left {
        let Some(right) = right.get(name) else {
            continue;
        };
        if !is_same_code(arch, left, right) {
            continue;
        }
        functions += 1;
        let pairs = starts(arch, left).zip(starts(arch, right));
        for ((at, is_call), (at_plain, _)) in pairs {
            instructions += 1;
            let rows = [with.row(at), without.row(at_plain)];
            let [Some(left), Some(right)] = rows else {
                continue;
            };
            if right.frame_pointer == lost(arch) && left.cfa == right.cfa {
                // Without the compiler's tables less is proven.
                lost_pointers += 1;
            } else if base(left.cfa) != base(right.cfa) {
                other_base += 1;
            } else if leads_to_the_same(&left, &right, is_call) {
                same += 1;
            } else {
                elsewhere.push(format!("{name}, {at:#x}: {left:?}, from code {right:?}"));
            }
        }
    }
    println!(
        "{arch}: {functions} of {} functions, {instructions} instructions, {same} rows the same, {other_base} of another base, \
         {lost_pointers} with a lost frame pointer",
        left.len()
    );
    assert_eq!(elsewhere, Vec::<String>::new(), "{arch}");
    // On AArch64 the compiler merges more stores where no rule stands between them, and so makes other code.
    assert!(functions * 2 > left.len(), "{arch}: {functions} functions");
    assert!(instructions > 5_000, "{arch}: {instructions} instructions");
    assert!(same * 100 >= instructions * 99, "{arch}: {same} rows");
}

/// Returns the rule for a frame pointer that is lost.
fn lost(arch: Arch) -> Rule {
    match arch {
        Arch::X86_64 => X86_64.lost_frame_pointer(),
        Arch::Aarch64 => AARCH64.lost_frame_pointer(),
    }
}

fn base(rule: Rule) -> Option<Base> {
    match rule {
        Rule::Value { base, .. } | Rule::Saved { base, .. } => Some(base),
        Rule::Same | Rule::Undefined => None,
    }
}

/// A compiler names the place where frame pointer and link register are saved; rows from code name the register as long as that still
/// holds the caller's value. Where it does, both lead to the same value: `stepped.rs` of `linker` compares it with that of a running program.
///
/// Not so for the return address of a call: the callee overwrites the link register.
fn leads_to_the_same(compiler: &Row, code: &Row, is_call: bool) -> bool {
    let link = compiler.return_address == code.return_address
        || code.return_address == Rule::Same && !is_call;
    let frame_pointer =
        compiler.frame_pointer == code.frame_pointer || code.frame_pointer == Rule::Same;
    compiler.cfa == code.cfa && link && frame_pointer
}
