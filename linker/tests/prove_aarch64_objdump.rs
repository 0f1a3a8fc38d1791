//! What executing an A64 instruction changes, against the operands that llvm-objdump prints for it: registers written,
//! places on the stack written, targets of branches, numbers. The instructions are arbitrary words, so that rare ones come
//! up as often as common ones.

mod common;

use std::collections::BTreeSet;
use std::fs;

use common::{folder, say, stdout, succeed, tool};
use linker::prove::aarch64::A64;
use linker::prove::isa::{Flow, Isa};
use linker::prove::machine::Machine;
use linker::prove::table::Tables;
use linker::prove::value::{Address, Base, Register, Value};

const SP: Register = A64::STACK_POINTER;
/// How many words are made.
const WORDS: usize = 100_000;
/// On the stack, what lies so far on both sides of the stack pointer is looked at: bytes.
const AROUND: i64 = 96;

/// Words without a pattern, the same in every run: Marsaglia's xorshift.
fn words() -> Vec<u32> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        with_ones((state >> 16) as u32)
    };
    std::iter::repeat_with(next).take(WORDS).collect()
}

/// Puts ones where the manual says that they should be, in exclusive loads and stores and in multiplications: other words
/// are nothing that an assembler writes.
fn with_ones(word: u32) -> u32 {
    let bit = |number: u32| word >> number & 1 == 1;
    let is_exclusive = word >> 24 & 0x3f == 0b00_1000;
    if word & 0xff60_0000 == 0x9b40_0000 {
        return word | 0x1f << 10;
    }
    if !is_exclusive || bit(21) && bit(23) {
        return word;
    }
    let second = if bit(21) { 0 } else { 0x1f << 10 };
    let status = if bit(22) || bit(23) { 0x1f << 16 } else { 0 };
    word | second | status
}

/// What llvm-objdump prints for each word, of those that it knows.
fn disassembled(words: &[u32]) -> Vec<Option<String>> {
    let folder = folder("a64_objdump");
    let mut file = object::write::Object::new(
        object::BinaryFormat::Elf,
        object::Architecture::Aarch64,
        object::Endianness::Little,
    );
    let text = file.section_id(object::write::StandardSection::Text);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    file.append_section_data(text, &bytes, 4);
    let path = folder.join("words.o");
    fs::write(&path, file.write().unwrap()).unwrap();
    let mut command = tool("llvm-objdump", "llvm");
    // Each version knows some of them, and passes over the others.
    let extensions = "--mattr=+all,+v8.7a,+mte,+sve2,+lse,+pauth,+rcpc-immo,+fullfp16,+mops";
    let output = succeed(command.args(["-d", "-z", extensions]).arg(&path));
    let mut texts = vec![None; words.len()];
    for line in stdout(&output).lines() {
        let Some((address, rest)) = line.trim_start().split_once(": ") else {
            continue;
        };
        let (Ok(address), Some((_, text))) =
            (usize::from_str_radix(address, 16), rest.split_once('\t'))
        else {
            continue;
        };
        if !text.contains("<unknown>") {
            texts[address / 4] = Some(text.replace('\t', " "));
        }
    }
    texts
}

/// An instruction as llvm-objdump prints it.
struct Text<'a> {
    mnemonic: &'a str,
    operands: Vec<&'a str>,
}

