//! The logger of `defmt`'s macros: sends log frames over the serial line.

use core::fmt::Write;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::arch::cpu;
use crate::platform::POSTMORTEM;
use crate::{console, sender, wire};

/// Whether interrupts were masked when the frame began whose sender holds the console.
static WERE_MASKED: AtomicBool = AtomicBool::new(false);

#[defmt::global_logger]
struct Serial;

// SAFETY: `acquire` masks interrupts until `release`. An NMI or a report in between uses another sender, or its frame is dropped;
// and they end before the interrupted frame goes on. What other CPUs write to the line at the same time waits for the console, or
// is a report, which cuts off a frame that is on the line.
unsafe impl defmt::Logger for Serial {
    fn acquire() {
        let were_masked = cpu::interrupts_are_masked();
        if sender::is_report() {
            sender::with(|sender| sender.begin());
            return;
        }
        if !were_masked {
            console::acquire();
            cpu::mask_interrupts();
        } else if !console::try_acquire() {
            // In a handler, which may have interrupted who holds the console. To wait for that could take for ever.
            sender::with(|sender| sender.drop_frame());
            return;
        }
        WERE_MASKED.store(were_masked, Ordering::Relaxed);
        sender::with(|sender| sender.begin());
    }

    unsafe fn flush() {
        // Nothing is buffered.
    }

    unsafe fn release() {
        let was_sent = sender::with(|sender| sender.end());
        if !was_sent || sender::is_report() {
            return;
        }
        let lost = wire::take_lost();
        if lost > 0 {
            // Writing never fails. The console is held, so it is not taken again.
            let _ = writeln!(POSTMORTEM.out(), "{lost} log frames were lost");
        }
        let were_masked = WERE_MASKED.load(Ordering::Relaxed);
        // SAFETY: `acquire` has acquired the console: the frame is neither a report's, nor was it dropped.
        unsafe { console::release() };
        if !were_masked {
            cpu::unmask_interrupts();
        }
    }

    unsafe fn write(bytes: &[u8]) {
        sender::with(|sender| sender.add(bytes));
    }
}
