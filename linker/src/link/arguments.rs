//! Parses the command line: options of `sframe-link`, arguments for the linker, and those that both need.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::Result;

use super::options::Options;
use super::{dependencies, response, switches};
use crate::os_text::strip_prefix;
use crate::symbols::package_of;

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// Our own switches.
    pub options: Options,
    /// All other arguments, in their order, with response files expanded.
    pub linker: Vec<OsString>,
    /// There were response files, so the arguments may be too long for a command line.
    pub long: bool,
    /// `--sframe-linker`: the linker to run.
    pub linker_path: Option<PathBuf>,
    /// `--dependency-file`: what the linker writes for make or ninja.
    pub dependencies: Option<PathBuf>,
    /// The linker's output file.
    pub output: PathBuf,
    /// `--oformat`: the format of the output, if it is not ELF.
    pub format: Option<String>,
    /// By its arguments, the link makes an image: an ELF linker, without `-r`.
    pub makes_image: bool,
}

impl CommandLine {
    /// Parses the arguments, without the program's name.
    ///
    /// # Errors
    /// Returns an error if an option of `sframe-link` has an invalid value, or a response file cannot be read.
    pub fn parse(arguments: &[OsString]) -> Result<Self> {
        let (arguments, long) = response::expand(arguments)?;
        let mut line = Self {
            options: Options::default(),
            linker: Vec::with_capacity(arguments.len()),
            long,
            linker_path: None,
            dependencies: None,
            output: PathBuf::from("a.out"),
            format: None,
            makes_image: true,
        };
        // With only `-v`, GNU ld prints its version and links nothing.
        line.makes_image &= !arguments
            .iter()
            .all(|argument| matches!(argument.as_encoded_bytes(), b"-v" | b"-V"));
        let mut is_optimized = false;
        let mut arguments = arguments.into_iter().peekable();
        while let Some(argument) = arguments.next() {
            if let Some(path) = strip_prefix(&argument, "--sframe-linker=") {
                line.linker_path = Some(PathBuf::from(path));
                continue;
            }
            if line.options.take(&argument)? {
                continue;
            }
            let next = arguments.peek();
            if let Some(output) = output(&argument, next) {
                line.output = output;
            }
            if let Some(("oformat", value)) = switches::long(&argument) {
                let value = value.or(next.map(OsString::as_os_str)).unwrap_or_default();
                let name = value.to_string_lossy();
                line.format = (!name.starts_with("elf")).then(|| name.into_owned());
            }
            if let Some(file) = dependencies::file(&argument, next.map(OsString::as_os_str)) {
                line.dependencies = Some(file);
            }
            let gnu = next.is_none_or(|flavor| {
                matches!(flavor.as_encoded_bytes(), b"gnu" | b"ld" | b"ld.lld")
            });
            line.makes_image &= match argument.as_encoded_bytes() {
                b"-flavor" => gnu,
                b"-Ur" | b"-relocatable" => false,
                bytes if is_relocatable(bytes) => false,
                _ if is_short_relocatable(&argument) => false,
                b"--version" | b"-version" | b"--help" | b"-help" => false,
                _ => true,
            };
            is_optimized |= matches!(argument.as_encoded_bytes(), b"-O1" | b"-O2" | b"-O3");
            line.linker.push(argument);
        }
        // rustc says `-O1` to the linker of what is compiled with `opt-level` 2 or 3.
        line.options.compare.get_or_insert(is_optimized);
        line.options.package = Some(package_of(&line.output));
        Ok(line)
    }

    /// Whether the output has the name by which lld means standard output.
    pub(super) fn is_dash(&self) -> bool {
        self.output.as_os_str() == "-"
    }

    /// Whether the linker is to make a build id.
    pub(super) fn has_build_id(&self) -> bool {
        self.linker.iter().any(|argument| {
            let bytes = argument.as_encoded_bytes();
            bytes.starts_with(b"--build-id") && bytes != b"--build-id=none"
        })
    }
}

/// Whether an argument is `--relocatable`, or an abbreviation of it that GNU ld takes.
fn is_relocatable(argument: &[u8]) -> bool {
    argument.starts_with(b"--rel") && b"--relocatable".starts_with(argument)
}

/// Whether an argument is `-r` or `-i`, alone or in a group such as `-sr`.
fn is_short_relocatable(argument: &OsStr) -> bool {
    switches::group(argument).is_some_and(|letters| letters.contains(['r', 'i']))
}

