//! Writes a SYMT file.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use rustc_hash::FxHashMap;

use super::{ALIGNMENT, HAS_MORE, HEADER, IS_START, MAGIC, SYMBOL, VERSION, short};
use crate::symbols::{Code, Frame, Function, Piece, Traced};

/// An entry, before its texts have places.
struct Entry<'a> {
    address: u32,
    name: &'a str,
    file: &'a str,
    line: u32,
    offset: u64,
}

/// The SYMT file for an image's code: each function's start, and each call of which debug information knows the line, with what is inlined
/// there. A text longer than 65,535 bytes is cut off.
///
/// # Errors
/// Returns an error if an address is not a multiple of 4, or does not fit in 32 bits.
pub fn symt(code: &Code) -> Result<Vec<u8>> {
    let mut entries = Vec::new();
    let mut pieces: Vec<Vec<&Piece>> = vec![Vec::new(); code.functions.len()];
    for piece in &code.pieces {
        pieces[piece.function].push(piece);
    }
    for (function, pieces) in code.functions.iter().zip(pieces) {
        let instructions = || pieces.iter().flat_map(|piece| &piece.instructions);
        let frames = |it: &Traced| &code.stacks[it.stack as usize][..];
        let first = instructions().find(|it| it.start == function.start);
        let first = first.map(frames).unwrap_or_default();
        add(
            code,
            function,
            function.start,
            first,
            IS_START,
            &mut entries,
        )?;
        for call in instructions().filter(|it| it.is_call) {
            let frames = frames(call);
            if !frames.is_empty() {
                add(code, function, call.start, frames, 0, &mut entries)?;
            }
        }
    }
    // Stable: those of one address stay in their order.
    entries.sort_by_key(|entry| entry.address & !(IS_START | HAS_MORE));
    Ok(encode(&entries))
}

/// Adds the entries of an instruction, the innermost first.
fn add<'a>(
    code: &'a Code,
    function: &Function,
    at: u64,
    frames: &[Frame],
    flags: u32,
    entries: &mut Vec<Entry<'a>>,
) -> Result<()> {
    ensure!(
        at.is_multiple_of(4),
        "cannot write a SYMT file for code at {at:#x}, because SYMT addresses are multiples of 4"
    );
    let address = short(at).with_context(|| {
        format!(
            "cannot write a SYMT file for code at {at:#x}, because SYMT addresses have only 32 bits"
        )
    })?;
    let offset = at - function.start;
    let mut frames = frames.iter().rev().peekable();
    if frames.peek().is_none() {
        entries.push(Entry {
            address: address | flags,
            name: code.names.text(function.name),
            file: "",
            line: 0,
            offset,
        });
    }
    while let Some(frame) = frames.next() {
        let more = if frames.peek().is_some() { HAS_MORE } else { 0 };
        entries.push(Entry {
            address: address | flags | more,
            name: code.names.text(frame.name),
            file: code.files.text(frame.file),
            line: frame.line,
            offset,
        });
    }
    Ok(())
}

fn encode(entries: &[Entry<'_>]) -> Vec<u8> {
    let (text, places) = texts(entries.iter().flat_map(|entry| [entry.name, entry.file]));
    let align = |at: usize| at.next_multiple_of(ALIGNMENT);
    let symbols = align(HEADER + 4 * entries.len());
    let texts = align(symbols + SYMBOL * entries.len());
    let mut out = Vec::with_capacity(texts + text.len());
    out.extend(MAGIC);
    let tables = [
        (HEADER, entries.len()),
        (symbols, entries.len()),
        (texts, text.len()),
    ];
    let numbers = tables.into_iter().flat_map(|(at, count)| [at, count]);
    out.extend(VERSION.to_be_bytes());
    out.extend(numbers.flat_map(|number| (number as u32).to_be_bytes()));
    out.extend(entries.iter().flat_map(|entry| entry.address.to_be_bytes()));
    out.resize(symbols, 0);
    for entry in entries {
        let [name, file] = [entry.name, entry.file].map(cut);
        out.extend(places[name].to_be_bytes());
        out.extend(places[file].to_be_bytes());
        for number in [name.len() as u64, file.len() as u64] {
            out.extend((number as u16).to_be_bytes());
        }
        // What has no room is 0.
        for number in [u64::from(entry.line), entry.offset] {
            out.extend(u16::try_from(number).unwrap_or(0).to_be_bytes());
        }
    }
    out.resize(texts, 0);
    out.extend(text);
    out
}

/// The longest start of a text whose length has room.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(u16::MAX.into())]
}

/// Each text once, and none that another one begins with; and where each is.
fn texts<'a>(all: impl Iterator<Item = &'a str>) -> (Vec<u8>, FxHashMap<&'a str, u32>) {
    let all: BTreeSet<&str> = all.map(cut).collect();
    let (mut bytes, mut places) = (Vec::new(), FxHashMap::default());
    let mut last = ("", 0);
    // From the last one on, so that each comes right behind those that begin with it.
    for text in all.into_iter().rev() {
        if !last.0.starts_with(text) {
            last = (text, bytes.len() as u32);
            bytes.extend(text.bytes());
        }
        places.insert(text, last.1);
    }
    (bytes, places)
}
