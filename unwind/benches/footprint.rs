//! What `unwind` adds to a kernel: reads the images that `footprint/measure` builds, and prints bytes of code and stack.
//!
//! Stack: the compiler tells how much each function takes (`-Z emit-stack-sizes`), and the relocations, which are left in
//! the image, tell who calls whom; the deepest path is what counts. Each function whose address is in another's code is
//! counted as called by it, so the figure is an upper bound: no input takes more.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use anyhow::{Context, Result, bail};
use gimli::{EndianSlice, LittleEndian, Reader};
use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
};

/// The goals, in bytes.
const WALK: u64 = 7680;
const CODE: u64 = 20 << 10;
const FAST: u64 = 128;
const STEP: u64 = 384;
const REPORT: u64 = 1536;

fn main() -> Result<()> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [nothing, walk, map, report, report_by_map] = &*files else {
        bail!(
            "usage: footprint NOTHING WALK MAP REPORT REPORT-BY-MAP, images that `footprint/measure` builds"
        );
    };
    let nothing = Image::read(nothing)?.size;
    for (what, walk, report, goal) in [
        ("`.sframe`", walk, report, None),
        ("a rule map", map, report_by_map, Some(WALK)),
    ] {
        let (walk, report) = (Image::read(walk)?, Image::read(report)?);
        let [walk, all] = [walk.size, report.size].map(|size| size - nothing);
        let judged = goal.map_or_else(String::new, |goal| format!("; {}", verdict(walk, goal)));
        println!("  by {what}:");
        println!("  code: a walk, {walk} bytes{judged}");
        println!(
            "  code: symbols and report too, {all} bytes; {}",
            verdict(all, CODE)
        );
        if goal.is_some() {
            let fast = report.lean_step()?;
            println!(
                "  stack: a step that nothing is special about {fast} bytes; {}",
                verdict(fast, FAST)
            );
        }
        report.print_stack("step", STEP)?;
        report.print_stack("report", REPORT)?;
    }
    Ok(())
}

fn verdict(value: u64, goal: u64) -> String {
    let verdict = if value <= goal { "met" } else { "NOT MET" };
    format!("goal {goal}: {verdict}")
}

/// A linked image.
struct Image {
    functions: BTreeMap<u64, Function>,
    /// Bytes of code and constants: what a kernel loads. Without `.eh_frame`, which it does not.
    size: u64,
}

struct Function {
    name: String,
    size: u64,
    /// Bytes of stack, with the return address that its call pushes.
    stack: u64,
    /// Addresses of functions that it calls.
    calls: Vec<u64>,
    /// Addresses of functions that it ends in: it has left its own stack by then.
    jumps: Vec<u64>,
}

impl Image {
    fn read(path: &str) -> Result<Self> {
        let data = fs::read(path).with_context(|| format!("cannot read {path}"))?;
        let file = object::File::parse(&*data).with_context(|| format!("{path} is no image"))?;
        let is_x86 = file.architecture() == Architecture::X86_64;
        let stacks = stack_sizes(&file).with_context(|| format!("{path}: .stack_sizes"))?;
        let mut functions = BTreeMap::new();
        for symbol in file.symbols() {
            if symbol.kind() == object::SymbolKind::Text && symbol.size() > 0 {
                // A call pushes the return address on x86-64 only.
                let pushed = if is_x86 { 8 } else { 0 };
                let function = Function {
                    name: format!("{:#}", rustc_demangle::demangle(symbol.name()?)),
                    size: symbol.size(),
                    stack: stacks.get(&symbol.address()).copied().unwrap_or(0) + pushed,
                    calls: Vec::new(),
                    jumps: Vec::new(),
                };
                functions.insert(symbol.address(), function);
            }
        }
        let mut image = Self { functions, size: 0 };
        for section in file.sections() {
            let name = section.name()?;
            let loaded = [".text", ".rodata", ".data"]
                .iter()
                .any(|kind| name.starts_with(kind));
            if loaded {
                image.size += section.size();
            }
            if name.starts_with(".text") {
                image.read_calls(&file, &section, is_x86)?;
            }
        }
        Ok(image)
    }

