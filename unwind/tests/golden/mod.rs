//! Symbol tables as they are stored in `data/symbols`, with what they must answer. The test `golden` of `linker` wrote
//! them, and fails when it would write others.
#![allow(dead_code, reason = "each test program uses its part")]

use std::path::Path;

/// A stored table.
pub struct Table {
    /// The file's name.
    pub name: String,
    /// The blob.
    pub bytes: Vec<u8>,
    /// Addresses, counted from the blob's own, and the answers as text.
    pub answers: Vec<(u64, String)>,
}

/// All stored tables.
pub fn tables() -> Vec<Table> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/symbols");
    let mut tables = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the stored tables are there") {
        let path = entry.expect("a folder can be read").path();
        if path
            .extension()
            .is_none_or(|extension| extension != "symbols")
        {
            continue;
        }
        let answers = std::fs::read_to_string(path.with_extension("answers"))
            .expect("each table has its answers");
        let answers = answers.lines().map(|line| {
            let (address, answer) = line.split_once(' ').expect("an address and an answer");
            let address = address.strip_prefix("0x").expect("hexadecimal");
            let address = u64::from_str_radix(address, 16).expect("an address");
            (address, answer.to_owned())
        });
        tables.push(Table {
            name: path.display().to_string(),
            bytes: std::fs::read(&path).expect("a stored table can be read"),
            answers: answers.collect(),
        });
    }
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!tables.is_empty(), "no stored tables");
    tables
}
