//! Log frames, and lines, that NMIs interrupt whose handler logs or prints too.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use postmortem::capture;

use super::another;
use crate::arch::interrupts;
use crate::console::println;
use crate::platform::POSTMORTEM;
use crate::{cpus, frames, nmi};

/// How many NMIs come while frames are sent.
const NMIS: u32 = 100;
/// The handler writes a trace at every so many NMIs.
const TRACE_EACH: u32 = 8;

/// How many NMIs have been handled.
static HANDLED: AtomicU32 = AtomicU32::new(0);
/// How many frames the interrupted CPU has sent, and whether these are all.
static FRAMES: AtomicU32 = AtomicU32::new(0);
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Another CPU logs, and this one interrupts it all the time.
#[inline(never)]
pub fn in_nmi() {
    nmi::handle_with(log_nmi);
    interrupt(log);
    // Tells how many were lost before.
    defmt::info!(
        "the loop sent {=u32} log frames during {=u32} NMIs",
        FRAMES.load(Ordering::Acquire),
        NMIS
    );
}

/// The same with a handler that prints lines, between lines and frames.
#[inline(never)]
pub fn print_in_nmi() {
    nmi::handle_with(|| {
        let number = HANDLED.load(Ordering::Relaxed);
        println!("nmi {number}");
        HANDLED.store(number + 1, Ordering::Release);
    });
    interrupt(print);
    println!(
        "handled {NMIS} NMIs while {lines} lines were printed",
        lines = FRAMES.load(Ordering::Acquire)
    );
}

/// Makes another CPU call this, and interrupts it all the time.
fn interrupt(call: fn()) {
    let other = another();
    cpus::run_on(other, call);
    for nmi in 0..NMIS {
        // In the middle of any frame.
        let frame = FRAMES.load(Ordering::Acquire);
        while FRAMES.load(Ordering::Acquire) == frame {
            spin_loop();
        }
        interrupts::send_nmi(other);
        while HANDLED.load(Ordering::Acquire) == nmi {
            spin_loop();
        }
    }
    while !IS_OVER.load(Ordering::Acquire) {
        spin_loop();
    }
}

fn print() {
    while HANDLED.load(Ordering::Acquire) < NMIS {
        let number = FRAMES.load(Ordering::Relaxed);
        // No frame where there is nobody to decode it.
        if frames::are_used() && number.is_multiple_of(2) {
            defmt::info!("frame {=u32}", number);
        } else {
            println!("line {number}");
        }
        FRAMES.store(number + 1, Ordering::Release);
    }
    IS_OVER.store(true, Ordering::Release);
}

fn log() {
    while HANDLED.load(Ordering::Acquire) < NMIS {
        let number = FRAMES.load(Ordering::Relaxed);
        defmt::info!("frame {=u32}", number);
        FRAMES.store(number + 1, Ordering::Release);
    }
    IS_OVER.store(true, Ordering::Release);
}

fn log_nmi() {
    let number = HANDLED.load(Ordering::Relaxed);
    defmt::info!("nmi {=u32}", number);
    if number % TRACE_EACH == TRACE_EACH - 1 {
        // Writing never fails.
        let _ = POSTMORTEM.write_callers(&mut POSTMORTEM.out(), cpus::this(), capture());
    }
    HANDLED.store(number + 1, Ordering::Release);
}
