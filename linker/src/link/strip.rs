//! The arguments that strip a linked image.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use object::{Object, ObjectSection, SectionKind};

use super::loaded::is_loaded;
use super::switches::{self, Role, roles};
use crate::image::Image;

/// The short switches that strip debug information, and those that strip symbols. `-x` strips local symbols, and static functions have no others.
const SHORT: [(char, Strip); 3] = [
    ('S', Strip::Debug),
    ('s', Strip::Symbols),
    ('x', Strip::Symbols),
];

/// The long switches, with the shortest abbreviation that GNU ld takes. A linker accepts one dash or two.
const LONG: [(&[u8], &[u8], Strip); 3] = [
    (b"strip-d", b"strip-debug", Strip::Debug),
    (b"strip-a", b"strip-all", Strip::Symbols),
    (b"discard-a", b"discard-all", Strip::Symbols),
];

/// The switch for a link without debug information.
pub(super) const WITHOUT_DEBUG: &str = "--strip-debug";

/// Sections beside that of symbols which are not loaded, and which stripping debug information leaves alone.
const LEFT_ALONE: [&[u8]; 2] = [b".comment", b".ARM.attributes"];

/// The part of an image that a link strips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strip {
    Nothing,
    /// Debug information, which cargo strips from release builds. Most release builds have none.
    Debug,
    /// Symbols, with or without debug information.
    Symbols,
}

impl Strip {
    /// Returns the part that a link with these arguments strips.
    pub(super) fn of(arguments: &[OsString]) -> Self {
        let parts = roles(arguments).filter_map(|(argument, role)| part(argument, role));
        parts.max().unwrap_or(Self::Nothing)
    }
}

/// The switch that names the symbols to keep, so that it strips all others.
const RETAIN: &str = "retain-symbols-file";

/// Returns the part that an argument strips; `None` if it is no such switch, nor the value of one.
fn part(argument: &OsStr, role: Role) -> Option<Strip> {
    let bytes = argument.as_encoded_bytes();
    match role {
        Role::ValueOf(switch) => return (switch == RETAIN).then_some(Strip::Symbols),
        Role::Input => return None,
        Role::Switch => {}
    }
    if switches::is_named(argument, RETAIN) {
        return Some(Strip::Symbols);
    }
    let short = switches::group(argument).and_then(|group| group.chars().filter_map(short).max());
    let long = || {
        let name = bytes.strip_prefix(b"-")?;
        let name = name.strip_prefix(b"-").unwrap_or(name);
        let is_name = |least: &[u8], full: &[u8]| name.starts_with(least) && full.starts_with(name);
        LONG.iter()
            .find(|(least, full, _)| is_name(least, full))
            .map(|(_, _, part)| *part)
    };
    short.or_else(long)
}

/// Returns the part that a short switch strips.
fn short(letter: char) -> Option<Strip> {
    let found = SHORT.iter().find(|(switch, _)| *switch == letter);
    found.map(|(_, part)| *part)
}

/// Returns the arguments without the switches that strip. If the linker is lld, keeps groups of short switches, because lld refuses groups.
pub(super) fn unstripped(arguments: &[OsString], is_lld: bool) -> Vec<OsString> {
    let others = roles(arguments).filter_map(|(argument, role)| {
        let group = switches::group(argument).filter(|group| group.len() > 1);
        match (part(argument, role), group) {
            (None, _) => Some(Cow::Borrowed(argument)),
            (Some(_), Some(_)) if is_lld => Some(Cow::Borrowed(argument)),
            (Some(_), Some(group)) => {
                let rest = group.chars().filter(|letter| short(*letter).is_none());
                let rest: String = rest.collect();
                (!rest.is_empty()).then(|| Cow::Owned(format!("-{rest}").into()))
            }
            (Some(_), None) => None,
        }
    });
    others.map(Cow::into_owned).collect()
}

/// Whether an argument names a library that the linker looks for, so that what is in it is not known here.
pub(super) fn is_library(argument: &OsString) -> bool {
    let bytes = argument.as_encoded_bytes();
    bytes.starts_with(b"-l")
        || bytes.starts_with(b"--library") && !bytes.starts_with(b"--library-path")
}

/// Whether an image has nothing that lld takes away to strip debug information: then it is the image of a stripped link, byte for byte.
pub(super) fn has_none(image: &Image<'_>) -> bool {
    image.file.sections().all(|section| {
        is_loaded(&section)
            || section.kind() == SectionKind::Metadata
            || section
                .name_bytes()
                .is_ok_and(|name| LEFT_ALONE.contains(&name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &str) -> Vec<OsString> {
        words.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn switches_that_strip_are_found_and_removed_in_every_spelling() {
        for (switch, expected) in [
            ("-s", Strip::Symbols),
            ("-strip-all", Strip::Symbols),
            ("--strip-all", Strip::Symbols),
            ("--strip-a", Strip::Symbols),
            ("-x", Strip::Symbols),
            ("-discard-all", Strip::Symbols),
            ("-S", Strip::Debug),
            ("-strip-debug", Strip::Debug),
            ("--strip-debug", Strip::Debug),
            ("--strip-deb", Strip::Debug),
            ("-S -s", Strip::Symbols),
            ("--retain-symbols-file=kept", Strip::Symbols),
            ("--retain-symbols-file kept", Strip::Symbols),
            ("-retain-symbols-file kept", Strip::Symbols),
            ("--retain=kept", Strip::Symbols),
        ] {
            let arguments = words(&format!("-o image {switch} a.o"));
            assert_eq!(Strip::of(&arguments), expected, "{switch}");
            for is_lld in [false, true] {
                let rest = unstripped(&arguments, is_lld);
                assert_eq!(rest, words("-o image a.o"), "{switch}");
            }
        }
        let others = words(
            "-static -soname strip -e -s -X --discard-locals --strip --strip-debug-x --sort-section=name -lS",
        );
        assert_eq!(Strip::of(&others), Strip::Nothing);
        assert_eq!(unstripped(&others, false), others);
    }

    #[test]
    fn a_group_of_short_switches_loses_only_the_letters_that_strip() {
        for (switch, expected, rest) in [
            ("-ns", Strip::Symbols, "-n"),
            ("-nS", Strip::Debug, "-n"),
            ("-NSd", Strip::Debug, "-Nd"),
            ("-nx", Strip::Symbols, "-n"),
            ("-sS", Strip::Symbols, ""),
            ("-SS", Strip::Debug, ""),
            ("-EsX", Strip::Symbols, "-EX"),
        ] {
            let arguments = words(&format!("-o image {switch} a.o"));
            assert_eq!(Strip::of(&arguments), expected, "{switch}");
            let expected = words(&format!("-o image {rest} a.o"));
            assert_eq!(unstripped(&arguments, false), expected, "{switch}");
            // lld refuses groups. A link without the group would hide the error.
            assert_eq!(unstripped(&arguments, true), arguments, "{switch}");
        }
        // These arguments contain a letter of a switch with a value, or are no groups.
        let others = words("-static -stats -nos -us -ls -zs -es -O1s -n -nNX --ns -ns.o");
        assert_eq!(Strip::of(&others), Strip::Nothing);
        assert_eq!(unstripped(&others, false), others);
    }
}
