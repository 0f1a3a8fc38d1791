//! The table: medians of this run per look-up or frame, each also as a multiple of `unwind`'s, and the goals.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

const PEERS: [&str; 5] = [
    "unwind",
    "framehop",
    "gimli",
    "simple-frame-rs",
    "frame-pointer",
];

/// Groups of measurements, and what they are called here.
const ROWS: [(&str, &str); 12] = [
    ("random-1k", "random look-up, 1 thousand"),
    ("random-100k", "random look-up, 100 thousand"),
    ("random-1M", "random look-up, 1 million"),
    ("hot-1k", "hot look-up, 1 thousand"),
    ("hot-100k", "hot look-up, 100 thousand"),
    ("hot-1M", "hot look-up, 1 million"),
    ("walk-1k", "a frame of a walk, 1 thousand"),
    ("walk-100k", "a frame of a walk, 100 thousand"),
    ("walk-1M", "a frame of a walk, 1 million"),
    ("walk-fp-1k", "with frame pointers, 1 thousand"),
    ("walk-fp-100k", "with frame pointers, 100 thousand"),
    ("walk-fp-1M", "with frame pointers, 1 million"),
];
const LONG: (&str, &str) = ("long", "look-up in a function of 5000 rows");

/// A goal: in a group, `unwind` costs at most so many times what a peer does.
const GOALS: [(&str, &str, f64); 4] = [
    ("random-100k", "gimli", 1.0 / 5.0),
    ("random-100k", "framehop", 1.0 / 3.0),
    ("walk-100k", "framehop", 1.0 / 4.0),
    ("walk-fp-100k", "frame-pointer", 10.0),
];

/// Criterion's results.
pub struct Results {
    folder: PathBuf,
    /// Results from before are of another run.
    started: SystemTime,
}

impl Results {
    pub fn new(folder: &Path, started: SystemTime) -> Self {
        let folder = folder.to_owned();
        Self { folder, started }
    }

    /// The median of a peer in a group, in nanoseconds for one look-up or frame; `None` when this run has not measured
    /// it.
    fn median(&self, group: &str, peer: &str) -> Option<f64> {
        let folder = self.folder.join(group).join(peer).join("new");
        let read = |file: &str| -> Option<Value> {
            let file = folder.join(file);
            let modified = fs::metadata(&file).ok()?.modified().ok()?;
            (modified >= self.started).then_some(())?;
            serde_json::from_slice(&fs::read(file).ok()?).ok()
        };
        let whole = read("estimates.json")?["median"]["point_estimate"].as_f64()?;
        let elements = read("benchmark.json")?["throughput"]["Elements"].as_f64()?;
        Some(whole / elements)
    }

    /// Prints the table, without what a filter left out.
    pub fn print(&self) {
        println!("\nMedians of this run, in nanoseconds; in brackets: how many times unwind's.\n");
        print!("| {:34} | {:>6} |", "", PEERS[0]);
        PEERS[1..].iter().for_each(|peer| print!(" {peer:>16} |"));
        println!();
        print!("|{:-<36}|{:->7}:|", "", "");
        PEERS[1..].iter().for_each(|_| print!("{:->17}:|", ""));
        println!();
        for (group, name) in ROWS.into_iter().chain([LONG]) {
            self.print_row(group, name);
        }
        println!();
        for (group, peer, most) in GOALS {
            self.print_goal(group, peer, most);
        }
    }

    fn print_row(&self, group: &str, name: &str) {
        let Some(ours) = self.median(group, PEERS[0]) else {
            return;
        };
        print!("| {name:34} | {ours:6.1} |");
        for peer in &PEERS[1..] {
            match self.median(group, peer) {
                Some(theirs) => print!(" {theirs:7.1} {:>8} |", format!("({:.2})", theirs / ours)),
                None => print!(" {:>16} |", ""),
            }
        }
        println!();
    }

    fn print_goal(&self, group: &str, peer: &str, most: f64) {
        let medians = self.median(group, PEERS[0]).zip(self.median(group, peer));
        if let Some((ours, theirs)) = medians {
            let ratio = ours / theirs;
            let verdict = if ratio <= most { "met" } else { "NOT MET" };
            println!("goal: {group}: at most {most:.2} of {peer}: {ratio:.2}, {verdict}");
        }
    }
}