    fn read_calls<'a>(
        &mut self,
        file: &object::File<'a>,
        section: &object::Section<'a, '_>,
        is_x86: bool,
    ) -> Result<()> {
        let data = section.data()?;
        for (address, relocation) in section.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else {
                continue;
            };
            let symbol = file.symbol_by_index(index)?;
            // The processor counts from the end of the field.
            let past = match relocation.flags() {
                RelocationFlags::Elf { r_type } if is_x86 && r_type != object::elf::R_X86_64_64 => {
                    4
                }
                _ => 0,
            };
            let to = symbol
                .address()
                .wrapping_add_signed(relocation.addend() + past);
            let Some(to) = self.function_at(to) else {
                continue;
            };
            let Some(from) = self.function_at(address) else {
                continue;
            };
            if from == to {
                continue;
            }
            let before = address.wrapping_sub(section.address()) as usize;
            let jumps = match relocation.flags() {
                // jmp, or a conditional one.
                RelocationFlags::Elf { .. } if is_x86 => matches!(
                    data.get(..before),
                    Some([.., 0xe9] | [.., 0x0f, 0x80..=0x8f])
                ),
                RelocationFlags::Elf { r_type } => r_type == object::elf::R_AARCH64_JUMP26,
                _ => false,
            };
            self.functions.entry(from).and_modify(|function| {
                match jumps {
                    true => function.jumps.push(to),
                    false => function.calls.push(to),
                };
            });
        }
        Ok(())
    }

    /// The start of the function that holds an address.
    fn function_at(&self, address: u64) -> Option<u64> {
        let (start, function) = self.functions.range(..=address).next_back()?;
        (address - start < function.size).then_some(*start)
    }

    /// Bytes that a step by a rule map takes if it needs only itself and the map's quick look-ups, without what these end in.
    fn lean_step(&self) -> Result<u64> {
        let stack = |end: &str| {
            let function = self.functions.values().find(|it| it.name.ends_with(end));
            let function = function.with_context(|| format!("no function {end}"))?;
            Ok::<_, anyhow::Error>(function.stack)
        };
        let called = stack("Map>::look_up")?.max(stack("Map>::is_one_function")?);
        Ok(stack("step")? + called)
    }

    /// Prints the deepest path from a function on.
    fn print_stack(&self, name: &str, goal: u64) -> Result<()> {
        let start = self
            .functions
            .iter()
            .find(|(_, function)| function.name == name);
        let (start, _) = start.with_context(|| format!("no function {name}"))?;
        let mut known = HashMap::new();
        let path = self.deepest(*start, &mut Vec::new(), &mut known)?;
        println!(
            "  stack: {name} {} bytes; {}",
            path.0,
            verdict(path.0, goal)
        );
        for address in &path.1 {
            let function = &self.functions[address];
            println!("    {:5} {}", function.stack, function.name);
        }
        Ok(())
    }

    /// Bytes of the deepest path, and the functions on it.
    fn deepest(
        &self,
        start: u64,
        above: &mut Vec<u64>,
        known: &mut HashMap<u64, (u64, Vec<u64>)>,
    ) -> Result<(u64, Vec<u64>)> {
        if let Some(known) = known.get(&start) {
            return Ok(known.clone());
        }
        let function = &self.functions[&start];
        if above.contains(&start) {
            bail!("{} calls itself: its stack has no bound", function.name);
        }
        above.push(start);
        let mut deepest = (0, Vec::new());
        for &callee in &function.calls {
            let path = self.deepest(callee, above, known)?;
            deepest = deepest.max(path);
        }
        deepest.0 += function.stack;
        for &target in &function.jumps {
            let path = self.deepest(target, above, known)?;
            deepest = deepest.max(path);
        }
        above.pop();
        deepest.1.insert(0, start);
        known.insert(start, deepest.clone());
        Ok(deepest)
    }
}

/// Bytes of stack by the function's address: LLVM's `.stack_sizes`, pairs of an address and a LEB128 number.
fn stack_sizes(file: &object::File<'_>) -> Result<HashMap<u64, u64>> {
    let section = file.section_by_name(".stack_sizes").context("not there")?;
    let data = section.uncompressed_data()?;
    let mut reader = EndianSlice::new(&data, LittleEndian);
    let mut sizes = HashMap::new();
    while !reader.is_empty() {
        let address = reader.read_u64()?;
        sizes.insert(address, reader.read_uleb128()?);
    }
    Ok(sizes)
}
