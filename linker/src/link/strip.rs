//! What a link is asked to strip of that from which the tables are made.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use object::{Object, ObjectSection, SectionFlags, SectionKind, elf};

use crate::image::Image;

/// The switches that strip symbols and debug information, and those that strip debug information.
const ALL: [&str; 3] = ["-s", "--strip-all", "-strip-all"];
const DEBUG: [&str; 3] = ["-S", "--strip-debug", "-strip-debug"];

/// The switch for a link without debug information.
pub(super) const WITHOUT_DEBUG: &str = DEBUG[1];

/// Sections beside that of symbols which are not loaded, and which stripping debug information leaves alone.
const LEFT_ALONE: [&[u8]; 2] = [b".comment", b".ARM.attributes"];

/// What is stripped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strip {
    Nothing,
    /// As cargo asks for in release builds, where there mostly is no debug information to strip.
    Debug,
    /// Symbols too.
    All,
}

impl Strip {
    pub(super) fn of(arguments: &[OsString]) -> Self {
        let has = |switches: &[&str]| {
            let mut arguments = arguments.iter();
            arguments.any(|argument| switches.iter().any(|switch| argument == switch))
        };
        match has(&ALL) {
            true => Self::All,
            false if has(&DEBUG) => Self::Debug,
            false => Self::Nothing,
        }
    }
}

/// The arguments without these switches.
pub(super) fn unstripped(arguments: &[OsString]) -> Vec<OsString> {
    let is_switch = |argument: &OsString| ALL.iter().chain(&DEBUG).any(|one| argument == one);
    let others = arguments.iter().filter(|argument| !is_switch(argument));
    others.cloned().collect()
}

/// Whether an argument names a library that the linker looks for, so that what is in it is not known here.
pub(super) fn is_library(argument: &OsString) -> bool {
    let bytes = argument.as_bytes();
    bytes.starts_with(b"-l")
        || bytes.starts_with(b"--library") && !bytes.starts_with(b"--library-path")
}

/// Whether an image has nothing that lld takes away to strip debug information: then it is the image of a stripped link, byte for byte.
pub(super) fn has_none(image: &Image<'_>) -> bool {
    image.file.sections().all(|section| {
        let is_loaded = match section.flags() {
            SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_ALLOC),
            _ => false,
        };
        is_loaded
            || section.kind() == SectionKind::Metadata
            || section
                .name_bytes()
                .is_ok_and(|name| LEFT_ALONE.contains(&name))
    })
}
