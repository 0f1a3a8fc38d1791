//! Logs the builds and boots of a test program for people: `target/tests/PROGRAM/log.tsv` has a line for each, and the folder
//! `target/tests/PROGRAM/boots` a file with the serial line of each boot. Each run of the program replaces both.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::built::target;

/// The columns of the log.
const COLUMNS: &str = "start\tseconds\tkind\ttest\timage\twords\tserial line";

/// The longest name of a file in `boots`, without its number and its extension.
const LONGEST: usize = 120;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Cargo or make built an image.
    Build,
    /// A machine booted in this process.
    Boot,
    /// A test used the boot of another test.
    Shared,
    /// The runner ran as a process, which may have booted machines.
    Runner,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Boot => "boot",
            Self::Shared => "shared",
            Self::Runner => "runner",
        }
    }
}

struct Log {
    started: Instant,
    lines: File,
    boots: PathBuf,
    count: usize,
}

impl Log {
    fn begin(started: Instant) -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let name = program.file_stem().expect("it is a file").to_string_lossy();
        // A dash precedes cargo's hash.
        let name = name.rsplit_once('-').map_or(&*name, |(name, _)| name);
        let folder = target().join("tests").join(name);
        let boots = folder.join("boots");
        // There is none before the first run.
        let _ = fs::remove_dir_all(&boots);
        fs::create_dir_all(&boots).expect("a folder can be made");
        let lines = folder.join("log.tsv");
        let mut lines = File::create(lines).expect("a file can be written");
        writeln!(lines, "{COLUMNS}").expect("a file can be written");
        report_boots_of_failed_tests();
        Self {
            started,
            lines,
            boots,
            count: 0,
        }
    }
}

/// Calls `write` with the log, whose time starts with that of its first line.
fn with<T>(begun: Instant, write: impl FnOnce(&mut Log) -> T) -> T {
    static LOG: Mutex<Option<Log>> = Mutex::new(None);
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    write(log.get_or_insert_with(|| Log::begin(begun)))
}

thread_local! {
    /// The paths of the serial lines that the test in this thread has used.
    static SEEN: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

/// Prints the paths of a test's serial lines if it fails.
fn report_boots_of_failed_tests() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        let seen = SEEN.try_with(|seen| seen.try_borrow().map(|seen| seen.clone()));
        for path in seen.into_iter().flatten().flatten() {
            eprintln!("serial line of a boot of this test: {}", path.display());
        }
    }));
}

/// Adds a line about work that began at `begun` and has just ended.
pub fn add(kind: Kind, begun: Instant, image: &str, words: &str, serial: Option<&Path>) {
    let seconds = begun.elapsed().as_secs_f64();
    let kind = kind.name();
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    let name = serial.and_then(Path::file_name).unwrap_or_default();
    let name = name.display();
    with(begun, |log| {
        let start = begun.saturating_duration_since(log.started).as_secs_f64();
        let line = format!("{start:.2}\t{seconds:.2}\t{kind}\t{test}\t{image}\t{words}\t{name}\n");
        let written = log.lines.write_all(line.as_bytes());
        written.expect("a file can be written");
    });
    if let Some(serial) = serial {
        SEEN.with_borrow_mut(|seen| seen.push(serial.to_owned()));
    }
}

/// Adds a line about a boot that has just ended, writes its serial line to a file, and returns the path of that.
pub fn boot(begun: Instant, image: &str, words: &str, serial: &[u8]) -> PathBuf {
    let (boots, number) = with(begun, |log| {
        log.count += 1;
        (log.boots.clone(), log.count)
    });
    let name = format!("{image}-{words}");
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let name = name.replace(|character| !is_plain(character), "-");
    let name = &name[..name.len().min(LONGEST)];
    let path = boots.join(format!("{number:04}-{name}.log"));
    fs::write(&path, serial).expect("a file can be written");
    add(Kind::Boot, begun, image, words, Some(&path));
    path
}

/// Returns the name of an image in the log: its path in the target folder, or the name of its file.
pub fn image_name(image: &Path) -> String {
    match image.strip_prefix(target()) {
        Ok(path) => path.display().to_string(),
        Err(_) => image
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    }
}
