//! The linker script that gives the tables a place, where those of the link have none.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, SectionFlags, elf};

use super::SCRIPT;
use super::switches::{self, Role, roles};
use crate::image::{Image, is_code};
use crate::os_text::strip_prefix;

/// The section after which the tables come, unless other code lies behind it.
pub(super) const TEXT: &str = ".text";

/// The largest file that is looked at as a linker script, in bytes.
const LARGEST: u64 = 1 << 20;

/// The largest depth of scripts that include each other.
const MAX_DEPTH: usize = 16;

/// How many places for tables are tried.
const MOST_PLACES: usize = 8;

/// How the symbols and sections of a place for tables begin.
const PLACE: [&str; 2] = ["__sframe_start", ".tables.sframe"];

/// Advice for a linker script in which the linker refuses each place for the tables: the statement of such a script, and what to do.
const ADVICE: [(&str, &str); 3] = [
    (
        "MEMORY",
        "copy the output of `sframe-link --sframe-script` into the linker script after all code, and give each section a memory region",
    ),
    (
        "PHDRS",
        "copy the output of `sframe-link --sframe-script` into the linker script after all code, and assign each section to a PT_LOAD program header",
    ),
    (
        "SECTIONS",
        "if the linker script limits the size of the image, raise the limit; otherwise, copy the output of `sframe-link --sframe-script` into the linker script, after all code, to an address with enough free space",
    ),
];

/// Returns the advice for the linker scripts among the arguments; `None` if the link has no linker script.
pub(super) fn advice(arguments: &[OsString]) -> Option<String> {
    let all = RefCell::new(String::new());
    mention(arguments, &|text| {
        all.borrow_mut().extend([text, "\n"]);
        false
    });
    let all = all.into_inner();
    let mut advice = ADVICE.into_iter();
    let (statement, advice) = advice.find(|(statement, _)| has_statement(&all, statement))?;
    let region = (statement == "MEMORY").then(|| region_of_code(&all));
    Some(match region.flatten() {
        Some(region) => format!("{advice}, for example > {region}"),
        None => advice.to_owned(),
    })
}

/// Returns the memory region of the section `.text` in the text of linker scripts, or else the first region; `None` if there is none.
fn region_of_code(text: &str) -> Option<&str> {
    let (_, memory) = text.split_once("MEMORY")?;
    let (_, memory) = memory.split_once('{')?;
    let (memory, _) = memory.split_once('}')?;
    // A region is `NAME (ATTRIBUTES) : ORIGIN = …, LENGTH = …`.
    let regions = memory.rsplit_once(':')?.0.split(':');
    let regions = regions.filter_map(|region| {
        let region = region.trim_end();
        let name = region
            .strip_suffix(')')
            .and_then(|one| one.rsplit_once('('));
        name.map_or(region, |(name, _)| name)
            .split_whitespace()
            .last()
    });
    let regions: Vec<_> = regions.collect();
    let (_, code) = text.split_once(TEXT).unwrap_or_default();
    let used = code.match_indices('>').filter_map(|(at, _)| {
        let is_load_address = code[..at].trim_end().ends_with("AT");
        let rest = code[at + 1..].trim_start();
        let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
        let name = rest.split(is_end).next();
        name.filter(|_| !is_load_address)
    });
    let mut used = used.filter(|name| regions.contains(name));
    used.next().or_else(|| regions.first().copied())
}

/// Whether the text of a script has a statement of this name with a block.
fn has_statement(text: &str, name: &str) -> bool {
    let is_end_of_word = |letter: char| !letter.is_alphanumeric() && letter != '_';
    text.match_indices(name).any(|(at, _)| {
        text[..at].chars().next_back().is_none_or(is_end_of_word)
            && text[at + name.len()..].trim_start().starts_with('{')
    })
}

/// Whether a linker script among the arguments has a place for the tables, itself or in a file that it includes.
pub(super) fn has_place(arguments: &[OsString]) -> bool {
    mention(arguments, &|text| {
        PLACE.iter().any(|word| text.contains(word))
    })
}

/// Whether a linker script among the arguments lists the sections of the image.
pub(super) fn has_sections(arguments: &[OsString]) -> bool {
    mention(arguments, &|text| text.contains("SECTIONS"))
}

