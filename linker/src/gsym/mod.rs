//! GSYM, LLVM's table of names, lines and inlined functions for programs on the host.
//!
//! The format is that of LLVM's `llvm/include/llvm/DebugInfo/GSYM` (`Header.h`, `FunctionInfo.h`, `LineTable.h`,
//! `InlineInfo.h`), version 1: header, addresses of functions, offsets of their entries, files, texts, entries of functions.
//! `llvm-gsymutil` reads it. Names and paths are those of `.symbols`.

mod function;

use rustc_hash::FxHashMap;

use crate::symbols::{Code, Piece};

const MAGIC: u32 = 0x4753_594d;
const VERSION: u16 = 1;
/// The largest size of a build id, in bytes.
const UUID_MAX: usize = 20;
/// Everything after the addresses of functions is aligned to this many bytes.
const ALIGNMENT: usize = 4;

/// The GSYM file for an image's code. A build id that is too long is truncated.
#[must_use]
pub fn gsym(code: &Code, build_id: &[u8]) -> Vec<u8> {
    let mut pieces: Vec<Vec<&Piece>> = vec![Vec::new(); code.functions.len()];
    for piece in &code.pieces {
        pieces[piece.function].push(piece);
    }
    let base = code.functions.first().map_or(0, |first| first.start);
    let last = code.functions.last().map_or(0, |last| last.start - base);
    let width = [1, 2, 4, 8]
        .into_iter()
        .find(|width| last >> (width * 8 - 1) <= 1);
    let width = width.unwrap_or(8);
    let mut tables = Tables::default();
    let functions: Vec<Vec<u8>> = code
        .functions
        .iter()
        .zip(&pieces)
        .map(|(function, pieces)| function::encode(code, function, pieces, &mut tables))
        .collect();

    let build_id = &build_id[..build_id.len().min(UUID_MAX)];
    let mut out = Vec::new();
    out.extend(MAGIC.to_le_bytes());
    out.extend(VERSION.to_le_bytes());
    out.extend([width as u8, build_id.len() as u8]);
    out.extend(base.to_le_bytes());
    out.extend((functions.len() as u32).to_le_bytes());
    let texts_place = out.len();
    out.extend([0; 8]);
    out.extend(build_id);
    out.resize(out.len() + UUID_MAX - build_id.len(), 0);
    out.resize(out.len().next_multiple_of(width as usize), 0);
    for function in &code.functions {
        out.extend(&(function.start - base).to_le_bytes()[..width as usize]);
    }
    align(&mut out);
    let offsets_place = out.len();
    out.resize(out.len() + 4 * functions.len(), 0);
    out.extend((tables.files.len() as u32 + 1).to_le_bytes());
    // File number 0 means no file.
    out.extend([0; 8]);
    for (folder, name) in &tables.files {
        out.extend(folder.to_le_bytes());
        out.extend(name.to_le_bytes());
    }
    let texts = out.len();
    put_u32(&mut out, texts_place, texts);
    put_u32(&mut out, texts_place + 4, tables.texts.bytes.len());
    out.extend(&tables.texts.bytes);
    for (index, function) in functions.iter().enumerate() {
        align(&mut out);
        let place = out.len();
        put_u32(&mut out, offsets_place + 4 * index, place);
        out.extend(function);
    }
    out
}

fn align(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
}

fn put_u32(out: &mut [u8], at: usize, value: usize) {
    let value = u32::try_from(value).expect("a file of less than 4 GiB");
    out[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Files and texts, each once.
#[derive(Debug, Default)]
struct Tables {
    /// From a number in [`Code::files`] to the number in the GSYM file.
    file_numbers: FxHashMap<u32, u32>,
    /// Texts of folder and name.
    files: Vec<(u32, u32)>,
    texts: Texts,
}

/// Texts, terminated by zeros. The first one is empty.
#[derive(Debug)]
struct Texts {
    bytes: Vec<u8>,
    places: FxHashMap<String, u32>,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            bytes: vec![0],
            places: FxHashMap::from_iter([(String::new(), 0)]),
        }
    }
}

impl Texts {
    fn place(&mut self, text: &str) -> u32 {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.bytes.len() as u32;
        self.bytes.extend(text.bytes());
        self.bytes.push(0);
        self.places.insert(text.to_owned(), place);
        place
    }
}

impl Tables {
    fn file(&mut self, code: &Code, number: u32) -> u32 {
        if number == 0 {
            return 0;
        }
        if let Some(&known) = self.file_numbers.get(&number) {
            return known;
        }
        let path = code.files.text(number);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let file = (self.texts.place(folder), self.texts.place(name));
        self.files.push(file);
        let new = self.files.len() as u32;
        self.file_numbers.insert(number, new);
        new
    }
}
