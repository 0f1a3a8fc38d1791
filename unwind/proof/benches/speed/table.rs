//! The table: medians for one look-up or frame, each also as a multiple of `unwind`'s, and the goals.

use crate::measure::{self, Peer, Result};

const PEERS: [&str; 7] = [
    "unwind",
    "by map",
    "by map, cached",
    "framehop",
    "gimli",
    "simple-frame-rs",
    "frame pointer",
];

/// A goal: in a group, `unwind` costs at most so many times what a peer does.
const GOALS: [(&str, &str, f64); 5] = [
    ("random-100k", "gimli", 1.0 / 5.0),
    ("random-100k", "framehop", 1.0 / 3.0),
    ("hot-100k", "framehop", 1.0 / 4.0),
    ("walk-100k", "framehop", 1.0 / 4.0),
    ("walk-fp-100k", "frame pointer", 10.0),
];

/// What was measured so far.
pub struct Table {
    filter: String,
    groups: Vec<(String, Vec<Result>)>,
}

impl Table {
    /// A table of the groups whose names contain `filter`.
    pub fn new(filter: String) -> Self {
        let groups = Vec::new();
        Self { filter, groups }
    }

    pub fn wants(&self, group: &str) -> bool {
        group.contains(&self.filter)
    }

    /// Measures a group, if it is wanted. One run of a peer deals with so many `elements`.
    pub fn measure<'a>(
        &mut self,
        group: &str,
        elements: usize,
        peers: impl IntoIterator<Item = Peer<'a>>,
    ) {
        if self.wants(group) {
            let mut peers: Vec<_> = peers.into_iter().collect();
            let results = measure::measure(elements, &mut peers);
            self.groups.push((group.to_owned(), results));
        }
    }

    pub fn print(&self) {
        println!(
            "\nNanoseconds for a look-up or a frame (in brackets: how many times unwind's); medians.\n"
        );
        print!("| {:12} | {:>8} |", "", PEERS[0]);
        PEERS[1..].iter().for_each(|peer| print!(" {peer:>16} |"));
        print!("\n|{:-<14}|{:->9}:|", "", "");
        PEERS[1..].iter().for_each(|_| print!("{:->17}:|", ""));
        println!();
        for (group, results) in &self.groups {
            print!("| {group:12} |");
            for (index, name) in PEERS.into_iter().enumerate() {
                match results.iter().find(|result| result.peer == name) {
                    Some(ours) if index == 0 => print!(" {:8.1} |", ours.time),
                    Some(Result { time, ratio, .. }) => {
                        print!(" {time:7.1} {:>8} |", format!("({ratio:.2})"));
                    }
                    None => print!(" {:>16} |", ""),
                }
            }
            println!();
        }
        println!();
        for (group, peer, most) in GOALS {
            let mut groups = self.groups.iter().filter(|(name, _)| name == group);
            let Some((_, results)) = groups.next() else {
                continue;
            };
            let ratio = |peer: &str| {
                let mut results = results.iter().filter(|result| result.peer == peer);
                results.next().map_or(f64::NAN, |result| result.ratio)
            };
            print!("goal: {group}: at most {most:.2} of {peer}:");
            for ours in &PEERS[..3] {
                let ratio = ratio(ours) / ratio(peer);
                let verdict = if ratio <= most { "met" } else { "NOT MET" };
                print!("  {ours} {ratio:.2}, {verdict};");
            }
            println!();
        }
    }
}
