//! Boots images in this process, as the runner does. Tests share equal boots of a machine with one CPU: the same bytes of the image, the
//! same command line, the same board.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use qemu::build::Kernel;
use qemu::judge::{self, Judgement};
use qemu::machine::{Board, Boot, Booted};
use qemu::outside::Outside;
use qemu::scenario;

use super::built::{self, BuiltFor};
use super::log::{self, Kind};
use super::memo::Memo;
use super::ran::Ran;

/// The time limit of the runner.
const LIMIT: Duration = Duration::from_secs(60);

/// Scenarios with one CPU whose boots differ, because the timer interrupts them at arbitrary moments. Their boots are not shared.
pub const NONDETERMINISTIC: [&str; 11] = [
    "tasks",
    "crowd",
    "busy",
    "sampled",
    "deadlock",
    "panic-in-task",
    "task-overflow",
    "panic-in-timer",
    "interrupt-in-interrupt",
    "interrupted-places",
    "user-interrupted",
];

/// Boots a kernel with this command line. The exit status is the image's own verdict, as with `--image`.
pub fn boot<A: BuiltFor>(kernel: Kernel<A>, words: &str) -> Ran {
    boot_image(&built::image(kernel), words)
}

/// Boots an image with this command line.
pub fn boot_image(image: &Path, words: &str) -> Ran {
    Request::of(image, words).run()
}

/// Boots a kernel with this command line. The exit status is 0 if the scenario ended as expected, as without `--image`.
pub fn judge<A: BuiltFor>(kernel: Kernel<A>, words: &str) -> Ran {
    Request::of(&built::image(kernel), words).judged()
}

/// The parameters of a boot.
#[derive(Clone, Debug)]
pub struct Request {
    image: PathBuf,
    words: String,
    board: Board,
    cpus: u32,
    limit: Duration,
}

/// The parameters by which shared boots differ: the image by its hash, the board, the command line.
type Key = (u64, Board, String);

/// A finished boot, and the path of the file with its serial line.
#[derive(Clone, Debug)]
struct Kept {
    booted: Booted,
    serial: PathBuf,
}

impl Request {
    /// Returns a boot of an image with this command line, on its processor's first board, with the fewest CPUs of the scenario.
    pub fn of(image: &Path, words: &str) -> Self {
        let processor = qemu::image::processor(image).expect("the image can be read");
        Self {
            image: image.to_owned(),
            words: words.to_owned(),
            board: Board::of(processor),
            cpus: scenario::cpus(first(words)),
            limit: LIMIT,
        }
    }

    /// Sets the board.
    pub fn on(self, board: Board) -> Self {
        Self { board, ..self }
    }

    /// Sets the number of CPUs, unless the scenario needs more.
    pub fn cpus(self, cpus: u32) -> Self {
        let cpus = self.cpus.max(cpus);
        Self { cpus, ..self }
    }

    /// Sets the time limit in seconds.
    pub fn limit(self, seconds: u64) -> Self {
        let limit = Duration::from_secs(seconds);
        Self { limit, ..self }
    }

    /// Boots. The exit status is the image's own verdict.
    pub fn run(&self) -> Ran {
        let kept = self.kept();
        let judgement = judge::image(&kept.booted);
        self.ran(kept, judgement)
    }

    /// Boots. The exit status is 0 if the scenario ended as it should.
    pub fn judged(&self) -> Ran {
        let kept = self.kept();
        let scenario = scenario::find(first(&self.words)).expect("the kernel has the scenario");
        let judgement = judge::scenario(scenario.outcome, &kept.booted);
        self.ran(kept, judgement)
    }

    fn ran(&self, kept: Kept, judgement: Judgement) -> Ran {
        let asked = kept.booted.asked.concat();
        let words = format!("{}: {}\n{asked}", self.words, judgement.words);
        Ran {
            status: judgement.status as i32,
            serial: kept.booted.serial,
            words,
        }
    }

    /// Returns the boot. A shared boot is made once, and other tests wait for its end.
    fn kept(&self) -> Kept {
        static KEPT: Memo<Key, Kept> = Memo::new();

        if !self.is_shared() {
            return self.boot();
        }
        let begun = Instant::now();
        let key = (hash(&self.image), self.board, self.words.clone());
        let mut is_new = false;
        let kept = KEPT.get(key, || {
            is_new = true;
            self.boot()
        });
        if !is_new {
            let (image, words) = (log::image_name(&self.image), described(&self.machine()));
            log::add(Kind::Shared, begun, &image, &words, Some(&kept.serial));
        }
        kept
    }

    fn is_shared(&self) -> bool {
        let cpus = self.board.fixed_cpus().unwrap_or(self.cpus);
        cpus == 1 && !NONDETERMINISTIC.contains(&first(&self.words))
    }

    fn boot(&self) -> Kept {
        let begun = Instant::now();
        let outside = Outside::new(&self.image);
        let boot = self.machine();
        let boot = Boot {
            limit: Some(self.limit),
            witness: Some(&outside),
            ..boot
        };
        let booted = run(&boot);
        let serial = keep(begun, &boot, &booted);
        Kept { booted, serial }
    }

    fn machine(&self) -> Boot<'_> {
        Boot {
            cpus: self.cpus,
            reboots: scenario::resets(first(&self.words)),
            ..Boot::on(self.board, &self.image, &self.words)
        }
    }
}

/// Boots a machine with settings that [`Request`] does not have. The boot is not shared.
pub fn boot_machine(boot: &Boot<'_>) -> Booted {
    let begun = Instant::now();
    let booted = run(boot);
    keep(begun, boot, &booted);
    booted
}

fn run(boot: &Boot<'_>) -> Booted {
    let emulator = built::emulator(boot.board.processor());
    let booted = boot.run(&emulator, &mut std::io::sink());
    booted.expect("QEMU starts")
}

/// Adds a boot that began at `begun` and has just ended to the log. Returns the path of the file with its serial line.
pub fn keep(begun: Instant, boot: &Boot<'_>, booted: &Booted) -> PathBuf {
    let (image, words) = (log::image_name(boot.image), described(boot));
    log::boot(begun, &image, &words, &booted.serial)
}

/// Returns the command line, followed by the board, the CPUs and QEMU's arguments if they differ from those of a plain boot.
fn described(boot: &Boot<'_>) -> String {
    let mut described = boot.command_line.to_owned();
    if boot.board != Board::of(boot.board.processor()) {
        described += &format!(" on {}", boot.board);
    }
    if boot.cpus > 1 {
        described += &format!(" cpus {}", boot.cpus);
    }
    for word in boot.more {
        described += &format!(" {word}");
    }
    described
}

/// Returns the name of the scenario in a command line.
fn first(words: &str) -> &str {
    words.split_whitespace().next().unwrap_or_default()
}

/// Returns the hash of a file's bytes, which is computed again only if the file has changed.
fn hash(path: &Path) -> u64 {
    static KNOWN: Memo<(PathBuf, SystemTime, u64), u64> = Memo::new();

    let file = fs::metadata(path).expect("the image can be read");
    let time = file.modified().expect("files have times");
    KNOWN.get((path.to_owned(), time, file.len()), || {
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(path).expect("the image can be read"));
        hasher.finish()
    })
}
