//! The runner: `cargo run`.
fn main() {}
