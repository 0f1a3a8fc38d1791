//! Words of memory, as scripts for gdb print them.

use std::collections::HashMap;

/// What is known of the machine's memory by now.
#[derive(Debug, Default)]
pub struct Words(HashMap<u64, u64>);

impl Words {
    /// Remembers "ADDRESS BYTES", where bytes are digits without "0x".
    pub fn remember<'a>(&mut self, mut line: impl Iterator<Item = &'a str>) {
        let at = hex(line.next().expect("an address"));
        let bytes = line.next().expect("bytes").as_bytes();
        for (word, at) in bytes.chunks(16).zip((at..).step_by(8)) {
            let word = str::from_utf8(word).expect("digits");
            let word = u64::from_str_radix(word, 16).expect("digits");
            self.0.insert(at, word.swap_bytes());
        }
    }

    /// The word at an address, if it is known.
    pub fn get(&self, at: u64) -> Option<u64> {
        self.0.get(&at).copied()
    }

    /// The word at an address.
    pub fn at(&self, at: u64) -> u64 {
        self.get(at).unwrap_or_else(|| panic!("no word at {at:#x}"))
    }
}

/// The number that is written so, with "0x".
pub fn hex(text: &str) -> u64 {
    let digits = text.strip_prefix("0x").expect("a hexadecimal number");
    u64::from_str_radix(digits, 16).expect("a hexadecimal number")
}
