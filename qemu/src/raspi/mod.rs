//! What a Raspberry Pi's firmware needs beside a kernel: a flat image of it, and in an emulator, where there is no firmware,
//! the device tree that it would pass.

mod card;
mod device_tree;
mod flat;

pub use card::{Card, Model, card, write_card};
pub use device_tree::{Console, device_tree};
pub use flat::flat;
