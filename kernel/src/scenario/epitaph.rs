//! Deaths that the next boot tells of.

use crate::board;
use crate::console::println;
use crate::platform::{self, POSTMORTEM};

/// Panics at the first boot, and resets the machine instead of ending it.
#[inline(never)]
pub fn read() {
    if is_first() {
        // More than there is room for, so that the beginning is forgotten.
        for line in 0..400 {
            println!("line {line} of those before the last");
        }
        platform::reset_at_end();
        panic!("for the next boot to tell");
    }
}

/// Resets at the first boot, with a checksum that is wrong.
pub fn damaged() {
    if is_first() {
        println!("nobody will read this again");
        POSTMORTEM.damage_last_words();
        board::reset();
    }
}

/// Says which boot this is.
fn is_first() -> bool {
    let boots = POSTMORTEM.boots();
    println!("boot {boots} since power was switched on");
    boots == 1
}
