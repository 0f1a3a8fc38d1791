//! What `objdump --sframe` and `readelf --relocs` print, read back.

use std::ops::Range;

use unwind::sframe::{Abi, Base, Row, Rule};

/// One section as objdump sees it.
#[derive(Debug)]
pub struct Dump {
    /// The sections of the file, by name: first address and length in bytes.
    pub sections: Vec<(String, u64, u64)>,
    pub version: u8,
    /// The names of the header's flags.
    pub flags: Vec<String>,
    /// The header's fixed offset of the return address; 0 when objdump prints none.
    pub fixed_return_address: i8,
    /// Number of rows, by the header.
    pub row_count: u32,
    pub functions: Vec<Function>,
}

/// One function as objdump sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub start: u64,
    pub size: u32,
    pub signal: bool,
    pub flexible: bool,
    pub key_b: bool,
    pub pc_mask: bool,
    pub rows: Vec<Row>,
}

impl Dump {
    /// Reads the output of `objdump [--section-headers] --sframe`. Every line must be one that is known.
    pub fn parse(text: &str, abi: Abi) -> Self {
        let mut lines = text.lines();
        let sections = section_headers(&mut lines);
        let mut field = |name: &str| {
            let line = lines.by_ref().find(|line| line.contains(name));
            line.unwrap_or_else(|| panic!("no `{name}` in what objdump printed"))
                .split_once(name)
                .unwrap()
                .1
                .trim()
                .to_owned()
        };
        let version = field("Version: SFRAME_VERSION_").parse().unwrap();
        let mut flags = vec![field("Flags:")];
        let mut fixed_return_address = 0;
        let row_count;
        let count: usize;
        loop {
            let line = lines.next().expect("the end of the header").trim();
            if let Some(flag) = line.strip_prefix("SFRAME_F_") {
                flags.push(format!("SFRAME_F_{flag}"));
            } else if let Some(offset) = line.strip_prefix("CFA fixed RA offset: ") {
                fixed_return_address = offset.parse().unwrap();
            } else {
                let number = line.strip_prefix("Num FDEs: ");
                count = number.expect("the number of functions").parse().unwrap();
                let number = lines.next().unwrap().trim().strip_prefix("Num FREs: ");
                row_count = number.expect("the number of rows").parse().unwrap();
                break;
            }
        }
        if version == 1 && abi == Abi::Amd64 {
            // 2.40 does not print it.
            fixed_return_address = -8;
        }
        let reader = RowReader {
            abi,
            fixed_return_address,
        };
        let mut functions: Vec<Function> = Vec::new();
        for line in lines.map(str::trim) {
            if line.is_empty() || line == "Function Index :" {
            } else if let Some(header) = line.strip_prefix("func idx [") {
                let index = header.split(']').next().unwrap();
                assert_eq!(index, functions.len().to_string());
                functions.push(function_header(header));
            } else if line.starts_with("STARTPC") {
                functions.last_mut().unwrap().pc_mask = line.starts_with("STARTPC[m]");
            } else {
                let function = functions.last_mut().expect("a function before its rows");
                let start = if function.pc_mask { 0 } else { function.start };
                function.rows.push(reader.row(line, start));
            }
        }
        assert_eq!(functions.len(), count);
        for flag in &mut flags {
            *flag = flag.trim_end_matches(',').to_owned();
        }
        flags.retain(|flag| flag != "NONE");
        Self {
            sections,
            version,
            flags,
            fixed_return_address,
            row_count,
            functions,
        }
    }

    /// The address of `.sframe`.
    pub fn address(&self) -> u64 {
        let section = self.sections.iter().find(|(name, ..)| name == ".sframe");
        section.expect("a section .sframe").1
    }
}

/// `Idx Name Size VMA ...`, up to the tables.
fn section_headers<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Vec<(String, u64, u64)> {
    let mut found = Vec::new();
    for line in lines {
        if line.starts_with("Contents of the SFrame section") {
            break;
        }
        let words: Vec<_> = line.split_whitespace().collect();
        if let [index, name, size, address, ..] = words[..]
            && index.parse::<u32>().is_ok()
        {
            found.push((name.to_owned(), hex(address), hex(size)));
        }
    }
    found
}

/// `0]: pc = 0x1000, size = 16 bytes, attr = "SF", pauth = B key`
fn function_header(line: &str) -> Function {
    let mut words = line.split(", ");
    let start = words.next().unwrap().split_once("pc = ").unwrap().1;
    let size = words.next().unwrap().strip_prefix("size = ").unwrap();
    let mut function = Function {
        start: hex(start),
        size: size.strip_suffix(" bytes").unwrap().parse().unwrap(),
        signal: false,
        flexible: false,
        key_b: false,
        pc_mask: false,
        rows: Vec::new(),
    };
    for word in words {
        if word == "pauth = B key" {
            function.key_b = true;
        } else {
            for letter in word
                .strip_prefix("attr = ")
                .unwrap()
                .trim_matches('"')
                .chars()
            {
                match letter {
                    'S' => function.signal = true,
                    'F' => function.flexible = true,
                    other => panic!("attribute {other}"),
                }
            }
        }
    }
    function
}

