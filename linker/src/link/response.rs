//! Response files: `@file` on a linker's command line, which rustc uses if the line is too long for the system.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::os_text::{from_bytes, strip_prefix};

/// The largest depth of nested response files.
const MAX_DEPTH: usize = 16;

/// Arguments with each `@file` replaced by the arguments in it, and whether there was one.
///
/// If the file does not exist, it is an ordinary argument, as for lld.
///
/// # Errors
/// Returns an error if a file cannot be read, or files include each other.
pub(super) fn expand(arguments: &[OsString]) -> Result<(Vec<OsString>, bool)> {
    let mut out = Vec::with_capacity(arguments.len());
    let expanded = expand_into(&mut out, arguments, 0)?;
    Ok((out, expanded))
}

fn expand_into(out: &mut Vec<OsString>, arguments: &[OsString], depth: usize) -> Result<bool> {
    let mut expanded = false;
    for argument in arguments {
        match strip_prefix(argument, "@") {
            Some(file) if Path::new(file).is_file() => {
                let name = Path::new(file).display();
                if depth == MAX_DEPTH {
                    bail!("response file {name} is nested more than {MAX_DEPTH} deep");
                }
                let text = std::fs::read(file)
                    .with_context(|| format!("cannot read response file {name}"))?;
                expand_into(out, &split(&text), depth + 1)?;
                expanded = true;
            }
            _ => out.push(argument.clone()),
        }
    }
    Ok(expanded)
}

/// The arguments in a response file, quoted as by GNU tools and rustc: white space separates; a backslash escapes the next
/// byte, also in double quotes; single quotes take everything up to the closing one literally.
fn split(text: &[u8]) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut current: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => {
                current.get_or_insert_default().extend(bytes.next());
            }
            (b'\'' | b'"', None) => {
                current.get_or_insert_default();
                quote = Some(byte);
            }
            (byte, Some(open)) if byte == open => quote = None,
            (byte, None) if byte.is_ascii_whitespace() => arguments.extend(current.take()),
            (byte, _) => current.get_or_insert_default().push(byte),
        }
    }
    arguments.extend(current);
    arguments.into_iter().map(from_bytes).collect()
}

/// The text of a response file with these arguments.
pub(super) fn join(arguments: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for argument in arguments {
        text.push(b'"');
        for &byte in argument.as_encoded_bytes() {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.extend_from_slice(b"\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &str) -> Vec<String> {
        let arguments = split(text.as_bytes());
        arguments
            .iter()
            .map(|argument| argument.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn quotes_and_backslashes() {
        assert_eq!(
            strings("-o a\\ b\n-L'c d' \"e \\\" f\" ''"),
            ["-o", "a b", "-Lc d", "e \" f", ""]
        );
        assert_eq!(strings(" \n"), [""; 0]);
    }

    #[test]
    fn what_is_joined_is_split_again() {
        let arguments = ["a b", "c\"d", "e\\f", "", "g'h", "i\nj"].map(OsString::from);
        assert_eq!(split(&join(&arguments)), arguments);
    }
}
