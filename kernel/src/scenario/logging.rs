//! Log frames that NMIs interrupt whose handler logs too.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use postmortem::capture;

use crate::arch::interrupts;
use crate::platform::POSTMORTEM;
use crate::{cpus, nmi};

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
    let other = cpus::others().next();
    let other = other.expect("this scenario needs two CPUs: --cpus 2");
    cpus::run_on(other, log);
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
    // Tells how many were lost before.
    defmt::info!(
        "{=u32} frames and {=u32} nmis",
        FRAMES.load(Ordering::Acquire),
        NMIS
    );
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
