//! Which arguments of a linker are files that it reads, and which are values of switches.

use std::ffi::{OsStr, OsString};

use crate::os_text::strip_prefix;

/// Switches of GNU ld, lld and mold whose value is the next argument, without their dashes. Names of one letter take one dash.
const WITH_VALUE: [&str; 65] = [
    "A",
    "F",
    "G",
    "I",
    "L",
    "R",
    "T",
    "Tbss",
    "Tdata",
    "Tldata-segment",
    "Trodata-segment",
    "Ttext",
    "Ttext-segment",
    "Y",
    "a",
    "architecture",
    "assert",
    "audit",
    "auxiliary",
    "b",
    "c",
    "default-script",
    "defsym",
    "dependency-file",
    "depaudit",
    "dynamic-linker",
    "dynamic-list",
    "e",
    "entry",
    "f",
    "filter",
    "fini",
    "flavor",
    "format",
    "gpsize",
    "h",
    "image-base",
    "init",
    "just-symbols",
    "l",
    "library",
    "library-path",
    "m",
    "Map",
    "mri-script",
    "o",
    "oformat",
    "out-implib",
    "output",
    "P",
    "plugin",
    "plugin-opt",
    "retain-symbols-file",
    "rpath",
    "rpath-link",
    "script",
    "section-start",
    "soname",
    "sort-section",
    "u",
    "undefined",
    "version-script",
    "wrap",
    "y",
    "z",
];

/// Switches of one letter without a value that GNU ld takes in a group, such as `-ns`. GNU ld refuses a group with any other letter.
const GROUPED: &str = "EMNSVXdginqrstvwx";

/// What an argument is for a linker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A switch, perhaps with its value.
    Switch,
    /// The value of this switch, without its dashes.
    ValueOf(&'static str),
    /// The name of an input.
    Input,
}

/// The role of each argument.
pub(super) fn roles(arguments: &[OsString]) -> impl Iterator<Item = (&OsStr, Role)> {
    let mut switch = None;
    arguments.iter().map(move |argument| {
        let role = match switch.take() {
            Some(switch) => Role::ValueOf(switch),
            None if argument.as_encoded_bytes().starts_with(b"-") => {
                switch = with_value(argument);
                Role::Switch
            }
            None => Role::Input,
        };
        (argument.as_os_str(), role)
    })
}

/// The switch that an argument is, without its dashes, if the next argument is its value.
fn with_value(argument: &OsStr) -> Option<&'static str> {
    let bytes = argument.as_encoded_bytes();
    let name = bytes
        .strip_prefix(b"--")
        .or_else(|| bytes.strip_prefix(b"-"))?;
    // With one dash, what begins with `o` is `-o` and its value.
    let is_output = !bytes.starts_with(b"--") && name.starts_with(b"o") && name.len() > 1;
    let exact = WITH_VALUE
        .into_iter()
        .find(|switch| switch.as_bytes() == name && !is_output);
    exact.or_else(|| match long(argument) {
        Some((switch, None)) => Some(switch),
        _ => None,
    })
}

/// Whether an argument is the switch of this name, with one dash or two, with its value or before it.
pub(super) fn is_named(argument: &OsStr, name: &str) -> bool {
    let one_dash = || {
        let rest = argument.as_encoded_bytes().strip_prefix(b"-")?;
        let rest = rest.strip_prefix(name.as_bytes())?;
        Some(rest.is_empty() || rest.starts_with(b"="))
    };
    long(argument).is_some_and(|(switch, _)| switch == name) || one_dash().unwrap_or(false)
}

/// Returns the letters of a short switch, or of a group of short switches; `None` for another argument.
pub(super) fn group(argument: &OsStr) -> Option<&str> {
    let letters = argument.to_str()?.strip_prefix('-')?;
    let is_group = !letters.is_empty() && letters.chars().all(|letter| GROUPED.contains(letter));
    // Such as `-init`, of which each letter is also a switch.
    let has_value = with_value(argument).is_some();
    (is_group && !has_value).then_some(letters)
}

/// The shortest abbreviations of GNU ld have more letters than that.
const FEWEST: usize = 2;

/// The switch with two dashes that an argument is, whose value is behind `=` or is the next argument. GNU ld takes each abbreviation that
/// only one switch has.
pub(super) fn long(argument: &OsStr) -> Option<(&'static str, Option<&OsStr>)> {
    let text = strip_prefix(argument, "--")?;
    let bytes = text.as_encoded_bytes();
    let end = bytes.iter().position(|byte| *byte == b'=');
    let name = &bytes[..end.unwrap_or(bytes.len())];
    // Each switch has a name of ASCII.
    let value = match end {
        Some(end) => Some(strip_prefix(
            text,
            std::str::from_utf8(&bytes[..=end]).ok()?,
        )?),
        None => None,
    };
    // Names of one letter take one dash.
    let is_exact = |switch: &&str| switch.as_bytes() == name && name.len() > 1;
    let is_short = |switch: &&str| name.len() > FEWEST && switch.as_bytes().starts_with(name);
    let mut abbreviated = WITH_VALUE.into_iter().filter(is_short);
    let switch = match WITH_VALUE.into_iter().find(is_exact) {
        Some(switch) => switch,
        None => abbreviated
            .next()
            .filter(|_| abbreviated.next().is_none())?,
    };
    Some((switch, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_are_the_switches_that_gnu_ld_takes_them_for() {
        let found = |argument: &str| {
            let (switch, value) = long(argument.as_ref())?;
            Some((
                switch,
                value.map(|value| value.to_str().unwrap().to_owned()),
            ))
        };
        let with = |switch, value: &str| Some((switch, Some(value.to_owned())));
        assert_eq!(found("--outpu"), Some(("output", None)));
        assert_eq!(found("--outp=x=y"), with("output", "x=y"));
        assert_eq!(found("--library=c"), with("library", "c"));
        assert_eq!(found("--scr=k.ld"), with("script", "k.ld"));
        assert_eq!(found("--depend=d"), with("dependency-file", "d"));
        // Several switches have these, or none.
        for argument in [
            "--out=x",
            "--lib",
            "--o",
            "-output",
            "--gc-sections",
            "--outputs",
        ] {
            assert_eq!(found(argument), None, "{argument}");
        }
        assert_eq!(with_value("--retain".as_ref()), Some("retain-symbols-file"));
    }

    #[test]
    fn values_are_no_inputs() {
        let words = "-flavor gnu -o out a.o -e start --defsym x=1 -Map map.txt -Map=other b.a -z now -T k.ld -lc --gc-sections c.o";
        let arguments: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let of = |role: fn(&Role) -> bool| -> Vec<&str> {
            let roles = roles(&arguments).filter(|(_, of)| role(of));
            roles
                .map(|(argument, _)| argument.to_str().unwrap())
                .collect()
        };
        assert_eq!(of(|role| *role == Role::Input), ["a.o", "b.a", "c.o"]);
        assert_eq!(of(|role| *role == Role::ValueOf("T")), ["k.ld"]);
        assert_eq!(of(|role| *role == Role::ValueOf("Map")), ["map.txt"]);
    }
}
