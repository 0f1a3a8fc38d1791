//! The list of programs: which compilers, flags and installed programs a run covers.
//!
//! A line has a kind, a name and words:
//!
//! | kind | the rest of the line |
//! |---|---|
//! | `compiler` | a name, and the command of the compiler with its first arguments |
//! | `set` | a compiler, a name, and flags: each program of kind `source` is built with them, with and without unwind tables |
//! | `source` | a compiler, a name, and source files |
//! | `build` | a name, and the command that compiles the program; `-o FILE` is added |
//! | `assemble` | a name, and the command that assembles the program; `-o FILE` is added, and the object is linked |
//! | `rust` | a name, and arguments of `rustc`, which gets the program of the linker's stepped tests |
//! | `run` | a name, and the command line of an installed program |

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Flags of a program without unwind tables.
const WITHOUT_TABLES: [&str; 3] = [
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-fno-exceptions",
];
/// Flags of a program with unwind tables.
const WITH_TABLES: [&str; 1] = ["-fasynchronous-unwind-tables"];
/// Flags of a program without a C library.
const BARE: [&str; 5] = [
    "-w",
    "-ffreestanding",
    "-fno-builtin",
    "-static",
    "-nostdlib",
];

/// A program to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name, unique in the list.
    pub name: String,
    /// Commands that build the program; each writes its output to the path behind `-o`.
    pub builds: Vec<Vec<String>>,
    /// The command line that runs the program.
    pub run: Vec<String>,
}

/// Reads the list. Programs are built in `out`.
///
/// # Errors
/// Returns an error if a line has an unknown kind, or too few words.
pub fn read(text: &str, out: &Path) -> Result<Vec<Program>> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<Vec<&str>> = lines
        .map(|line| line.split_ascii_whitespace().collect())
        .collect();
    let mut programs = Vec::new();
    for line in &lines {
        match line[..] {
            ["compiler", _, _, ..] => {}
            ["set", compiler, set, ref flags @ ..] => {
                for other in &lines {
                    if let ["source", its, name, ref sources @ ..] = other[..]
                        && its == compiler
                    {
                        programs.extend(bare(
                            &command_of(compiler, &lines),
                            &format!("{compiler}-{set}-{name}"),
                            flags,
                            sources,
                            out,
                        ));
                    }
                }
            }
            ["source", _, _, _, ..] => {}
            ["build", name, compiler, ref rest @ ..] => {
                programs.push(built(name, &[compiler], rest, out))
            }
            ["rust", name, ref rest @ ..] => {
                let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/stepped.rs");
                let first = [
                    "rustc",
                    "--edition=2024",
                    "-Csymbol-mangling-version=v0",
                    program,
                ];
                programs.push(built(name, &first, rest, out));
            }
            ["assemble", name, assembler, ref rest @ ..] => {
                let object = path(out, &format!("{name}.o"));
                let mut program = built(name, &["ld", object.as_str()], &[], out);
                let mut assemble = vec![assembler.to_owned()];
                assemble.extend(rest.iter().map(ToString::to_string));
                assemble.extend(["-o".to_owned(), object]);
                program.builds.insert(0, assemble);
                programs.push(program);
            }
            ["run", name, ref command @ ..] if !command.is_empty() => programs.push(Program {
                name: name.to_owned(),
                builds: Vec::new(),
                run: command.iter().map(ToString::to_string).collect(),
            }),
            _ => bail!(
                "unknown kind of line in the program list: {}",
                line.join(" ")
            ),
        }
    }
    Ok(programs)
}

/// The command of a compiler with this name.
fn command_of<'a>(name: &'a str, lines: &[Vec<&'a str>]) -> Vec<&'a str> {
    let named = lines.iter().find_map(|line| match line[..] {
        ["compiler", its, ref command @ ..] if its == name => Some(command.to_vec()),
        _ => None,
    });
    named.unwrap_or_else(|| vec![name])
}

/// A program without a C library, with and without unwind tables.
fn bare(
    compiler: &[&str],
    name: &str,
    flags: &[&str],
    sources: &[&str],
    out: &Path,
) -> [Program; 2] {
    let kinds: [(&str, &[&str]); 2] = [("tables", &WITH_TABLES), ("bare", &WITHOUT_TABLES)];
    kinds.map(|(kind, tables)| {
        let first = [compiler, &BARE, tables].concat();
        let rest = [&["start.S"], sources, flags].concat();
        built(&format!("{name}-{kind}"), &first, &rest, out)
    })
}

fn built(name: &str, first: &[&str], rest: &[&str], out: &Path) -> Program {
    let file = path(out, name);
    let words = first.iter().chain(rest).chain(&["-o"]);
    let mut build: Vec<String> = words.map(ToString::to_string).collect();
    build.push(file.clone());
    Program {
        name: name.to_owned(),
        builds: vec![build],
        run: vec![file],
    }
}

fn path(out: &Path, name: &str) -> String {
    out.join(name).to_string_lossy().into_owned()
}

impl Program {
    /// Builds the program in the folder of the list, if it is to be built.
    ///
    /// # Errors
    /// Returns an error with the compiler's messages if a command fails.
    pub fn build(&self, folder: &Path) -> Result<()> {
        for build in &self.builds {
            let output = command(build).current_dir(folder).output();
            let output = output.with_context(|| format!("cannot start {}", build.join(" ")))?;
            let messages = String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                bail!(
                    "{}: {}: {}\n{messages}",
                    self.name,
                    build.join(" "),
                    output.status
                );
            }
        }
        Ok(())
    }

    /// The command that runs the program.
    #[must_use]
    pub fn command(&self) -> Command {
        command(&self.run)
    }
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}
