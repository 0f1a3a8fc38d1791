//! Text of the operating system, such as arguments and paths, as bytes. Unix takes any bytes; Windows takes Unicode, whose encoding in Rust extends
//! UTF-8.

use std::ffi::{OsStr, OsString};

/// Returns the text that follows `prefix`, or `None` if the text begins otherwise.
pub(crate) fn strip_prefix<'a>(text: &'a OsStr, prefix: &str) -> Option<&'a OsStr> {
    let rest = text.as_encoded_bytes().strip_prefix(prefix.as_bytes())?;
    // SAFETY: the bytes are from `as_encoded_bytes`, and are cut after text in UTF-8, or not at all.
    Some(unsafe { OsStr::from_encoded_bytes_unchecked(rest) })
}

/// Returns the text with these bytes, which come from a file. On Windows, bytes that are not UTF-8 are replaced.
#[cfg(unix)]
pub(crate) fn from_bytes(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

/// Returns the text with these bytes, which come from a file. On Windows, bytes that are not UTF-8 are replaced.
#[cfg(not(unix))]
pub(crate) fn from_bytes(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strip_prefix_returns_the_rest_or_none() {
        let text = from_bytes(b"-L\xc3\xa4b".to_vec());
        assert_eq!(strip_prefix(&text, "-L"), Some("\u{e4}b".as_ref()));
        assert_eq!(strip_prefix(&text, "-L\u{e4}b"), Some("".as_ref()));
        assert_eq!(strip_prefix(&text, "-l"), None);
    }
}
