//! The serial console, behind a lock. Reports do not take the lock: they write by [`POSTMORTEM`].

use core::fmt::{self, Write};
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicUsize, Ordering};

use spin::{Mutex, MutexGuard};

use crate::arch::cpu;
use crate::platform::POSTMORTEM;
use crate::{board, cpus, task};

static CONSOLE: Mutex<Console> = Mutex::new(Console(()));

/// The number of the task that has locked the console last, plus one; 0 if it is free, or that is not known yet.
static HOLDER: AtomicUsize = AtomicUsize::new(0);

/// Seconds that a handler waits for the console while a task on another CPU has it.
const PATIENCE_SECONDS: u64 = 1;

/// The right to write to the serial line.
#[derive(Debug)]
pub struct Console(());

impl Write for Console {
    /// Never fails: bytes that the device does not take are lost.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        POSTMORTEM.write(text);
        Ok(())
    }
}

/// The locked console, until this is dropped.
#[derive(Debug)]
pub struct Guard(MutexGuard<'static, Console>);

impl Guard {
    fn new(console: MutexGuard<'static, Console>) -> Self {
        HOLDER.store(task::current() + 1, Ordering::Relaxed);
        Self(console)
    }
}

impl Deref for Guard {
    type Target = Console;

    fn deref(&self) -> &Console {
        &self.0
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut Console {
        &mut self.0
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        HOLDER.store(0, Ordering::Relaxed);
    }
}

/// Locks the console, for text of several lines.
pub fn lock() -> Guard {
    Guard::new(CONSOLE.lock())
}

/// Whether the task that has locked the console runs on another CPU, or that is not known yet. Otherwise it was interrupted here, or
/// waits for a CPU, and may not release it before the caller returns.
fn is_held_elsewhere() -> bool {
    let holder = HOLDER.load(Ordering::Relaxed);
    let mut others = cpus::others();
    holder == 0 || others.any(|cpu| task::on(cpu) + 1 == holder)
}

/// Locks the console; but a handler does not wait for code that it may have interrupted, which would take for ever.
fn lock_in_time() -> Option<Guard> {
    if !cpu::interrupts_are_masked() {
        return Some(lock());
    }
    let begin = cpu::ticks();
    loop {
        if let Some(console) = CONSOLE.try_lock() {
            return Some(Guard::new(console));
        }
        let waited = cpu::ticks().wrapping_sub(begin);
        if !is_held_elsewhere() || waited > PATIENCE_SECONDS * cpu::ticks_per_second() {
            return None;
        }
        core::hint::spin_loop();
    }
}

/// Locks the console until [`release`] is called, for a caller that cannot keep a guard.
pub fn acquire() {
    core::mem::forget(lock());
}

/// The same as [`acquire`], if nobody holds the console; returns whether nobody did.
pub fn try_acquire() -> bool {
    let console = CONSOLE.try_lock().map(Guard::new);
    console.map(core::mem::forget).is_some()
}

/// Unlocks the console after [`acquire`].
///
/// # Safety
/// The caller has called [`acquire`], and has not released the console since.
pub unsafe fn release() {
    HOLDER.store(0, Ordering::Relaxed);
    // SAFETY: the caller holds the lock: `acquire` took it and forgot the guard.
    unsafe { CONSOLE.force_unlock() };
}

/// Waits for the next byte from the serial line. Meanwhile other tasks run, or the CPU idles.
pub fn read() -> u8 {
    loop {
        match board::read() {
            Some(byte) => return byte,
            None => task::sleep(1),
        }
    }
}

/// Writes formatted text; what [`println!`] calls. In a handler that has interrupted who holds the console, it is written as a report
/// is: it ends the line, or cuts off the log frame, that was begun.
pub fn print(arguments: fmt::Arguments) {
    // Fails only if a value's `Display` does, which has nowhere to be reported.
    let _ = match lock_in_time() {
        Some(mut console) => console.write_fmt(arguments),
        None => POSTMORTEM.out().write_fmt(arguments),
    };
}

/// Writes a line to the serial console.
macro_rules! println {
    ($($argument:tt)*) => {
        $crate::console::print(format_args!("{}\n", format_args!($($argument)*)))
    };
}
pub(crate) use println;