/// `0000000000001006  sp+8      u         f`: columns that may run into each other.
struct RowReader {
    abi: Abi,
    fixed_return_address: i8,
}

impl RowReader {
    fn row(&self, line: &str, function_start: u64) -> Row {
        let (pc, mut rules) = line.split_once(' ').expect("rules after a row's address");
        assert_eq!(pc.len(), 16, "{line}");
        let offset = u32::try_from(hex(pc) - function_start).unwrap();
        if rules.trim() == "RA undefined" {
            return Row {
                offset,
                cfa: Rule::Undefined,
                return_address: Rule::Undefined,
                frame_pointer: Rule::Undefined,
                signed: false,
                kept: unwind::Kept::ALL,
            };
        }
        let [cfa, frame_pointer, return_address] = [(); 3].map(|()| take_token(&mut rules));
        let signed = match rules.trim() {
            "" => false,
            "[s]" => true,
            other => panic!("`{other}` after the rules of {line}"),
        };
        Row {
            offset,
            cfa: self.rule(cfa),
            frame_pointer: match frame_pointer {
                "u" => Rule::Same,
                rule => self.rule(rule),
            },
            return_address: match return_address {
                // 2.40 does not know that AMD64 fixes it; padding means that the rule of the ABI holds.
                "u" | "U" | "f" if self.fixed_return_address != 0 => Rule::Saved {
                    base: Base::Cfa,
                    offset: self.fixed_return_address.into(),
                },
                "u" | "U" => Rule::Same,
                rule => self.rule(rule),
            },
            signed,
            kept: unwind::Kept::ALL,
        }
    }

    /// `sp+16`, `(fp-8)`, `c-16`, `r11+0`, `r17`.
    fn rule(&self, token: &str) -> Rule {
        let inner = token.strip_prefix('(').and_then(|t| t.strip_suffix(')'));
        let text = inner.unwrap_or(token);
        let split = text.find(['+', '-']).unwrap_or(text.len());
        let (base, offset) = text.split_at(split);
        let offset = if offset.is_empty() { "0" } else { offset };
        let offset = offset.parse().unwrap_or_else(|_| panic!("rule `{token}`"));
        let base = match base {
            "sp" => Base::StackPointer,
            "fp" => Base::FramePointer,
            "c" => Base::Cfa,
            _ => {
                let number = base.strip_prefix('r').and_then(|r| r.parse().ok());
                let number: u32 = number.unwrap_or_else(|| panic!("base `{base}`"));
                assert_ne!(number, self.abi.stack_pointer());
                assert_ne!(number, self.abi.frame_pointer());
                Base::Register(number)
            }
        };
        // Parentheses are printed for registers only; below the CFA there are values that were saved.
        if inner.is_some() || base == Base::Cfa {
            Rule::Saved { base, offset }
        } else {
            Rule::Value { base, offset }
        }
    }
}

/// The next column: a letter, or a base with an offset that ends where its digits do.
fn take_token<'a>(text: &mut &'a str) -> &'a str {
    let rest = text.trim_start();
    let end = if let Some(end) = rest.starts_with('(').then(|| rest.find(')')).flatten() {
        end + 1
    } else if let Some(single) = rest
        .strip_prefix(['u', 'U', 'f'])
        .filter(|r| !r.starts_with('p'))
    {
        rest.len() - single.len()
    } else {
        let sign = rest.find(['+', '-', ' ', '[']).unwrap_or(rest.len());
        let digits = rest.get(sign + 1..).unwrap_or("");
        let after = digits.find(|c: char| !c.is_ascii_digit());
        match rest.as_bytes().get(sign) {
            Some(b'+' | b'-') => sign + 1 + after.unwrap_or(digits.len()),
            _ => sign,
        }
    };
    let (token, rest) = rest.split_at(end);
    assert!(!token.is_empty(), "no rule in `{text}`");
    *text = rest;
    token
}

/// Where `.sframe` lies, and the address that each start field stands for, by the address of the field.
pub fn relocations(text: &str) -> (Range<u64>, Vec<(u64, u64)>) {
    let mut section = None;
    let mut found = Vec::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        if let Some(at) = words.iter().position(|&word| word == ".sframe")
            && section.is_none()
        {
            let (address, size) = (hex(words[at + 2]), hex(words[at + 4]));
            section = Some(address..address + size);
        } else if let [field, _, kind, value, _, sign, addend] = words[..]
            && kind.starts_with("R_")
        {
            let addend = hex(addend);
            let target = match sign {
                "+" => hex(value).wrapping_add(addend),
                _ => hex(value).wrapping_sub(addend),
            };
            found.push((hex(field), target));
        }
    }
    (section.expect("a section .sframe"), found)
}

fn hex(text: &str) -> u64 {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("`{text}` is not hexadecimal"))
}
