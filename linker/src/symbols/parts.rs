//! The parts of a blob with rows, with records and with files, each as the bytes that it has there.

use rustc_hash::FxHashMap;
use unwind::symbols::format;

use super::chunks::number;
use super::code::Code;
use super::records::Records;
use super::{grammar, or, phrases};

/// The parts that hold rows.
pub(super) fn row_parts(starts: &[u32], rows: &[Vec<u8>]) -> [(u32, Vec<u8>); 4] {
    let phrases::Compressed { phrases, codes } = phrases::compress(rows);
    let starts = starts.iter().flat_map(|start| start.to_le_bytes());
    let mut list = List::default();
    codes.iter().for_each(|codes| list.push(codes));
    [
        (format::TAG_CHUNKS, starts.collect()),
        (format::TAG_ROW_INDEX, list.index),
        (format::TAG_ROWS, list.entries),
        (format::TAG_ROW_PHRASES, phrases),
    ]
}

/// The parts that hold records and files.
pub(super) fn record_parts(code: &Code, records: &Records) -> [(u32, Vec<u8>); 5] {
    let records_in_order = || records.order.iter().map(|index| &records.records[*index]);
    let mut uses: FxHashMap<u32, u32> = FxHashMap::default();
    for record in records_in_order().filter(|record| record.first_line != u32::MAX) {
        *uses.entry(record.key.1).or_default() += 1;
    }
    let mut files: Vec<u32> = uses.keys().copied().collect();
    files.sort_by_key(|file| (std::cmp::Reverse(uses[file]), *file));
    let file_numbers: FxHashMap<u32, u32> = files.iter().copied().zip(1..).collect();

    let names = records_in_order().map(|record| or::stored(code.names.text(record.key.0)));
    let paths = files.iter().map(|file| code.files.text(*file).into());
    let texts: Vec<Vec<u8>> = names.chain(paths).collect();
    let grammar::Compressed { grammar, codes } = grammar::compress(&texts);
    let (names, paths) = codes.split_at(records.order.len());

    let mut record_list = List::default();
    for (record, name) in records_in_order().zip(names) {
        let mut bytes = Vec::new();
        let has_lines = record.first_line != u32::MAX;
        let file = if has_lines {
            file_numbers[&record.key.1]
        } else {
            0
        };
        number(&mut bytes, file << 1 | u32::from(!record.edges.is_empty()));
        if has_lines {
            number(&mut bytes, record.first_line);
        }
        if !record.edges.is_empty() {
            number(&mut bytes, record.edges.len() as u32);
        }
        for edge in &record.edges {
            number(
                &mut bytes,
                match edge.line {
                    None => format::LINE_REPLACES,
                    Some(0) => format::LINE_UNKNOWN,
                    Some(line) => line - record.first_line + format::LINE_UNKNOWN + 1,
                },
            );
            number(&mut bytes, records.numbers[edge.callee]);
        }
        bytes.extend(name);
        record_list.push(&bytes);
    }
    let mut file_list = List::default();
    paths.iter().for_each(|path| file_list.push(path));
    [
        (format::TAG_RECORD_INDEX, record_list.index),
        (format::TAG_RECORDS, record_list.entries),
        (format::TAG_FILE_INDEX, file_list.index),
        (format::TAG_FILES, file_list.entries),
        (format::TAG_TEXT_GRAMMAR, grammar),
    ]
}

/// Entries of different lengths, with an index of every eighth.
#[derive(Debug, Default)]
struct List {
    index: Vec<u8>,
    entries: Vec<u8>,
    count: u32,
}

impl List {
    fn push(&mut self, entry: &[u8]) {
        if self.count.is_multiple_of(format::STRIDE) {
            self.index.extend((self.entries.len() as u32).to_le_bytes());
        }
        self.count += 1;
        number(&mut self.entries, entry.len() as u32);
        self.entries.extend(entry);
    }
}
