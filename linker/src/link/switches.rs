//! Which arguments of a linker are files that it reads, and which are values of switches.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Switches of GNU ld, lld and mold whose value is the next argument, without their dashes. Names of one letter take one dash.
const WITH_VALUE: [&str; 64] = [
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
            None if argument.as_bytes().starts_with(b"-") => {
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
    let bytes = argument.as_bytes();
    let name = bytes
        .strip_prefix(b"--")
        .or_else(|| bytes.strip_prefix(b"-"))?;
    WITH_VALUE
        .into_iter()
        .find(|switch| switch.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

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
