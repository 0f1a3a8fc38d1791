//! Failures that the next boot reports: last words kept over a reset.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};

use super::another;
use crate::arch::interrupts;
use crate::console::println;
use crate::platform::{self, POSTMORTEM, REGION};
use crate::{board, nmi};

/// Panics at the first boot, and resets the machine instead of ending it.
#[inline(never)]
pub fn read() {
    if is_first() {
        // More text than there is room for, so that the beginning is lost.
        for line in 0..400 {
            println!("line {line} of the output before the panic");
        }
        platform::reset_at_end();
        panic!("the next boot prints this panic");
    }
}

/// Panics at the first boot while another CPU prints without end, and does not answer; and resets the machine.
#[inline(never)]
pub fn beside_another() {
    if is_first() {
        nmi::handle_with(|| {
            // While an NMI is handled, no other one is delivered.
            loop {
                POSTMORTEM.write("this CPU prints without end and does not respond\n");
                IS_WRITING.store(true, Ordering::Release);
            }
        });
        interrupts::send_nmi(another());
        while !IS_WRITING.load(Ordering::Acquire) {
            spin_loop();
        }
        platform::reset_at_end();
        panic!("panic while another CPU does not respond");
    }
}

/// Whether the other CPU prints.
static IS_WRITING: AtomicBool = AtomicBool::new(false);

/// Resets at the first boot, after damaging the kept text.
pub fn damaged() {
    if is_first() {
        let text = "the stored copy of this line gets a wrong bit before the reset";
        println!("{text}");
        damage(text);
        board::reset();
    }
}

/// Flips a bit of this text in the region that keeps it.
fn damage(text: &str) {
    let region = (&raw const REGION).cast::<u8>().cast_mut();
    // SAFETY: offsets are less than the region's size. Its bytes are atomics, and no other CPU prints.
    let read = |at: usize| unsafe { region.add(at).read_volatile() };
    let has_text = |start: &usize| {
        (*start..)
            .map(read)
            .zip(text.bytes())
            .all(|(kept, byte)| kept == byte)
    };
    let mut places = 0..size_of_val(&REGION) - text.len();
    let start = places
        .find(has_text)
        .expect("the printed text is in the region");
    // SAFETY: an offset inside the region, whose bytes are atomics; no other CPU prints.
    unsafe { region.add(start).write_volatile(read(start) ^ 1) };
}

/// Prints which boot this is; whether it is the first.
fn is_first() -> bool {
    let boots = POSTMORTEM.boots();
    println!("boot {boots} since power-on");
    boots == 1
}
