//! What symbol tables say of an address.

use unwind::Range;
use unwind::symbols::{Precision, SymbolTable, are_of_one_function, format};

/// Parses a symbol table and asks it for `pc`.
pub fn symbols(bytes: &[u8], address: u64, pc: u64) {
    match SymbolTable::parse(bytes, address) {
        Ok(table) => {
            let _ = (table.build_id(), table.has_full_names(), table.level());
            let range = table.function_range(pc);
            assert!(range.is_none_or(|range| range.holds(pc, 1)));
            if let Some(answer) = table.resolve(pc) {
                assert!(pc.wrapping_sub(answer.start) < answer.size);
                let is_same = |range: Range| range.start == answer.start;
                assert!(range.is_none_or(is_same));
                let frames: Vec<_> = answer.frames().collect();
                let most = match answer.precision {
                    Precision::Exact => format::MAX_EDGES + 1,
                    _ => 1,
                };
                assert!((1..=most).contains(&frames.len()));
                for frame in frames {
                    let longest = 4 * format::TEXT_STEPS as usize;
                    let mut name = String::new();
                    frame.name.write(&mut name).expect("a String takes all");
                    assert!(name.chars().count() <= format::TEXT_MAX);
                    // What is replaced as it is written is another text.
                    assert!(name.contains(['?', '\u{fffd}']) || frame.name == *name);
                    assert!(frame.name.compressed().len() <= bytes.len());
                    assert!(are_of_one_function(name.bytes(), name.bytes()));
                    if let Some((file, line)) = frame.place() {
                        assert!(file.to_string().len() <= longest);
                        assert!(line > 0 && answer.precision != Precision::NameOnly);
                    }
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A symbol table with its checksum made right, so that a mutation gets past it.
pub fn with_checksum(bytes: &mut [u8]) {
    let length = bytes.get(12..16).map_or(0, |field| {
        u32::from_le_bytes(field.try_into().expect("4 bytes"))
    });
    if let Some(body) = bytes.get(20..length as usize) {
        let crc = crc32fast::hash(body).to_le_bytes();
        bytes[16..20].copy_from_slice(&crc);
    }
}
