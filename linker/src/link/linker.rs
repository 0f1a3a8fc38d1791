//! Finds and runs the real linker.

use std::env::{self, consts::EXE_SUFFIX};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};

use super::response;
use super::temporary::{Names, Temporary};

/// Environment variable that names the linker.
pub const LINKER_VARIABLE: &str = "SFRAME_LINK_LD";

/// The real linker.
#[derive(Clone, Debug)]
pub struct Linker {
    path: PathBuf,
    driver: Driver,
}

/// How a linker is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    /// `rust-lld` and `lld`: several linkers in one program, selected by the first argument.
    Lld,
    /// Everything else: GNU ld, `ld.lld`, mold.
    Ld,
}

/// The result of running the linker.
#[derive(Debug)]
pub struct Outcome {
    /// The linker's own exit status.
    pub status: ExitStatus,
    /// Its output on standard output.
    pub output: Vec<u8>,
    /// Its output on standard error.
    pub messages: Vec<u8>,
}

impl Linker {
    /// Finds the linker, in this order: `named` (`--sframe-linker`); [`LINKER_VARIABLE`]; if this program was called by a
    /// linker's name (`called_as`), as C compilers do, the linker of that name in `PATH`, which for `ld.sframe` is `ld`;
    /// otherwise `rust-lld`, in `PATH` (to which rustc adds its own) or in rustc's toolchain.
    ///
    /// # Errors
    /// Returns an error if the linker is in none of these places.
    pub fn find(named: Option<&Path>, called_as: &Path) -> Result<Self> {
        let variable = env::var_os(LINKER_VARIABLE).filter(|path| !path.is_empty());
        if let Some(path) = named.map(PathBuf::from).or(variable.map(PathBuf::from)) {
            return Ok(Self::at(path));
        }
        if let Some(name) = linker_by_name(called_as) {
            let path = in_search_path(name);
            return path.map(Self::at).with_context(|| {
                format!("PATH contains no {name} other than sframe-link: pass the path of the linker with --sframe-linker or {LINKER_VARIABLE}")
            });
        }
        let path = in_search_path("rust-lld").or_else(in_toolchain);
        let Some(path) = path else {
            bail!(
                "rust-lld is neither in PATH nor in rustc's toolchain: pass the path of a linker with --sframe-linker or {LINKER_VARIABLE}"
            );
        };
        Ok(Self::at(path))
    }

    fn at(path: PathBuf) -> Self {
        let driver = match path.file_stem().and_then(OsStr::to_str) {
            Some("rust-lld" | "lld") => Driver::Lld,
            _ => Driver::Ld,
        };
        Self { path, driver }
    }

    /// Whether it is lld, called as `rust-lld` or `lld`.
    pub(super) fn is_lld(&self) -> bool {
        self.driver == Driver::Lld
    }

    /// Whether it writes an output file that is called `-` to standard output, as lld does.
    ///
    /// # Errors
    /// Returns an error if the linker cannot be started.
    pub(super) fn writes_to_standard_output(&self, names: &Names) -> Result<bool> {
        let version = self.run(&["--version".into()], false, names)?;
        Ok(version.output.starts_with(b"LLD")
            || String::from_utf8_lossy(&version.output).contains(" LLD "))
    }

    /// Runs a link, and captures its output.
    ///
    /// # Errors
    /// Returns an error if the linker cannot be started.
    pub(super) fn run(&self, arguments: &[OsString], long: bool, names: &Names) -> Result<Outcome> {
        let mut command = Command::new(&self.path);
        // rustc passes `-flavor` to any program that it takes for lld.
        let (flavor, rest) = match arguments {
            [switch, flavor, rest @ ..] if switch == "-flavor" => (flavor.as_os_str(), rest),
            rest => (OsStr::new("gnu"), rest),
        };
        // rust-lld needs a flavor, as the first argument and not in a response file.
        if self.driver == Driver::Lld {
            command.arg("-flavor").arg(flavor);
        }
        let response = if long {
            let file = Temporary::written(names, "rsp", &response::join(rest))?;
            let mut argument = OsString::from("@");
            argument.push(file.path());
            // Other linkers only know this quoting.
            if self.driver == Driver::Lld {
                command.arg("--rsp-quoting=posix");
            }
            command.arg(argument);
            Some(file)
        } else {
            command.args(rest);
            None
        };
        let result = command
            .output()
            .with_context(|| format!("cannot run the linker {path}", path = self.path.display()))?;
        drop(response);
        Ok(Outcome {
            status: result.status,
            output: names.shown(&result.stdout),
            messages: names.shown(&result.stderr),
        })
    }
}

impl Outcome {
    /// Prints what a linker writes about the image, such as `--print-memory-usage`: only the last link's is true of it.
    pub fn pass_on(&self) {
        // If standard output is closed, nobody reads it.
        let _ = std::io::stdout().lock().write_all(&self.output);
    }

    /// Prints the linker's messages, except those that `earlier` has printed.
    pub fn show(&self, earlier: Option<&Self>) {
        let shown: Vec<&[u8]> = earlier.map_or(Vec::new(), |outcome| lines(&outcome.messages));
        let mut stderr = std::io::stderr().lock();
        for line in lines(&self.messages) {
            if !shown.contains(&line) {
                // If standard error is closed, there is no way to report that.
                let _ = stderr
                    .write_all(line)
                    .and_then(|()| stderr.write_all(b"\n"));
            }
        }
    }
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.strip_suffix(b"\n")
        .unwrap_or(text)
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect()
}

/// The linker to look for when this program was called as `ld`, `ld.NAME` or `TARGET-ld`.
fn linker_by_name(called_as: &Path) -> Option<&str> {
    let name = called_as.file_name()?.to_str()?;
    match name.strip_suffix(EXE_SUFFIX).unwrap_or(name) {
        "ld.sframe" => Some("ld"),
        name if name == "ld" || name.starts_with("ld.") || name.ends_with("-ld") => Some(name),
        _ => None,
    }
}

/// A program in `PATH` that is not this program itself.
fn in_search_path(name: &str) -> Option<PathBuf> {
    let own = env::current_exe().and_then(std::fs::canonicalize).ok();
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(format!("{name}{EXE_SUFFIX}")))
        .filter(|path| path.is_file())
        .find(|path| own.is_none() || std::fs::canonicalize(path).ok() != own)
}

/// `rust-lld` among the tools of the toolchain.
fn in_toolchain() -> Option<PathBuf> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let ask = |argument: &[&str]| {
        let output = Command::new(&rustc).args(argument).output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let sysroot = ask(&["--print", "sysroot"])?;
    let version = ask(&["-vV"])?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))?;
    let path = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(host)
        .join(format!("bin/rust-lld{EXE_SUFFIX}"));
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_linkers() {
        for (called_as, expected) in [
            ("sframe-link", None),
            ("target/debug/sframe-link", None),
            ("/opt/bin/ld", Some("ld")),
            ("ld.bfd", Some("ld.bfd")),
            ("ld.sframe", Some("ld")),
            ("aarch64-linux-gnu-ld", Some("aarch64-linux-gnu-ld")),
            ("build", None),
        ] {
            assert_eq!(
                linker_by_name(Path::new(called_as)),
                expected,
                "{called_as}"
            );
        }
    }

    #[test]
    fn only_lld_is_told_its_flavor() {
        for (path, driver) in [
            ("/x/rust-lld", Driver::Lld),
            ("lld", Driver::Lld),
            ("ld.lld", Driver::Ld),
            ("/usr/bin/ld", Driver::Ld),
        ] {
            assert_eq!(Linker::at(path.into()).driver, driver, "{path}");
        }
    }
}
