//! What a kernel sends for a host by `kernel/postmortem`: lines with a checksum each, and words of memory in them. Its modules `dump` and
//! `lines` have the format.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use base64ct::{Base64, Encoding};
use flate2::Crc;

use crate::image::{PROBE, probe, processor};
use crate::machine::PAGE;

/// The versions of the format. In the first there are no marks.
const VERSIONS: [&str; 2] = ["1", "2"];

/// What a line says between its first `word` and its checksum, if it is whole. Others may have put something before it, such as the time.
pub fn checked<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let line = whole(line, word)?;
    let (text, sum) = line.rsplit_once(' ')?;
    let mut crc = Crc::new();
    crc.update(text.as_bytes());
    let is_whole = sum.len() == 8 && u32::from_str_radix(sum, 16).ok()? == crc.sum();
    let text = text.get(word.len() + 1..)?;
    is_whole.then_some(text)
}

/// A line from its first `word` on.
pub fn whole<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let mut found = line.match_indices(word);
    let is_word = |at: &usize| line[at + word.len()..].starts_with(' ');
    let at = found.find_map(|(at, _)| Some(at).filter(is_word))?;
    Some(line[at..].trim_end())
}

/// The words of a first line behind `begin`, without the version of the format and without the mark, and the mark: the last line repeats it, so
/// that lines of two sendings are not taken for those of one.
///
/// # Errors
/// When the version is another, or the mark is missing.
pub fn marked(begin: &str) -> Result<(&str, Option<u32>)> {
    let (version, words) = begin.split_once(' ').unwrap_or((begin, ""));
    if version == VERSIONS[0] {
        return Ok((words, None));
    }
    if version != VERSIONS[1] {
        let [first, last] = VERSIONS;
        bail!("the kernel's data has format version {version}: expected {first} to {last}");
    }
    let marked = words
        .rsplit_once(' ')
        .and_then(|(words, mark)| Some((words, mark_of(mark)?)));
    let (words, mark) = marked.context(
        "the first line of the kernel's data does not end with an eight-digit identification number",
    )?;
    Ok((words, Some(mark)))
}

/// How many lines the last line counts before it, and the mark; none if `end` is followed by something else.
pub fn ended(end: &str) -> Option<(u64, Option<u32>)> {
    match end.split_once(' ') {
        None => Some((end.parse().ok()?, None)),
        Some((count, mark)) => Some((count.parse().ok()?, Some(mark_of(mark)?))),
    }
}

fn mark_of(digits: &str) -> Option<u32> {
    (digits.len() == 8).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// The image that has sent something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// How far it lies above the addresses that it was linked for, modulo 2^64: 0 if it has no symbols.
    pub moved_by: u64,
    /// Its build id shows that it is the image at hand. Nothing else does: another build may have a function at the same address.
    pub is_proven: bool,
}

/// That what follows the version in a first line is not of another image than this one, with this build id: the architecture, the build id,
/// and where a function lies.
///
/// # Errors
/// What it is of instead.
pub fn expect_of(origin: [&str; 3], image: &Path, build: Option<&str>) -> Result<Origin> {
    let (shown, arch) = (image.display(), processor(image)?);
    let [its_arch, its_build, lies] = origin;
    if its_arch != arch.name() {
        bail!("the kernel that sent the data is for {its_arch}, but image {shown} is for {arch}");
    }
    match build {
        Some(build) if its_build != "-" && its_build != build => bail!(
            "image {shown} has build id {build}, but the kernel that sent the data has {its_build}"
        ),
        _ => {}
    }
    let lies = lies.strip_prefix("0x");
    let lies = lies.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let lies = lies
        .context("the kernel's data does not contain the address at which the image was loaded")?;
    let moved_by = match probe(image)? {
        None => 0,
        Some(linked) => moved_by(linked, lies).with_context(|| {
            format!(
                "image {shown} is not the kernel that sent the data: {PROBE} has a different address"
            )
        })?,
    };
    Ok(Origin {
        moved_by,
        is_proven: build == Some(its_build),
    })
}

/// How far above the addresses that it was linked for an image lies that was linked to have [`PROBE`] at one address, and has it at
/// another. None if no loader does that.
#[must_use]
pub fn moved_by(linked: u64, lies: u64) -> Option<u64> {
    let by = lies.wrapping_sub(linked);
    by.is_multiple_of(PAGE).then_some(by)
}

/// The words that this text stands for.
///
/// # Errors
/// When it stands for none.
pub fn unpacked(text: &str) -> Result<Vec<u64>> {
    let packed = Base64::decode_vec(text).map_err(|error| anyhow!("{error}"))?;
    unpack(&packed)
}

fn unpack(mut packed: &[u8]) -> Result<Vec<u64>> {
    let (mut words, mut before) = (Vec::new(), 0_u64);
    while let [first, rest @ ..] = packed {
        packed = rest;
        let (count, upper) = match *first {
            0 => bail!("invalid packed bytes"),
            first @ 1..=8 => (first, 0),
            first @ 9..=16 => (first - 8, before),
            first => {
                words.resize(words.len() + usize::from(first - 16), 0);
                continue;
            }
        };
        let low = packed.split_at_checked(count.into());
        let (low, rest) = low.context("the encoded list of words ends in the middle of a word")?;
        packed = rest;
        let mut word = upper.to_le_bytes();
        word[..low.len()].copy_from_slice(low);
        let word = u64::from_le_bytes(word);
        words.push(word);
        // An address, to the kernel.
        if word >= 1 << 16 {
            before = word;
        }
    }
    Ok(words)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::decode::Symbolizer;

    /// A line with its checksum.
    pub fn line(word: &str, text: &str) -> String {
        let text = format!("{word} {text}");
        let mut crc = Crc::new();
        crc.update(text.as_bytes());
        format!("{text} {:08x}\n", crc.sum())
    }

    /// The first line of what this program would have sent as a kernel, with `more` behind it.
    pub fn begin(version: &str, more: &str) -> String {
        let image = std::env::current_exe().expect("this program has a path");
        let arch = processor(&image).expect("it is of a known processor");
        let lies = probe(&image).expect("it can be read").unwrap_or_default();
        let symbolizer = Symbolizer::open(&image).expect("it can be read");
        let build = symbolizer.build_id().unwrap_or("-");
        let end = format!("{lies:#x}{more}");
        ["begin", version, arch.name(), build, end.as_str()].join(" ")
    }

    #[test]
    fn words_are_unpacked_as_they_were_packed() {
        let high = 0xffff_ffff_8010_0000_u64;
        let packed = [
            8, 0, 0, 0x10, 0x80, 0xff, 0xff, 0xff, 0xff, 1, 7, 10, 0x34, 0x12, 18,
        ];
        let words = [high, 7, high + 0x1234, 0, 0];
        assert_eq!(unpack(&packed).expect("it is whole"), words);
        for damaged in [&packed[..8], &[0], &[9], &[1]] {
            assert!(unpack(damaged).is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn a_line_is_whole_or_none() {
        // By Python's zlib.
        let line = "dump end 4 505de177".to_owned();
        assert_eq!(checked(&line, "dump"), Some("end 4"));
        assert_eq!(
            checked(&format!("12:00:01 {line}\r"), "dump"),
            Some("end 4")
        );
        for at in 0..line.len() {
            let mut damaged = line.clone().into_bytes();
            damaged[at] ^= 1;
            let damaged = String::from_utf8_lossy(&damaged).into_owned();
            assert_eq!(checked(&damaged, "dump"), None, "{damaged}");
            assert_eq!(checked(&line[..at], "dump"), None, "{at}");
        }
    }
}
