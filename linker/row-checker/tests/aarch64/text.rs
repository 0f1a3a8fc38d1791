//! The operands of an instruction as llvm-objdump prints it, and what the manual states that the instruction writes.

use std::collections::BTreeSet;

use row_checker::aarch64::SP;
use row_checker::instruction::{Flow, Operand, Register};

/// An instruction's text.
pub struct Text<'a> {
    pub mnemonic: &'a str,
    pub operands: Vec<&'a str>,
}

/// Pairs of 16 bytes, by a part of the mnemonic.
const RCW_PAIRS: [&str; 4] = ["casp", "clrp", "setp", "swpp"];

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

    fn starts(&self, prefixes: &[&str]) -> bool {
        prefixes
            .iter()
            .any(|prefix| self.mnemonic.starts_with(prefix))
    }

    fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.mnemonic)
    }

    /// Returns the general register that an operand names.
    pub fn register(&self, index: usize) -> Option<Register> {
        register(self.operands.get(index)?)
    }

    /// Returns the index of the operand in memory.
    fn memory(&self) -> Option<usize> {
        self.operands
            .iter()
            .position(|operand| operand.starts_with('['))
    }

    /// Returns the base register of the operand in memory.
    pub fn base(&self) -> Option<Register> {
        let inside = self.operands[self.memory()?].trim_start_matches('[');
        register(inside.split([',', ']']).next()?)
    }

    /// Returns whether the instruction moves its base register.
    pub fn moves_base(&self) -> bool {
        let at = self.memory();
        at.is_some_and(|at| self.operands[at].ends_with('!') || self.operands.len() > at + 1)
    }

    /// Returns whether the instruction copies or sets a block of memory.
    fn is_block(&self) -> bool {
        self.starts(&["cpy", "set"]) && self.operands[0].ends_with("]!")
    }

    /// Returns the flow of control, by the mnemonic.
    pub fn flow(&self) -> Flow {
        match self.mnemonic {
            "b" | "b.al" | "b.nv" | "bc.al" | "bc.nv" => Flow::Jump,
            "bl" => Flow::Call,
            "cbz" | "cbnz" | "tbz" | "tbnz" => Flow::Branch,
            "br" | "braa" | "brab" | "braaz" | "brabz" => Flow::IndirectJump,
            "blr" | "blraa" | "blrab" | "blraaz" | "blrabz" => Flow::IndirectCall,
            "ret" | "retaa" | "retab" => Flow::Return,
            "eret" | "eretaa" | "eretab" => Flow::TrapReturn,
            "drps" => Flow::Unknown,
            "brk" | "udf" | "tcancel" | "dcps1" | "dcps2" | "dcps3" => Flow::Trap,
            "hlt" => Flow::Halt,
            _ if self.starts(&["b.", "bc."]) => Flow::Branch,
            "svc" | "hvc" | "smc" => Flow::Halt,
            _ => Flow::Next,
        }
    }

    /// Returns the indices of the registers among the operands that the instruction writes.
    fn results(&self) -> &'static [usize] {
        let name = self.mnemonic;
        let is_rcw_pair = name.starts_with("rcw") && RCW_PAIRS.iter().any(|of| name.contains(of));
        if self.starts(&["stx", "stlx", "st64bv"]) {
            &[0]
        } else if self.is_block() {
            if self.starts(&["cpy"]) {
                &[0, 1, 2]
            } else {
                &[0, 1]
            }
        } else if self.flow() != Flow::Next
            || self.starts(&[
                "st", "prf", "cmp", "cmn", "ccm", "fcmp", "fccmp", "setf", "cterm",
            ])
            || self.starts(&["msr", "dc", "ic", "at", "tlbi", "wf"])
            || self.is(&[
                "tst", "sys", "cfp", "dvp", "cpp", "rmif", "svc", "hvc", "smc",
            ])
        {
            &[]
        } else if self.starts(&["swpp", "ldclrp", "ldsetp", "casp"])
            || self.is(&["ldp", "ldnp", "ldpsw", "ldxp", "ldaxp", "ldiapp", "mrrs"])
            || is_rcw_pair
        {
            &[0, 1]
        } else if self.starts(&["rcwcas", "rcwscas"]) {
            &[0]
        } else if self.starts(&[
            "rcw", "swp", "ldadd", "ldclr", "ldeor", "ldset", "ldsm", "ldum",
        ]) {
            &[1]
        } else {
            &[0]
        }
    }

    /// Returns the general registers that the instruction writes.
    pub fn written(&self) -> BTreeSet<Register> {
        let name = self.mnemonic;
        let registers = self
            .results()
            .iter()
            .filter_map(|index| self.register(*index));
        let mut written: BTreeSet<_> = registers.collect();
        match name {
            "svc" | "hvc" | "smc" => written.extend(0..=18),
            "hlt" => written.extend([0]),
            "retaa" | "retab" => written.extend([30]),
            // The return address is that register.
            "ret" if !self.operands[0].is_empty() => written.extend([30]),
            "paciaz" | "paciasp" | "pacibz" | "pacibsp" | "xpaclri" => written.extend([30]),
            "autiaz" | "autiasp" | "autibz" | "autibsp" => written.extend([30]),
            "pacia1716" | "pacib1716" | "autia1716" | "autib1716" => written.extend([17]),
            "chkfeat" => written.extend([16]),
            "ld64b" => written.extend(
                self.register(0)
                    .into_iter()
                    .flat_map(|first| first..(first + 8).min(31)),
            ),
            "msr" if self.operands[0].eq_ignore_ascii_case("spsel") => written.extend([SP]),
            _ => {}
        }
        if self.moves_base() {
            written.extend(self.base());
        }
        written
    }

    /// Returns the bytes that the operand in memory is away from its base register. `None`: a register tells.
    pub fn offset(&self) -> Option<i64> {
        let index = self.memory()?;
        let inside = self.operands[index].trim_end_matches('!');
        let inside = inside.strip_prefix('[')?.strip_suffix(']')?;
        let is_after = self.operands.len() > index + 1;
        match inside.split_once(',') {
            _ if is_after => Some(0),
            None => Some(0),
            Some((_, index)) if index.contains("zr") => Some(0),
            Some((_, offset)) => number(offset.trim()),
        }
    }

    /// Returns whether the instruction stores a number of bytes that depends on the processor.
    pub fn stores_anywhere(&self) -> bool {
        let first = self.operands[0].trim_start_matches(['{', ' ']);
        let is_scalable = first.starts_with(['z', 'p']);
        // A store with an index.
        let is_indexed = self.is(&["str", "strb", "strh"]) && self.offset().is_none();
        let is_store = self.mnemonic.starts_with("st") && self.memory().is_some();
        self.is_block() || is_store && (is_scalable || is_indexed)
    }

    /// Returns whether the instruction calls software that writes memory.
    pub fn calls_other_software(&self) -> bool {
        self.is(&["svc", "hvc", "smc", "hlt"])
    }

    /// Returns the bytes that the instruction stores, and their distance from the base register.
    pub fn stored(&self) -> Option<(i64, i64)> {
        let name = self.mnemonic;
        let atomics = [
            "rcw", "swp", "ldadd", "ldclr", "ldeor", "ldset", "ldsm", "ldum", "cas",
        ];
        if !(self.starts(&atomics) || name.starts_with("st")) {
            return None;
        }
        let (index, offset) = (self.memory()?, self.offset()?);
        let last = self.operands[index.checked_sub(1)?];
        let count = match name {
            // The largest block that contains the address.
            "stgm" | "stzgm" => return Some((-2047, 4095)),
            "stg" | "stzg" | "stgp" => 16,
            "st2g" | "stz2g" => 32,
            "st64b" | "st64bv" | "st64bv0" => 64,
            _ if self.starts(&["swpp", "ldclrp", "ldsetp"]) => 16,
            _ if self.starts(&["rcw"]) => match RCW_PAIRS.iter().any(|of| name.contains(of)) {
                true => 16,
                false => 8,
            },
            _ if last.starts_with('{') || last.contains('[') => elements(last)?,
            _ => {
                let pairs = ["stp", "stnp", "stxp", "stlxp", "casp"];
                let is_pair = self.starts(&pairs);
                let letters = if is_pair {
                    name.trim_end_matches('p')
                } else {
                    name
                };
                let count = match (last.as_bytes()[0], letters.as_bytes().last()?) {
                    (b'x' | b'w', b'b') => 1,
                    (b'x' | b'w', b'h') => 2,
                    (b'b', _) => 1,
                    (b'h', _) => 2,
                    (b's' | b'w', _) => 4,
                    (b'q', _) => 16,
                    (b'd' | b'x', _) => 8,
                    _ => return None,
                };
                if is_pair { 2 * count } else { count }
            }
        };
        Some((offset, count))
    }

    /// Returns the value of the first register, if the text states one that the form of the checker can contain.
    pub fn value(&self, at: u64) -> Option<Operand> {
        let is_wide = self.operands[0] == "sp" || self.operands[0].starts_with('x');
        let constant = |index: usize| number(self.operands.get(index)?);
        self.register(0).filter(|_| is_wide)?;
        let shift = match self.operands.get(3) {
            None => 0,
            Some(shift) => number(shift.strip_prefix("lsl ")?)?,
        };
        let subtracts = self.mnemonic == "sub";
        match self.mnemonic {
            "mov" if self.operands[1] == "xzr" => Some(Operand::Number(0)),
            "mov" => Some(Operand::Sum(self.register(1)?, 0)),
            "adr" | "adrp" => {
                let to = constant(1)?;
                let is_distance = self.operands[1].starts_with('#');
                let to = if is_distance {
                    at.wrapping_add_signed(to)
                } else {
                    to.cast_unsigned()
                };
                Some(Operand::Address(to))
            }
            "add" | "sub" => match (self.register(1)?, self.register(2)) {
                // A constant that is shifted further has no value in the checker.
                (_, Some(_)) if shift > 31 => None,
                (left, Some(right)) => {
                    let shift = shift as u8;
                    Some(Operand::Registers {
                        left,
                        right,
                        shift,
                        subtracts,
                    })
                }
                (left, None) => {
                    let by = constant(2)? << shift;
                    Some(Operand::Sum(left, if subtracts { -by } else { by } as i32))
                }
            },
            "ldr" | "ldur" | "ldp" | "ldnp" | "ldar" | "ldxr" | "ldaxr" | "ldapr" | "ldapur" => {
                let is_indexed = self.operands[self.memory()?].contains("zr");
                let offset = self.offset().filter(|_| !is_indexed)?;
                Some(Operand::Load(self.base()?, offset as i32))
            }
            _ => None,
        }
    }
}

fn register(name: &str) -> Option<Register> {
    match name.trim_matches(['[', ']', '!']) {
        "sp" | "wsp" => Some(SP),
        name => {
            let number = name.strip_prefix(['x', 'w'])?.parse().ok();
            number.filter(|number| *number < 31)
        }
    }
}

/// Returns the bytes of vectors, or of one element of each.
fn elements(list: &str) -> Option<i64> {
    let count = list.matches('.').count() as i64;
    let arrangement = list.split('.').nth(1)?;
    let size = match arrangement.split([',', ' ', '}']).next()? {
        "16b" | "8h" | "4s" | "2d" => 16,
        "8b" | "4h" | "2s" | "1d" | "d" => 8,
        "b" => 1,
        "h" => 2,
        "s" => 4,
        _ => return None,
    };
    Some(count * size)
}

/// Parses a constant.
pub fn number(text: &str) -> Option<i64> {
    let text = text.strip_prefix('#').unwrap_or(text);
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(
        if is_negative {
            value.wrapping_neg()
        } else {
            value
        }
        .cast_signed(),
    )
}
