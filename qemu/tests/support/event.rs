//! Waits for an event that blocks: the end of a process, or a connection.

use std::sync::mpsc;
use std::time::Duration;

/// The time after which an event that has not come never comes. No test measures time with it.
pub const HANG: Duration = Duration::from_secs(120);

/// Returns the result of `event`, which blocks.
///
/// # Panics
/// If the event hangs.
#[track_caller]
pub fn wait<T: Send + 'static>(name: &str, event: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // No test receives the result of an event that came too late.
        let _ = sender.send(event());
    });
    let received = receiver.recv_timeout(HANG);
    received.unwrap_or_else(|why| panic!("{name}: {why}"))
}
