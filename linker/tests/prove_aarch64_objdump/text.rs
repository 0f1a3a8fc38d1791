//! What llvm-objdump says that an instruction reads and writes.

use super::*;

/// An instruction as llvm-objdump prints it.
pub struct Text<'a> {
    pub mnemonic: &'a str,
    pub operands: Vec<&'a str>,
}

impl<'a> Text<'a> {
    pub fn parse(text: &'a str) -> Self {
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
    pub fn register(&self, index: usize) -> Option<Register> {
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
    pub fn memory(&self) -> Option<usize> {
        (self.operands.iter()).position(|operand| operand.starts_with('['))
    }

    /// The registers that the instruction writes, according to the manual's page of each mnemonic.
    pub fn written(&self) -> BTreeSet<Register> {
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
    pub fn base(&self) -> Option<Register> {
        let inside = self.operands[self.memory()?].trim_start_matches('[');
        let name = inside.split([',', ']']).next().unwrap();
        let text = Text {
            mnemonic: "",
            operands: vec![name],
        };
        text.register(0)
    }

    /// Whether how much the instruction stores depends on the processor, or is not looked at: all is forgotten then.
    pub fn stores_anywhere(&self) -> bool {
        let first = self.operands[0].trim_start_matches(['{', ' ']);
        let is_scalable = first.starts_with(['z', 'p']);
        let is_block = ["stgm", "stzgm", "stilp", "stl1"].contains(&self.mnemonic);
        let is_block = is_block || self.mnemonic == "stlr" && self.operands[1].ends_with('!');
        self.mnemonic.starts_with("st") && self.memory().is_some() && (is_scalable || is_block)
    }

    /// What the first register holds afterwards, if the text says it: numbers, and what lies at and on the stack.
    pub fn result(&self, at: u64, before: &Machine) -> Option<Value> {
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
    pub fn offset(&self) -> Option<i64> {
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
    pub fn stores(&self) -> Option<(i64, i64)> {
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

pub fn number(text: &str) -> Option<i64> {
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
