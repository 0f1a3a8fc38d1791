//! A frame as JSON.

use serde::Serialize;

use super::symbolizer::Answer;

/// Fields are only ever added. Addresses are text: many readers of JSON have no integers of 64 bits.
#[derive(Serialize)]
struct Object<'a> {
    /// Line of the log, from 1.
    log_line: u64,
    /// The frame's number on its line, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    address: String,
    /// The letter of a report.
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<char>,
    /// The linker's name of the function with code of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Innermost first; empty when nothing is known.
    functions: Vec<Function<'a>>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
}

/// Where a frame was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub log_line: u64,
    pub number: Option<u32>,
    pub address: u64,
    pub how: Option<char>,
}

/// The object, without a line's end. `linked` is the address as the image has it.
pub(super) fn object(found: Found, linked: u64, answer: &Answer) -> serde_json::Result<String> {
    let function = answer.function.as_ref();
    serde_json::to_string(&Object {
        log_line: found.log_line,
        number: found.number,
        address: format!("{:#018x}", found.address),
        how: found.how,
        symbol: function.map(|function| &*function.symbol),
        offset: function.map(|function| linked.wrapping_sub(function.start)),
        size: function
            .map(|function| function.size)
            .filter(|size| *size > 0),
        functions: answer
            .sources
            .iter()
            .map(|source| {
                let place = source.place.as_ref();
                Function {
                    name: &source.name,
                    file: place.map(|place| &*place.0),
                    line: place.map(|place| place.1),
                    column: place.map(|place| place.2).filter(|column| *column > 0),
                }
            })
            .collect(),
    })
}
