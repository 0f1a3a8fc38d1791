//! Sizes of the parts of `.symbols`.

use std::io::{self, Write};

use unwind::symbols::format;

/// Bytes of a blob, by kind.
#[derive(Debug, Default)]
struct Parts {
    /// Header, directory and ranges.
    header: usize,
    chunks: usize,
    rows: usize,
    row_phrases: usize,
    /// The indexes of rows, records and files.
    indexes: usize,
    /// Number of records, and their bytes without names and edges.
    records: (usize, usize),
    edges: (usize, usize),
    names: usize,
    files: usize,
    text_grammar: usize,
}

/// Writes sizes in bytes and parts of the code's size. Nothing for a blob that cannot be read.
pub(super) fn parts(blob: &[u8], code: u64, out: &mut dyn Write) -> io::Result<()> {
    let Some(parts) = Parts::of(blob) else {
        return Ok(());
    };
    writeln!(out, ".symbols:")?;
    for (what, bytes) in [
        ("header and ranges".to_owned(), parts.header),
        ("chunks".to_owned(), parts.chunks),
        ("rows".to_owned(), parts.rows),
        ("row phrases".to_owned(), parts.row_phrases),
        (format!("{} records", parts.records.0), parts.records.1),
        (format!("{} edges", parts.edges.0), parts.edges.1),
        ("names".to_owned(), parts.names),
        ("file paths".to_owned(), parts.files),
        ("text grammar".to_owned(), parts.text_grammar),
        ("indexes".to_owned(), parts.indexes),
    ] {
        if bytes > 0 {
            let percent = bytes as f64 * 100.0 / code.max(1) as f64;
            writeln!(out, "  {what:22}{bytes:>12}{percent:>10.1} %")?;
        }
    }
    Ok(())
}

impl Parts {
    fn of(blob: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            let bytes = blob.get(at..at.checked_add(4)?)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let mut parts = Self::default();
        let count = word(20)? as usize;
        parts.header = format::HEADER_SIZE + count * format::ENTRY_SIZE;
        for index in 0..count {
            let entry = format::HEADER_SIZE + index * format::ENTRY_SIZE;
            let (start, length) = (word(entry + 4)? as usize, word(entry + 8)? as usize);
            match word(entry)? {
                format::TAG_CHUNKS => parts.chunks = length,
                format::TAG_ROWS => parts.rows = length,
                format::TAG_ROW_PHRASES => parts.row_phrases = length,
                format::TAG_ROW_INDEX | format::TAG_RECORD_INDEX | format::TAG_FILE_INDEX => {
                    parts.indexes += length;
                }
                format::TAG_RECORDS => {
                    parts.add_records(blob.get(start..start.checked_add(length)?)?)?;
                }
                format::TAG_FILES => parts.files = length,
                format::TAG_TEXT_GRAMMAR => parts.text_grammar = length,
                _ => parts.header += length,
            }
        }
        Some(parts)
    }

    fn add_records(&mut self, mut records: &[u8]) -> Option<()> {
        let whole = records.len();
        while !records.is_empty() {
            let length = number(&mut records)? as usize;
            let (mut record, rest) = records.split_at_checked(length)?;
            records = rest;
            self.records.0 += 1;
            let file = number(&mut record)?;
            if file >> 1 != 0 {
                number(&mut record)?;
            }
            let before = record.len();
            if file & 1 != 0 {
                let edges = number(&mut record)?;
                self.edges.0 += edges as usize;
                for _ in 0..2 * u64::from(edges) {
                    number(&mut record)?;
                }
            }
            self.edges.1 += before - record.len();
            self.names += record.len();
        }
        self.records.1 = whole - self.edges.1 - self.names;
        Some(())
    }
}

/// Reads a ULEB128 number.
fn number(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_whole() {
        let header = format::HEADER_SIZE + format::ENTRY_SIZE;
        let mut blob = vec![0; header];
        blob[20] = 1;
        blob[header - 12] = format::TAG_RECORDS as u8;
        blob[header - 8] = header as u8;
        // One record without lines; one with a file, a first line, an edge and a name of two bytes.
        blob.extend([3, 0, b'a', b'b', 7, 3, 9, 1, 5, 0, b'c', b'd']);
        blob[header - 4] = 12;
        let parts = Parts::of(&blob).unwrap();
        assert_eq!(parts.records, (2, 5));
        assert_eq!(parts.edges, (1, 3));
        assert_eq!(parts.names, 4);
        assert_eq!(parts.header + 12, blob.len());
        // What ends early is not counted.
        blob.truncate(header + 11);
        assert!(Parts::of(&blob).is_none());
    }
}
