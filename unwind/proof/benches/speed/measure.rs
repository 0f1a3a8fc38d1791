//! Peers in turns. On a machine that others use too, two measurements a second apart are of two different machines:
//! here every peer runs for a millisecond or so, one after the other, round after round, and what counts is the median
//! over the rounds, of the times and of each round's ratio. (criterion measures one peer for seconds, then the next:
//! on the machine this was written on its ratios doubled and halved from run to run.)

use std::time::{Duration, Instant};

/// How long a group is measured, and how many rounds at least.
const TIME: Duration = Duration::from_millis(2500);
const ROUNDS: usize = 25;

/// A peer: its name, and what runs it once. It runs with the number of the run, from 0.
pub struct Peer<'a> {
    pub name: &'static str,
    pub run: Box<dyn FnMut(usize) + 'a>,
}

impl<'a> Peer<'a> {
    pub fn new(name: &'static str, run: impl FnMut(usize) + 'a) -> Self {
        let run = Box::new(run);
        Self { name, run }
    }
}

/// What was measured of a peer: medians.
pub struct Result {
    pub peer: &'static str,
    /// Nanoseconds for one element.
    pub time: f64,
    /// How many times the first peer's, in the same round.
    pub ratio: f64,
}

/// Runs the peers in turns; one run deals with so many `elements`.
pub fn measure(elements: usize, peers: &mut [Peer<'_>]) -> Vec<Result> {
    let mut rounds: Vec<Vec<f64>> = Vec::new();
    let start = Instant::now();
    while rounds.len() < ROUNDS || start.elapsed() < TIME {
        let number = 2 * rounds.len();
        let times = peers.iter_mut().map(|peer| {
            // Once for the caches, which the others have filled.
            (peer.run)(number);
            let start = Instant::now();
            (peer.run)(number + 1);
            start.elapsed().as_nanos() as f64 / elements as f64
        });
        rounds.push(times.collect());
    }
    let column = |value: &dyn Fn(&Vec<f64>) -> f64| median(rounds.iter().map(value).collect());
    let results = peers.iter().enumerate().map(|(index, peer)| Result {
        peer: peer.name,
        time: column(&|round| round[index]),
        ratio: column(&|round| round[index] / round[0]),
    });
    results.collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
