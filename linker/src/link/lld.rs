//! The linker that does the work: finding it, and running it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};

use super::response;
use super::temporary::Temporary;

/// Environment variable that names the linker.
pub const LINKER_VARIABLE: &str = "SFRAME_LINK_LD";

/// A linker with `rust-lld`'s command line.
#[derive(Clone, Debug)]
pub struct Linker {
    path: PathBuf,
}

/// How a link went.
#[derive(Debug)]
pub struct Outcome {
    /// The linker's own exit status.
    pub status: ExitStatus,
    /// What it wrote to standard error.
    pub messages: Vec<u8>,
}

impl Linker {
    /// Finds the linker: what [`LINKER_VARIABLE`] names, or `rust-lld` in the search path (rustc puts its own there when
    /// it calls a linker), or the one of the toolchain that `rustc` is.
    ///
    /// # Errors
    /// It is in none of these places.
    pub fn find() -> Result<Self> {
        if let Some(path) = env::var_os(LINKER_VARIABLE).filter(|path| !path.is_empty()) {
            return Ok(Self { path: path.into() });
        }
        let path = in_search_path("rust-lld").or_else(in_toolchain);
        let Some(path) = path else {
            bail!(
                "rust-lld is neither in PATH nor in rustc's toolchain: name a linker with {LINKER_VARIABLE}"
            );
        };
        Ok(Self { path })
    }

    /// Runs a link. Standard output is passed through, standard error is kept.
    ///
    /// # Errors
    /// The linker cannot be started.
    pub fn run(&self, arguments: &[OsString], long: bool, output: &Path) -> Result<Outcome> {
        let mut command = Command::new(&self.path);
        // Without a flavor rust-lld only says that it wants one. It wants it first, and not in a response file.
        let (flavor, rest) = match arguments {
            [switch, flavor, rest @ ..] if switch == "-flavor" => (flavor.as_os_str(), rest),
            rest => (OsStr::new("gnu"), rest),
        };
        command.arg("-flavor").arg(flavor);
        let response = if long {
            let file = Temporary::beside(output, "rsp", &response::join(rest))?;
            let mut argument = OsString::from("@");
            argument.push(file.path());
            command.arg("--rsp-quoting=posix").arg(argument);
            Some(file)
        } else {
            command.args(rest);
            None
        };
        let result = command
            .stdout(std::process::Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run the linker {}", self.path.display()))?;
        drop(response);
        Ok(Outcome {
            status: result.status,
            messages: result.stderr,
        })
    }
}

impl Outcome {
    /// Shows the linker's messages, those left out that `earlier` has shown.
    pub fn show(&self, earlier: Option<&Self>) {
        let shown: Vec<&[u8]> = earlier.map_or(Vec::new(), |outcome| lines(&outcome.messages));
        let mut stderr = std::io::stderr().lock();
        for line in lines(&self.messages) {
            if !shown.contains(&line) {
                // Nothing can be done about a standard error that is closed.
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

fn in_search_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
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
        .join("bin/rust-lld");
    path.is_file().then_some(path)
}
