//! Functions for x86-64 that end, run on, jump or are entered in ways that compilers seldom use.

mod ends;
mod entered;
mod rows;
mod tables;

use crate::common::proven::{function, prove, silent};

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn check(name: &str, text: &[String], expected: &str) {
    let found = prove(&format!("x86_edges_{name}"), TARGET, &text.concat());
    assert_eq!(found, expected, "{}", text.concat());
}

const STOPS: &str = "1: jmp 1b";
