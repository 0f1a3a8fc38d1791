//! The scenario that succeeds.

use alloc::vec::Vec;

use crate::console::println;

/// Uses the heap, and prints a result.
pub fn run() {
    let squares: Vec<u64> = (1..=10).map(|number| number * number).collect();
    let sum: u64 = squares.iter().sum();
    println!("the sum of ten squares is {sum}");
}
