//! Dumps: what is kept of a machine that was asked where it is, to ask it again when it is gone.
//!
//! | file of a dump | what it is |
//! |---|---|
//! | `memory` | all of the machine's memory as QEMU writes it, compressed |
//! | `dump.json` | why it was asked, the registers of each CPU, and what the other files are |
//! | `image.elf` | the image that ran |
//! | `README.txt` | how to open it |

mod about;
mod flat;
mod keep;
mod log;
mod open;
mod pages;
mod paging;
mod raw;
mod words;

pub use keep::{Keeper, Kept, prepare};
pub use log::Logged;
pub use open::Dump;
pub use raw::{Place, Raw};
pub use words::size;

/// Files of a dump.
const MEMORY: &str = "memory";
const ABOUT: &str = "dump.json";
const IMAGE: &str = "image.elf";
const HOW_TO: &str = "README.txt";
