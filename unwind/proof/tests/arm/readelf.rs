//! What `readelf -u` says of a file's exception tables.

use std::path::Path;
use std::process::Command;

use unwind::ehabi::{Error, Opcodes};

/// An entry of the index.
#[derive(Debug, Default)]
pub struct Entry {
    pub start: u64,
    pub cannot_unwind: bool,
    /// The number of the ABI's own personality routine.
    pub model: Option<u8>,
    /// Another personality routine's address, without the bit for Thumb.
    pub routine: Option<u64>,
    /// The bytes of each opcode, and what it does.
    pub opcodes: Vec<Line>,
}

/// An opcode: its bytes, and what it does; `None`: it is not defined.
pub type Line = (Vec<u8>, Option<String>);

pub fn entries(path: &Path) -> Vec<Entry> {
    let target = setup::workspace::target_folder().expect("the target folder");
    let readelf = setup::program("readelf", "binutils", &target).expect("readelf is to be had");
    let output = Command::new(readelf)
        .args(["--unwind", "--wide"])
        .arg(path)
        .env("LC_ALL", "C")
        .output()
        .expect("readelf starts");
    // It says nothing there, and ends with status 1 where an opcode is not defined.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.is_empty(), "readelf says {said}");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines() {
        let last = entries.last_mut();
        if line.starts_with("0x") {
            entries.push(head(line));
        } else if let Some(number) = line.strip_prefix("  Compact model index: ") {
            last.expect("an entry").model = Some(number.parse().expect("a number"));
        } else if let Some(routine) = line.strip_prefix("  Personality routine: ") {
            last.expect("an entry").routine = Some(hex(routine) & !1);
        } else if line.starts_with("  0x") {
            last.expect("an entry").opcodes.push(opcode(line));
        } else {
            let is_title = line.is_empty() || line.starts_with("Unwind section ");
            assert!(is_title, "readelf says {line:?}");
        }
    }
    entries
}

/// `0x1e32c <name>: 0x8002afb0`, `0x1e284: @0x106da8` or `0x1e414: 0x1 [cantunwind]`
fn head(line: &str) -> Entry {
    Entry {
        start: hex(line),
        cannot_unwind: line.ends_with("[cantunwind]"),
        ..Entry::default()
    }
}

/// The number that a text begins with.
fn hex(text: &str) -> u64 {
    let digits = text.strip_prefix("0x").expect("a number");
    let end = digits
        .find(|character: char| !character.is_ascii_hexdigit())
        .unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], 16).expect("a number")
}

/// `  0xb1 0x08 pop {r3}`
fn opcode(line: &str) -> Line {
    let mut bytes = Vec::new();
    let mut rest = line.trim();
    while rest.starts_with("0x") {
        bytes.push(u8::try_from(hex(rest)).expect("a byte"));
        rest = rest.get(4..).unwrap_or_default().trim();
    }
    let rest = rest.trim();
    let undefined = [
        "[Spare]",
        "[spare]",
        "[Reserved]",
        "[reserved]",
        "[unsupported",
    ];
    let is_undefined = undefined.iter().any(|word| rest.contains(word));
    (bytes, (!is_undefined).then(|| rest.to_owned()))
}

/// The same of our own.
pub fn lines(mut opcodes: Opcodes<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    loop {
        let before: Vec<u8> = opcodes.bytes().collect();
        let Some(next) = opcodes.next() else {
            return lines;
        };
        let mut length = before.len() - opcodes.bytes().count();
        if let Err(error) = next {
            assert!(matches!(error, Error::Spare(..)), "{error}");
            length = 2.min(before.len());
        }
        let text = next.ok().map(|opcode| opcode.to_string());
        lines.push((before[..length].to_vec(), text));
    }
}