/// The output file, if the argument, perhaps with the next one, names it.
fn output(argument: &OsStr, next: Option<&OsString>) -> Option<PathBuf> {
    if let Some((switch, value)) = switches::long(argument) {
        let value = value.or(next.map(OsString::as_os_str));
        return value.filter(|_| switch == "output").map(PathBuf::from);
    }
    match argument.as_encoded_bytes() {
        b"-o" => next.map(PathBuf::from),
        // `-oFILE`; but `-omagic` is another switch, as in lld.
        b"-omagic" => None,
        _ => strip_prefix(argument, "-o").map(PathBuf::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Load, OnUnproven, Stats};
    use crate::symbols::{Level, Names};

    fn parse(arguments: &[&str]) -> Result<CommandLine> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        CommandLine::parse(&arguments)
    }

    #[test]
    fn own_switches_are_taken_and_the_rest_is_passed_on() {
        let line = parse(&[
            "-flavor",
            "gnu",
            "--sframe=none",
            "--sframe-load=map",
            "a.o",
            "--symbol-names=full",
            "--symbols=all",
            "--symbols-compare=yes",
            "--sframe-stats=x",
            "--sframe-linker=/usr/bin/ld",
            "--sframe-unsupported=link",
            "--sframe-require",
            "--gsym=image.gsym",
            "--symt=image.sym",
            "--sframe-coverage=50",
            "--sframe-unproven=drop",
            "--sframe-outermost=one",
            "--sframe-outermost=two",
            "--sframe-patched=three",
            "--sframe-room=64K",
            "--symbols-room=1001",
            "-o",
            "out",
        ])
        .unwrap();
        assert_eq!(line.linker, ["-flavor", "gnu", "a.o", "-o", "out"]);
        assert_eq!(line.output, PathBuf::from("out"));
        assert_eq!(line.linker_path, Some(PathBuf::from("/usr/bin/ld")));
        assert!(line.makes_image);
        assert_eq!(
            line.options,
            Options {
                repair: true,
                unproven: OnUnproven::Drop,
                sframe: None,
                load: Load::Map,
                symbols: Some(Level::All),
                names: Names::Full,
                compare: Some(true),
                gsym: Some("image.gsym".into()),
                symt: Some("image.sym".into()),
                stats: Some(Stats::File("x".into())),
                links_unsupported: true,
                is_required: true,
                coverage: 50,
                outermost: vec!["one".to_owned(), "two".to_owned()],
                patched: vec!["three".to_owned()],
                sframe_room: 65536,
                symbols_room: 1008,
                package: Some("out.dwp".into()),
            }
        );
    }

    #[test]
    fn the_output_is_found_in_every_spelling() {
        for arguments in [
            &["-o", "x"][..],
            &["-ox"],
            &["--output=x"],
            &["--output", "x"],
            &["--outpu=x"],
            &["--outp", "x"],
            &["--output=y", "--outp", "x"],
            &["-oy", "-o", "x"],
        ] {
            assert_eq!(
                parse(arguments).unwrap().output,
                PathBuf::from("x"),
                "{arguments:?}"
            );
        }
        // For linkers that is `-o` with its value.
        let output = parse(&["-output=x"]).unwrap().output;
        assert_eq!(output, PathBuf::from("utput=x"));
        for arguments in [&["a.o"][..], &["--out-implib=x"], &["--oformat", "x"]] {
            let output = parse(arguments).unwrap().output;
            assert_eq!(output, PathBuf::from("a.out"), "{arguments:?}");
        }
    }

    #[test]
    fn optimized_images_are_compared_unless_said_otherwise() {
        for (arguments, compared) in [
            (&["a.o"][..], false),
            (&["-O0", "a.o"], false),
            (&["-O1", "a.o"], true),
            (&["-O2", "--symbols-compare=no"], false),
            (&["--symbols-compare=yes", "a.o"], true),
        ] {
            assert_eq!(
                parse(arguments).unwrap().options.compare,
                Some(compared),
                "{arguments:?}"
            );
        }
    }

    #[test]
    fn links_without_an_image() {
        for arguments in [
            &["-r"][..],
            &["-sr"],
            &["-ni"],
            &["--reloc"],
            &["-v"],
            &["-flavor", "wasm"],
            &["--version"],
        ] {
            assert!(!parse(arguments).unwrap().makes_image, "{arguments:?}");
        }
        assert!(
            parse(&["-flavor", "ld.lld", "-rpath", "-shared"])
                .unwrap()
                .makes_image
        );
    }

    #[test]
    fn wrong_values_are_named() {
        for (argument, expected) in [
            (
                "--sframe=v4",
                "invalid value `v4` for --sframe: expected v3, v2 or none",
            ),
            (
                "--symbols=call",
                "invalid value `call` for --symbols: expected names, lines, call-sites, calls, faults, all or none",
            ),
            (
                "--sframe-coverage=101",
                "invalid value `101` for --sframe-coverage: expected a number from 0 to 100",
            ),
            (
                "--sframe-load=both",
                "invalid value `both` for --sframe-load: expected sframe or map",
            ),
            (
                "--sframe-room=64k",
                "invalid value `64k` for --sframe-room: expected a number of bytes such as 65536 or 64K, at most 1073741824",
            ),
            (
                "--symbol-names=long",
                "invalid value `long` for --symbol-names: expected short or full",
            ),
            (
                "--symbols-compare=all",
                "invalid value `all` for --symbols-compare: expected yes or no",
            ),
            (
                "--sframe",
                "option --sframe needs a value: run `sframe-link --sframe-help` for a description",
            ),
            (
                "--sframe-outermsot=start",
                "unknown option --sframe-outermsot: run `sframe-link --sframe-help` for all options",
            ),
            (
                "--sframe-required",
                "unknown option --sframe-required: run `sframe-link --sframe-help` for all options",
            ),
            (
                "--sframe-help",
                "option --sframe-help must be the first argument",
            ),
        ] {
            assert_eq!(parse(&[argument]).unwrap_err().to_string(), expected);
        }
    }
}
