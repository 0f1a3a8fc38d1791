//! The scenario that succeeds.

use alloc::vec::Vec;

use crate::console::println;

/// Uses the heap, and prints a result.
pub fn run() {
    let squares: Vec<u64> = (1..=10).map(|number| number * number).collect();
    println!("the sum of ten squares is {}", squares.iter().sum::<u64>());
}
