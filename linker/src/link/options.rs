//! The options of `sframe-link`, and how an argument sets one.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::covered::LEAST;
use crate::sframe::Version;
use crate::symbols::{Level, Names};

/// The options of `sframe-link`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `--sframe=v3` or `v2`; `None` for `none`.
    pub sframe: Option<Version>,
    /// `--sframe-load=sframe` or `map`: what of the rows is loaded with the image.
    pub load: Load,
    /// `--sframe-repair`: compare rows with the code, mend wrong ones, and make missing ones.
    pub repair: bool,
    /// `--sframe-unproven=list` or `drop`: whether unproven rows are kept.
    pub unproven: OnUnproven,
    /// `--symbols=names`, `lines`, `call-sites`, `calls`, `faults` or `all`; `None` for `none`.
    pub symbols: Option<Level>,
    /// `--symbol-names=short` or `full`.
    pub names: Names,
    /// `--symbols-compare`: compare all of `.symbols` with debug information. `None`: if the linker was asked to optimize.
    pub compare: Option<bool>,
    /// `--gsym`: the file to write names, lines and inlined functions to, as LLVM's GSYM.
    pub gsym: Option<PathBuf>,
    /// `--symt`: the file to write names, lines and inlined functions of calls to, as libdragon's SYMT.
    pub symt: Option<PathBuf>,
    /// `--sframe-stats`.
    pub stats: Option<Stats>,
    /// `--sframe-unsupported=link`: link without tables for an architecture that has none.
    pub links_unsupported: bool,
    /// `--sframe-require`: fail where there would be an image without tables.
    pub is_required: bool,
    /// `--sframe-coverage`: warn if less than so many percent of the code have rows.
    pub coverage: u8,
    /// `--sframe-outermost`: functions that have no caller.
    pub outermost: Vec<String>,
    /// `--sframe-patched`: functions whose code the kernel changes, so that it has no checksum.
    pub patched: Vec<String>,
    /// `--sframe-room`: the least room for what is loaded of the rows, in bytes.
    pub sframe_room: usize,
    /// `--symbols-room`: the least room for `.symbols`, in bytes.
    pub symbols_room: usize,
    /// The path of the `.dwp` file, which need not exist. In a link, the file is of an earlier build, and contains the units that did not change.
    pub package: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sframe: Some(Version::V3),
            load: Load::default(),
            repair: true,
            unproven: OnUnproven::default(),
            symbols: Some(Level::default()),
            names: Names::Short,
            compare: None,
            gsym: None,
            symt: None,
            stats: None,
            links_unsupported: false,
            is_required: false,
            coverage: LEAST,
            outermost: Vec::new(),
            patched: Vec::new(),
            sframe_room: 0,
            symbols_room: 0,
            package: None,
        }
    }
}

/// What of the rows is loaded with the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// `.sframe`, which every reader of SFrame knows.
    #[default]
    SFrame,
    /// A rule map in its place; `.sframe` is in the file only.
    Map,
}

/// Whether unproven rows are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnproven {
    /// Keeps them and lists their code in the tables. A walk that uses such a row is in doubt.
    #[default]
    List,
    /// Removes them, for readers that do not support the list.
    Drop,
}

/// Where to write the statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stats {
    /// To standard error. rustc shows it only when the link fails, or with `-W linker-messages`.
    Stderr,
    /// To a file: as JSON, if its name ends in `.json`.
    File(PathBuf),
}

impl Options {
    /// Whether lines and inlined functions of debug information are wanted.
    #[must_use]
    pub fn needs_debug(&self) -> bool {
        self.symbols > Some(Level::Names) || self.gsym.is_some() || self.symt.is_some()
    }

    /// Whether debug information is read for anything: also for the end of a function that an option names.
    pub(super) fn reads_debug(&self) -> bool {
        self.needs_debug() || !self.outermost.is_empty()
    }