impl<'a> Text<'a> {
    fn parse(text: &'a str) -> Self {
        let text = text.split(" <").next().unwrap();
        let text = text.split("//").next().unwrap().trim();
        let (mnemonic, rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut operands = Vec::new();
        let (mut depth, mut start) = (0, 0);
        for (at, letter) in rest.char_indices() {
            match letter {
                '[' | '{' => depth += 1,
                ']' | '}' => depth -= 1,
                ',' if depth == 0 => {
                    operands.push(rest[start..at].trim());
                    start = at + 1;
                }
                _ => {}
            }
        }
        operands.push(rest[start..].trim());
        Self { mnemonic, operands }
    }

    /// The general-purpose register that an operand is.
    fn register(&self, index: usize) -> Option<Register> {
        match *self.operands.get(index)? {
            "sp" | "wsp" => Some(SP),
            name => {
                let name = name.trim_matches(['[', ']', '!']);
                let number = name.strip_prefix(['x', 'w'])?;
                number.parse().ok().filter(|number| *number < 31)
            }
        }
    }

    /// The index of the operand in memory.
    fn memory(&self) -> Option<usize> {
        (self.operands.iter()).position(|operand| operand.starts_with('['))
    }

    /// The registers that the instruction writes, according to the manual's page of each mnemonic.
    fn written(&self) -> BTreeSet<Register> {
        let name = self.mnemonic;
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let is = |names: &[&str]| names.contains(&name);
        let operands: &[usize] = if starts(&["stx", "stlx", "st64bv"]) {
            &[0]
        } else if starts(&["cpy"]) {
            &[0, 1, 2]
        } else if starts(&["setp", "setm", "sete", "setgp", "setgm", "setge"]) {
            &[0, 1]
        } else if is(&["setf8", "setf16"])
            || starts(&[
                "st", "b.", "cb", "tb", "ret", "prf", "cmp", "cmn", "ccm", "fcmp", "fccmp",
            ])
            || starts(&[
                "msr", "dc", "ic", "at", "tlbi", "wf", "cterm", "rmif", "br", "bl", "hlt",
            ])
            || is(&[
                "b", "tst", "sys", "cfp", "dvp", "cpp", "tcancel", "udf", "gcspushm", "gcsss1",
            ])
            || is(&["svc", "hvc", "smc"])
        {
            &[]
        } else if starts(&["swpp", "ldclrp", "ldsetp", "casp"])
            || is(&[
                "ldp", "ldnp", "ldpsw", "ldxp", "ldaxp", "ldiapp", "ldtp", "ldtnp", "mrrs",
            ])
            || name.starts_with("rcw")
                && ["casp", "clrp", "setp", "swpp"]
                    .iter()
                    .any(|of| name.contains(of))
        {
            &[0, 1]
        } else if starts(&["rcwcas", "rcwscas"]) {
            &[0]
        } else if starts(&[
            "rcw", "swp", "ldadd", "ldclr", "ldeor", "ldset", "ldsm", "ldum",
        ]) {
            &[1]
        } else {
            &[0]
        };
        let mut written: BTreeSet<_> = operands
            .iter()
            .filter_map(|index| self.register(*index))
            .collect();
        written.extend(match name {
            "svc" | "hvc" | "smc" => (0..=17).collect(),
            "paciaz" | "paciasp" | "pacibz" | "pacibsp" | "autiaz" | "autiasp" | "autibz"
            | "autibsp" | "xpaclri" => vec![30],
            "pacia1716" | "pacib1716" | "autia1716" | "autib1716" => vec![17],
            _ => vec![],
        });
        // ld64b: eight registers.
        if name == "ld64b"
            && let Some(first) = self.register(0)
        {
            written.extend(first..(first + 8).min(31));
        }
        if let Some(index) = self.memory()
            && (self.operands[index].ends_with('!') || self.operands.len() > index + 1)
            // A move by nothing; authentication changes the register none the less.
            && (name.starts_with("ldra") || !self.operands.last().unwrap().trim_end_matches("]!").ends_with("#0") && !self.operands.last().unwrap().trim_end_matches("]!").ends_with("#0x0"))
        {
            written.insert(self.base().unwrap());
        }
        written
    }

    /// The base register of the memory operand.
    fn base(&self) -> Option<Register> {
        let inside = self.operands[self.memory()?].trim_start_matches('[');
        let name = inside.split([',', ']']).next().unwrap();
        let text = Text {
            mnemonic: "",
            operands: vec![name],
        };
        text.register(0)
    }

    /// Whether how much the instruction stores depends on the processor, or is not looked at: all is forgotten then.
    fn stores_anywhere(&self) -> bool {
        let first = self.operands[0].trim_start_matches(['{', ' ']);
        let is_scalable = first.starts_with(['z', 'p']);
        let is_block = ["stgm", "stzgm", "stilp", "stl1"].contains(&self.mnemonic);
        let is_block = is_block || self.mnemonic == "stlr" && self.operands[1].ends_with('!');
        self.mnemonic.starts_with("st") && self.memory().is_some() && (is_scalable || is_block)
    }

    /// What the first register holds afterwards, if the text says it: numbers, and what lies at and on the stack.
    fn result(&self, at: u64, before: &Machine) -> Option<Value> {
        let is_wide = self.operands[0] == "sp" || self.operands[0].starts_with('x');
        let operand = |index: usize| number(self.operands.get(index)?);
        let target = self
            .register(0)
            .filter(|_| is_wide || self.mnemonic == "mov")?;
        match self.mnemonic {
            "mov" => {
                let value = Value::Constant(operand(1)?.cast_unsigned());
                Some(if is_wide { value } else { value.low(32) })
            }
            "adrp" => Some(Value::Constant(operand(1)?.cast_unsigned())),
            // Some versions print an offset, others where it leads.
            "adr" if !self.operands[1].starts_with('#') => {
                Some(Value::Constant(operand(1)?.cast_unsigned()))
            }
            "adr" => Some(Value::Constant(at.wrapping_add_signed(operand(1)?))),
            "add" | "sub" => {
                let Value::Stack(base, offset) = before.get(self.register(1)?) else {
                    return None;
                };
                let shift = match self.operands.get(3) {
                    None => 0,
                    Some(shift) => number(shift.strip_prefix("lsl ")?)?,
                };
                let by = operand(2)? << shift;
                let by = if self.mnemonic == "add" { by } else { -by };
                Some(Value::Stack(base, offset + by))
            }
            "ldr" | "ldur" | "ldp" | "ldnp" => match before.peek(Base::ENTRY, self.offset()?, 8) {
                Value::Unknown => None,
                value => Some(value)
                    .filter(|_| Some(target) != self.base() && Some(target) != self.register(1)),
            },
            _ => None,
        }
    }

    /// How far from the base register memory is accessed, if no register says it: bytes.
    fn offset(&self) -> Option<i64> {
        let index = self.memory()?;
        let inside = self.operands[index].trim_end_matches('!');
        let inside = inside.strip_prefix('[')?.strip_suffix(']')?;
        let is_post = self.operands.len() > index + 1;
        match inside.split_once(',') {
            _ if is_post => Some(0),
            None => Some(0),
            Some((_, index)) if index.contains("zr") => Some(0),
            Some((_, offset)) => number(offset.trim()),
        }
    }

    /// Where the instruction stores, bytes from the base register, and how many; `None`: nowhere, or anywhere.
    fn stores(&self) -> Option<(i64, i64)> {
        let name = self.mnemonic;
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let atomic = starts(&[
            "rcw", "swp", "ldadd", "ldclr", "ldeor", "ldset", "ldsm", "ldum", "cas",
        ]);
        if !(atomic || name.starts_with("st")) {
            return None;
        }
        let (index, offset) = (self.memory()?, self.offset()?);
        let last = self.operands[index - 1];
        let stores = match name {
            "stg" | "st2g" => return None,
            "stzg" | "stgp" => 16,
            "stz2g" => 32,
            _ if starts(&["swpp", "ldclrp", "ldsetp"]) => 16,
            _ if starts(&["rcw"]) => {
                let pairs = ["casp", "clrp", "setp", "swpp"];
                if pairs.iter().any(|of| name.contains(of)) {
                    16
                } else {
                    8
                }
            }
            "gcsstr" | "gcssttr" => 8,
            "st64b" | "st64bv" | "st64bv0" => 64,
            // Those of one register: its elements, and how many of them.
            _ if last.starts_with('{') || last.contains('[') && last.contains('.') => {
                let count = last.matches('.').count() as i64;
                let arrangement = last.split('.').nth(1)?;
                let whole = match arrangement.split([',', ' ', '}']).next()? {
                    "16b" | "8h" | "4s" | "2d" => 16,
                    "8b" | "4h" | "2s" | "1d" => 8,
                    "b" => 1,
                    "h" => 2,
                    "s" => 4,
                    "d" => 8,
                    _ => return None,
                };
                count * whole
            }
            _ => {
                let pair = starts(&[
                    "stp", "stnp", "sttp", "sttnp", "stxp", "stlxp", "casp", "stilp",
                ]);
                let letters = match starts(&["casp"]) || name.ends_with('p') {
                    true => name.trim_end_matches('p'),
                    false => name,
                };
                let whole = match (last.as_bytes()[0], letters.as_bytes().last()?) {
                    (b'x' | b'w', b'b') if name != "stb" => 1,
                    (b'x' | b'w', b'h') => 2,
                    (b'b', _) => 1,
                    (b'h', _) => 2,
                    (b's' | b'w', _) => 4,
                    (b'q', _) => 16,
                    (b'd' | b'x', _) => 8,
                    _ => return None,
                };
                if pair { 2 * whole } else { whole }
            }
        };
        Some((offset, stores))
    }
}

fn number(text: &str) -> Option<i64> {
    let text = text.strip_prefix('#').unwrap_or(text);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(
        if negative {
            value.wrapping_neg()
        } else {
            value
        }
        .cast_signed(),
    )
}

/// A machine with something in every place around the stack pointer, and `base` there, too.
fn machine(base: Register) -> Machine {
    let mut machine = Machine::at_entry(SP);
    for (index, offset) in (-AROUND..AROUND).step_by(8).enumerate() {
        let value = Value::Signed(index as Register);
        machine.store(Address::Stack(Base::ENTRY, offset), 8, value);
    }
    machine.set(base, Value::Stack(Base::ENTRY, 0));
    machine
}

#[test]
fn changes_are_those_of_the_operands() {
    let words = words();
    let texts = disassembled(&words);
    let (mut compared, mut values, mut stores, mut branches, mut unknown) = (0, 0, 0, 0, 0);
    // What the decoder does not know: pointer authentication with the program counter (Armv9.5), and system registers
    // of 128 bits that do not exist.
    let mut left_out = 0;
    let mut wrong = Vec::new();
    for (index, (word, text)) in words.iter().zip(&texts).enumerate() {
        let before = machine((word >> 5 & 31) as Register);
        let mut after = before.clone();
        after.at = 4 * index as u64;
        let executed = A64.execute(&word.to_le_bytes(), &mut after, &mut Tables::default());
        let Some(text) = text else {
            unknown += usize::from(executed.is_some());
            continue;
        };
        let parsed = Text::parse(text);
        // A base register that is loaded and moved: what it holds then, the manual leaves open.
        let moves = parsed
            .memory()
            .is_some_and(|at| parsed.operands[at].ends_with('!') || parsed.operands.len() > at + 1);
        let base = parsed
            .base()
            .filter(|_| moves && parsed.mnemonic.starts_with("ld"));
        if base.is_some() && [0, 1].iter().any(|of| parsed.register(*of) == base) {
            continue;
        }
        let is_newer = parsed.mnemonic.contains("sppc") || parsed.mnemonic.contains("171615");
        let is_unnamed = text.contains("S0_") || text.contains("S1_");
        if executed.is_none() && (is_newer || is_unnamed && parsed.mnemonic.contains("rr")) {
            left_out += 1;
            continue;
        }
        let Some(executed) = executed else {
            wrong.push(format!("{word:08x} {text}: not decoded"));
            continue;
        };
        compared += 1;
        let changed: BTreeSet<Register> = (0..=SP)
            .filter(|of| before.get(*of) != after.get(*of))
            .collect();
        let written = parsed.written();
        // A register that is given what it holds is written, and does not change; the base holds the stack pointer.
        let gives_same = parsed.register(0) == Some(SP)
            || (1..=2).any(|of| parsed.register(0) == parsed.register(of));
        let copies = gives_same && written.len() == 1 && changed.is_empty();
        if changed != written && !copies {
            wrong.push(format!("{word:08x} {text}: changes {changed:?}"));
        }
        if let Some(value) = parsed.result(after.at, &before) {
            values += 1;
            let is = after.get(parsed.register(0).unwrap());
            if is != value {
                wrong.push(format!("{word:08x} {text}: gives {is:?}, not {value:?}"));
            }
        }
        let target = match executed.flow {
            Flow::Branch(target, _) => Some(target),
            Flow::Jump(Value::Constant(target)) | Flow::Call(Value::Constant(target)) => {
                Some(target)
            }
            _ => None,
        };
        if let Some(target) = target {
            branches += 1;
            let printed = parsed.operands.last().and_then(|operand| number(operand));
            if printed != Some(target.cast_signed()) {
                wrong.push(format!("{word:08x} {text}: leads to {target:#x}"));
            }
        }
        if written.contains(&SP) {
            continue;
        }
        let places = (-AROUND..AROUND).step_by(8);
        let overwritten: Vec<i64> = places
            .clone()
            .filter(|of| after.peek(Base::ENTRY, *of, 8) != before.peek(Base::ENTRY, *of, 8))
            .collect();
        let expected: Vec<i64> = match parsed.stores() {
            _ if parsed.stores_anywhere() => places.collect(),
            Some((offset, size)) => {
                stores += 1;
                places
                    .filter(|of| *of < offset + size && offset < *of + 8)
                    .collect()
            }
            None => Vec::new(),
        };
        if overwritten != expected {
            wrong.push(format!(
                "{word:08x} {text}: overwrites {overwritten:?}, not {expected:?}"
            ));
        }
    }
    say(format_args!(
        "{compared} instructions compared, {values} values, {stores} stores, {branches} branches; llvm-objdump does not know {unknown}, the decoder {left_out}"
    ));
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(30)].join("\n")
    );
    assert!(compared > WORDS / 4 && values > 500 && stores > 1000 && branches > 1000);
}

/// Whatever has run before: no instruction makes the arithmetic on what is known overflow.
#[test]
fn any_instruction_follows_any_other() {
    let words = words();
    let mut executed = 0;
    for run in words.chunks(50) {
        let mut machine = Machine::at_entry(SP);
        let mut tables = Tables::default();
        // Numbers to compute with.
        for register in 0..8 {
            let value = u64::from(run[usize::from(register)]) << (register * 4);
            machine.set(register, Value::Constant(value));
        }
        for (index, word) in run.iter().enumerate() {
            machine.at = (u64::MAX - 99).wrapping_add(4 * index as u64);
            // Most read registers that hold numbers or the stack pointer.
            let word =
                word & !(0x18 << 5 | 0x18 << 16) | if word & 1 << 31 == 0 { 0x1f << 5 } else { 0 };
            let done = A64.execute(&word.to_le_bytes(), &mut machine, &mut tables);
            executed += usize::from(done.is_some());
        }
    }
    assert!(executed > WORDS / 4);
}
