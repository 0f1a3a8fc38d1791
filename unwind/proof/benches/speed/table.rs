//! The table: medians for one look-up or frame, each also as a multiple of `unwind`'s, and the goals.

use crate::measure::{self, Peer, Result};

const PEERS: [&str; 9] = [
    "unwind",
    "by map",
    "by map, cached",
    "framehop",
    "gimli",
    "simple-frame-rs",
    "ORC",
    "frame pointer",
    "checked fp",
];

/// A goal: in a group, this way of ours costs at most so many times what a peer does.
const GOALS: [(&str, &str, &str, f64); 7] = [
    ("random-100k", "by map", "gimli", 0.35),
    ("random-100k", "by map", "ORC", 0.6),
    ("random-100k", "by map", "framehop", 1.0 / 3.0),
    ("hot-100k", "by map", "framehop", 0.25),
    ("walk-100k", "by map", "framehop", 1.5),
    ("walk-100k", "by map, cached", "framehop", 1.15),
    ("walk-fp-100k", "by map, cached", "frame pointer", 10.0),
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
        for (group, ours, peer, most) in GOALS {
            let mut groups = self.groups.iter().filter(|(name, _)| name == group);
            let Some((_, results)) = groups.next() else {
                continue;
            };
            let ratio = |peer: &str| {
                let mut results = results.iter().filter(|result| result.peer == peer);
                results.next().map_or(f64::NAN, |result| result.ratio)
            };
            let ratio = ratio(ours) / ratio(peer);
            let verdict = if ratio <= most { "met" } else { "NOT MET" };
            println!("goal: {group}, {ours}: at most {most:.2} of {peer}: {ratio:.2}, {verdict}");
        }
    }
}