/// Whether `is_wanted` accepts the text of a linker script among the arguments, or of a file that it includes.
fn mention(arguments: &[OsString], is_wanted: &dyn Fn(&str) -> bool) -> bool {
    let folders = folders(arguments);
    // Other values are no scripts: the last build may have written a map file that names the tables.
    let scripts = roles(arguments).filter(|(_, role)| match role {
        Role::ValueOf(switch) => ["T", "script", "default-script"].contains(switch),
        Role::Switch | Role::Input => true,
    });
    scripts.into_iter().any(|(argument, _)| {
        let joined = match switches::long(argument) {
            Some(("script" | "default-script", value)) => value,
            Some(_) => None,
            None => {
                let value = ["-script=", "-T"]
                    .iter()
                    .find_map(|prefix| strip_prefix(argument, prefix));
                value.filter(|value| !value.is_empty())
            }
        };
        mentions(joined.unwrap_or(argument), is_wanted, &folders, 0)
    })
}

/// The folders of `-L`.
fn folders(arguments: &[OsString]) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::new()];
    for (index, argument) in arguments.iter().enumerate() {
        let next = || arguments.get(index + 1).map(OsString::as_os_str);
        let folder = match switches::long(argument) {
            Some(("library-path", value)) => value.or_else(next),
            _ => match strip_prefix(argument, "-L") {
                Some(joined) if joined.is_empty() => next(),
                joined => joined,
            },
        };
        folders.extend(folder.map(PathBuf::from));
    }
    folders
}

fn mentions(
    name: &OsStr,
    is_wanted: &dyn Fn(&str) -> bool,
    folders: &[PathBuf],
    depth: usize,
) -> bool {
    let mut candidates = folders.iter().map(|folder| folder.join(name));
    let Some(text) = candidates.find_map(|path| text(&path)) else {
        return false;
    };
    if is_wanted(&text) {
        return true;
    }
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if word == "INCLUDE"
            && depth < MAX_DEPTH
            && let Some(file) = words.next()
            && mentions(
                file.trim_matches('"').as_ref(),
                is_wanted,
                folders,
                depth + 1,
            )
        {
            return true;
        }
    }
    false
}

/// The text of a file, unless it is too large for a script or is an object file or an archive.
fn text(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let known = file.metadata().ok()?;
    if !known.is_file() || known.len() > LARGEST {
        return None;
    }
    // Most are object files: their first bytes tell.
    let mut text = Vec::new();
    file.by_ref().take(4).read_to_end(&mut text).ok()?;
    if text.starts_with(b"\x7fELF") || text.starts_with(b"!<") {
        return None;
    }
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// A script that puts the tables behind a section of the others', or of the linker's own.
pub(super) fn inserted(after: &str) -> String {
    format!("SECTIONS {{\n{SCRIPT}\n}}\nINSERT AFTER {after};\n")
}

/// Arguments before those of the link. lld's flavor stays the first.
pub(super) fn before<const COUNT: usize>(
    more: [OsString; COUNT],
    arguments: &[OsString],
) -> Vec<OsString> {
    let flavor = match arguments.first() {
        Some(first) if first == "-flavor" => 2,
        _ => 0,
    };
    let (flavor, rest) = arguments.split_at(flavor.min(arguments.len()));
    [flavor, &more, rest].concat()
}

/// Arguments with an object file behind those of the link. GNU ld makes sections of its own in the first input: in another one they would get
/// into output sections of the script, which then have the type of relocations.
pub(super) fn behind(object: OsString, arguments: &[OsString]) -> Vec<OsString> {
    let is_format = |argument: &OsString| {
        argument.as_encoded_bytes().starts_with(b"-b") || switches::is_named(argument, "format")
    };
    // After `-b binary` it would be bytes.
    let format = arguments.iter().any(is_format);
    let format = format.then(|| "--format=default".into());
    let arguments = arguments.iter().cloned().chain(format);
    arguments.chain([object]).collect()
}

/// The names of sections after which tables can come that have no place after `.text`: those behind all code, first what is only read.
pub(super) fn places(image: &Image<'_>) -> Vec<String> {
    let sections = image.file.sections().filter(|section| section.size() > 0);
    let flags = |section: &object::Section<'_, '_>| match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags,
        _ => elf::SectionFlags::default(),
    };
    let loaded = sections.filter(|section| {
        let flags = flags(section);
        flags.contains(elf::SHF_ALLOC)
            && !flags.contains(elf::SHF_TLS)
            && section.file_range().is_some()
    });
    let mut loaded: Vec<_> = loaded.collect();
    loaded.sort_by_key(ObjectSection::address);
    let code = |section: &object::Section<'_, '_>| is_code(section.flags());
    let last = loaded.iter().rposition(code).map_or(0, |last| last + 1);
    let (written, read): (Vec<_>, Vec<_>) = loaded
        .drain(last..)
        .partition(|section| flags(section).contains(elf::SHF_WRITE));
    let names = read.iter().chain(&written);
    names
        .filter_map(|section| plain_name(section))
        .take(MOST_PLACES)
        .collect()
}