    /// Sets an option by an argument. Returns false if the argument is none of ours.
    ///
    /// # Errors
    /// Returns an error if the value is invalid, or if an argument begins as ours do and is none.
    pub fn take(&mut self, argument: &OsStr) -> Result<bool> {
        let Some(text) = argument.to_str() else {
            return Ok(false);
        };
        if text == "--sframe-stats" {
            self.stats = Some(Stats::Stderr);
            return Ok(true);
        }
        if text == "--sframe-require" {
            self.is_required = true;
            return Ok(true);
        }
        let Some((switch, value)) = text.split_once('=') else {
            if matches!(
                text,
                "--sframe"
                    | "--sframe-load"
                    | "--sframe-repair"
                    | "--sframe-unproven"
                    | "--sframe-unsupported"
                    | "--sframe-coverage"
                    | "--sframe-outermost"
                    | "--sframe-patched"
                    | "--sframe-room"
                    | "--symbols-room"
                    | "--symbols"
                    | "--symbol-names"
                    | "--symbols-compare"
                    | "--sframe-linker"
            ) {
                bail!(
                    "option {text} needs a value: run `sframe-link --sframe-help` for a description"
                );
            }
            return unknown(text);
        };
        match (switch, value) {
            ("--sframe", "v3") => self.sframe = Some(Version::V3),
            ("--sframe", "v2") => self.sframe = Some(Version::V2),
            ("--sframe", "none") => self.sframe = None,
            ("--sframe", _) => {
                bail!("invalid value `{value}` for --sframe: expected v3, v2 or none")
            }
            ("--sframe-load", "sframe") => self.load = Load::SFrame,
            ("--sframe-load", "map") => self.load = Load::Map,
            ("--sframe-load", _) => {
                bail!("invalid value `{value}` for --sframe-load: expected sframe or map")
            }
            ("--sframe-repair", "yes") => self.repair = true,
            ("--sframe-repair", "no") => self.repair = false,
            ("--sframe-repair", _) => {
                bail!("invalid value `{value}` for --sframe-repair: expected yes or no")
            }
            ("--sframe-unproven", "list") => self.unproven = OnUnproven::List,
            ("--sframe-unproven", "drop") => self.unproven = OnUnproven::Drop,
            ("--sframe-unproven", _) => {
                bail!("invalid value `{value}` for --sframe-unproven: expected list or drop")
            }
            ("--symbols", "none") => self.symbols = None,
            ("--symbols", "names") => self.symbols = Some(Level::Names),
            ("--symbols", "lines") => self.symbols = Some(Level::Lines),
            ("--symbols", "call-sites") => self.symbols = Some(Level::CallSites),
            ("--symbols", "calls") => self.symbols = Some(Level::Calls),
            ("--symbols", "faults") => self.symbols = Some(Level::Faults),
            ("--symbols", "all") => self.symbols = Some(Level::All),
            ("--symbols", _) => {
                bail!(
                    "invalid value `{value}` for --symbols: expected names, lines, call-sites, calls, faults, all or none"
                )
            }
            ("--symbol-names", "short") => self.names = Names::Short,
            ("--symbol-names", "full") => self.names = Names::Full,
            ("--symbols-compare", "yes") => self.compare = Some(true),
            ("--symbols-compare", "no") => self.compare = Some(false),
            ("--symbols-compare", _) => {
                bail!("invalid value `{value}` for --symbols-compare: expected yes or no")
            }
            ("--symbol-names", _) => {
                bail!("invalid value `{value}` for --symbol-names: expected short or full")
            }
            ("--sframe-outermost", "") => bail!("--sframe-outermost= needs the name of a function"),
            ("--sframe-outermost", name) => self.outermost.push(name.to_owned()),
            ("--sframe-patched", "") => bail!("--sframe-patched= needs the name of a function"),
            ("--sframe-patched", name) => self.patched.push(name.to_owned()),
            ("--sframe-unsupported", "link") => self.links_unsupported = true,
            ("--sframe-unsupported", "fail") => self.links_unsupported = false,
            ("--sframe-unsupported", _) => {
                bail!("invalid value `{value}` for --sframe-unsupported: expected link or fail")
            }
            ("--sframe-coverage", percent) => match percent.parse() {
                Ok(percent @ 0..=100) => self.coverage = percent,
                _ => bail!(
                    "invalid value `{percent}` for --sframe-coverage: expected a number from 0 to 100"
                ),
            },
            ("--sframe-room", size) => self.sframe_room = bytes(switch, size)?,
            ("--symbols-room", size) => self.symbols_room = bytes(switch, size)?,
            ("--symt", "") => bail!("--symt= needs a file name"),
            ("--symt", file) => self.symt = Some(file.into()),
            ("--gsym", "") => bail!("--gsym= needs a file name"),
            ("--gsym", file) => self.gsym = Some(file.into()),
            ("--sframe-stats", "") => {
                bail!(
                    "--sframe-stats= needs a file name (to write to standard error, pass --sframe-stats without =)"
                )
            }
            ("--sframe-stats", file) => self.stats = Some(Stats::File(file.into())),
            _ => return unknown(switch),
        }
        Ok(true)
    }
}

/// Refuses an argument that no linker can know. Other arguments are the linker's.
fn unknown(switch: &str) -> Result<bool> {
    match switch {
        "--sframe-help" | "--sframe-version" | "--sframe-script" => {
            bail!("option {switch} must be the first argument")
        }
        _ if switch.starts_with("--sframe-") => {
            bail!("unknown option {switch}: run `sframe-link --sframe-help` for all options")
        }
        _ => Ok(false),
    }
}

/// The most that a room may have, in bytes: more is a slip of the pen, as tables of the largest programs take some megabytes.
const MOST_ROOM: usize = 1 << 30;

/// A number of bytes, or of kibibytes with a `K` behind it.
fn bytes(switch: &str, text: &str) -> Result<usize> {
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1024),
        None => (text, 1),
    };
    let size = number.parse::<usize>().ok();
    let size = size.and_then(|number| number.checked_mul(unit));
    match size.filter(|size| *size <= MOST_ROOM) {
        Some(size) => Ok(size.next_multiple_of(8)),
        None => bail!(
            "invalid value `{text}` for {switch}: expected a number of bytes such as 65536 or 64K, at most {MOST_ROOM}"
        ),
    }
}
