//! Deaths that the next boot tells of.

use crate::board;
use crate::console::println;
use crate::platform::{self, POSTMORTEM, REGION};

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
        let text = "nobody will read this again";
        println!("{text}");
        damage(text);
        board::reset();
    }
}

/// Changes a bit of this text where it is kept.
fn damage(text: &str) {
    let region = (&raw const REGION).cast::<u8>().cast_mut();
    // SAFETY: called with less than the region's size. Its bytes are atomics, and nobody else prints.
    let read = |at: usize| unsafe { region.add(at).read_volatile() };
    let has_text = |start: &usize| {
        (*start..)
            .map(read)
            .zip(text.bytes())
            .all(|(kept, byte)| kept == byte)
    };
    let mut places = 0..size_of_val(&REGION) - text.len();
    let start = places.find(has_text).expect("what was printed is kept");
    // SAFETY: as above.
    unsafe { region.add(start).write_volatile(read(start) ^ 1) };
}

/// Says which boot this is.
fn is_first() -> bool {
    let boots = POSTMORTEM.boots();
    println!("boot {boots} since power was switched on");
    boots == 1
}