/// Returns sections after all code that the linker's own script names and that `places` does not contain. GNU ld inserts after such a
/// section even if the image does not contain the section.
pub(super) fn of_linker(places: &[String]) -> Vec<String> {
    let names = [".rodata", ".eh_frame"].map(str::to_owned);
    names
        .into_iter()
        .filter(|name| !places.contains(name))
        .collect()
}

/// Whether a linker says that there is no section after which to insert.
pub(super) fn has_no_such_section(messages: &[u8]) -> bool {
    let messages = String::from_utf8_lossy(messages);
    ["unable to insert", "not found for insert"]
        .iter()
        .any(|words| messages.contains(words))
}

/// What a linker complains about.
pub(super) fn first_error(messages: &[u8]) -> String {
    let messages = String::from_utf8_lossy(messages);
    let lines = || {
        messages
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let is_warning = |line: &&str| line.contains("warning:") || line.contains("NOTE:");
    let error = lines()
        .find(|line| !is_warning(line))
        .or_else(|| lines().next());
    error.unwrap_or("without a message").to_owned()
}

/// The last section of an image that holds code. The tables must come after it, as the second link must not move a function.
/// Old versions of lld give an empty section the flags of the one before it: the tables' own, in the first link.
pub(super) fn last_code(image: &Image<'_>) -> Option<String> {
    let sections = image.file.sections().filter(|section| section.size() > 0);
    let code = sections.filter(|section| is_code(section.flags()));
    let last = code.max_by_key(ObjectSection::address)?;
    plain_name(&last)
}

/// The name of a section, if it can be written in a script as it is.
fn plain_name(section: &object::Section<'_, '_>) -> Option<String> {
    let name = section.name().ok()?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._$-".contains(letter);
    (!name.is_empty() && name.chars().all(is_plain)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_is_that_of_code() {
        let regions =
            "MEMORY { RAM (rwx) : ORIGIN = 2M, LENGTH = 64K\n ROM : ORIGIN = 1M, LENGTH = 1M }";
        let region = |sections: &str| {
            let text = format!("{regions} SECTIONS {{ {sections} }}");
            region_of_code(&text).map(str::to_owned)
        };
        let text = ".data : { *(.data) } > RAM .text : { *(.text) }";
        for end in [">ROM", "> ROM", "AT > RAM > ROM", ">\nROM :headers"] {
            assert_eq!(region(&format!("{text} {end}")).as_deref(), Some("ROM"));
        }
        assert_eq!(region(text).as_deref(), Some("RAM"));
        assert_eq!(region_of_code("SECTIONS { .text : { *(.text) } }"), None);
        assert_eq!(region_of_code("MEMORY { }"), None);
    }

    #[test]
    fn the_flavor_stays_first() {
        let with = |arguments: &[&str]| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            before(["-T".into(), "x".into()], &arguments).join(OsStr::new(" "))
        };
        assert_eq!(
            with(&["-flavor", "gnu", "-Tk.ld"]),
            "-flavor gnu -T x -Tk.ld"
        );
        assert_eq!(with(&["-flavor"]), "-flavor -T x");
        assert_eq!(with(&["a.o"]), "-T x a.o");
        assert_eq!(with(&[]), "-T x");
    }

    #[test]
    fn a_place_is_found_in_every_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::create_dir(folder.join("more")).unwrap();
        for (name, text) in [
            ("has.ld", "SECTIONS { __sframe_start = .; }"),
            ("none.ld", "SECTIONS { .text : { *(.text) } }"),
            ("includes.ld", "SECTIONS { INCLUDE \"inner.ld\" }"),
            ("more/inner.ld", "INCLUDE ../has.ld"),
            ("endless.ld", "INCLUDE endless.ld"),
            ("object.o", "\x7fELF __sframe_start"),
            ("lib.a", "!<arch>\n__sframe_start"),
        ] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let place = |words: &str| {
            let words = words.replace('@', folder.to_str().unwrap());
            let arguments: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            has_place(&arguments)
        };
        for words in [
            "-T @/has.ld",
            "-T@/has.ld",
            "--script=@/has.ld",
            "--script @/has.ld",
            "@/has.ld",
            "-T @/none.ld @/has.ld",
            "-L@ -Thas.ld",
            "-Thas.ld -L @",
            "-T @/includes.ld --library-path=@/more -L@/more",
        ] {
            assert!(place(words), "{words}");
        }
        for words in [
            "-T @/none.ld",
            "-T @/includes.ld",
            "-T @/endless.ld -L@",
            "-Thas.ld",
            "@/object.o @/lib.a @",
            "-L",
            "-Map @/has.ld",
            "-o @/has.ld",
        ] {
            assert!(!place(words), "{words}");
        }
    }
}
