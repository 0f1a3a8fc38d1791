//! Bytes for a writer that may block, as standard output does when nobody reads the other end of its pipe: a thread waits there,
//! so that nobody else has to for longer than a time limit.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many bytes may wait.
const MOST: usize = 1 << 20;
/// How long to wait for the reader at the end of a boot whose time has run out.
const AT_LEAST: Duration = Duration::from_secs(1);

/// Bytes on their way to a writer.
#[derive(Debug)]
pub(super) struct Queue {
    shared: Arc<Shared>,
    /// When to stop waiting; `None` for never.
    deadline: Option<Instant>,
    /// The reader was waited for in vain, and what came then was dropped. Nothing is written after a gap.
    gave_up: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    /// The thread has taken bytes that are not written yet.
    is_writing: bool,
    /// The thread has ended, at this error unless it is told already.
    error: Option<Option<io::Error>>,
}

impl State {
    fn check(&mut self) -> io::Result<()> {
        match &mut self.error {
            None => Ok(()),
            Some(error) => Err((error.take()).unwrap_or(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl Queue {
    /// Starts the thread, which lives as long as this process.
    pub(super) fn start(out: impl Write + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        std::thread::spawn(move || of_thread.write_to(out));
        Self {
            shared,
            deadline: None,
            gave_up: false,
        }
    }

    /// Sets how long, from now on, to wait for the reader.
    pub(super) fn set_limit(&mut self, limit: Option<Duration>) {
        self.deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    }

    /// Waits until all is written, up to the limit; whether it is.
    pub(super) fn drain(&mut self) -> io::Result<bool> {
        let least = Instant::now() + AT_LEAST;
        let deadline = self.deadline.map(|deadline| deadline.max(least));
        if !self.gave_up {
            let mut state = self.shared.wait(deadline, |state| {
                state.waiting.is_empty() && !state.is_writing
            });
            state.check()?;
            self.gave_up = !state.waiting.is_empty() || state.is_writing;
        }
        Ok(!self.gave_up)
    }
}

impl Write for Queue {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.gave_up {
            let has_room = |state: &State| state.waiting.len() < MOST;
            let mut state = self.shared.wait(self.deadline, has_room);
            state.check()?;
            self.gave_up = !has_room(&state);
            if !self.gave_up {
                state.waiting.extend_from_slice(bytes);
                self.shared.changed.notify_all();
            }
        }
        Ok(bytes.len())
    }

    /// Nothing waits longer than it must.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the state is as wanted, the thread has ended, or the deadline is there.
    fn wait(
        &self,
        deadline: Option<Instant>,
        wanted: impl Fn(&State) -> bool,
    ) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while !wanted(&state) && state.error.is_none() {
            let changed = &self.changed;
            state = match deadline {
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    let waited = changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        state
    }

    /// Writes all that comes, until it fails.
    fn write_to(&self, mut out: impl Write) {
        loop {
            let mut state = self.wait(None, |state| !state.waiting.is_empty());
            let bytes = std::mem::take(&mut state.waiting);
            state.is_writing = true;
            drop(state);
            self.changed.notify_all();
            let result = out.write_all(&bytes).and_then(|()| out.flush());
            let mut state = self.lock();
            state.is_writing = false;
            let failed = result.is_err();
            state.error = result.err().map(Some);
            drop(state);
            self.changed.notify_all();
            if failed {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Writes when it is told to, and says what.
    struct Slow(Receiver<()>, Sender<Vec<u8>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(io::Error::other)?;
            self.1.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (Queue, Sender<()>, Receiver<Vec<u8>>) {
        let ((go, gone), (said, says)) = (channel(), channel());
        (Queue::start(Slow(gone, said)), go, says)
    }

    #[test]
    fn all_comes_in_order() {
        let (mut queue, go, says) = slow();
        for _ in 0..3 {
            queue.write_all(b"abc").expect("it is taken");
        }
        let reader = std::thread::spawn(move || {
            let mut read = Vec::new();
            while read.len() < 9 {
                go.send(()).expect("the thread writes");
                read.extend(says.recv().expect("the thread has written"));
            }
            read
        });
        assert!(queue.drain().expect("no error"));
        assert_eq!(reader.join().expect("no panic"), b"abcabcabc");
    }

    #[test]
    fn a_reader_that_stopped_is_not_waited_for() {
        let (mut queue, go, says) = slow();
        queue.set_limit(Some(Duration::from_millis(100)));
        let chunk = vec![0; MOST / 4];
        for _ in 0..40 {
            queue.write_all(&chunk).expect("it is taken");
        }
        let waiting = queue.shared.lock().waiting.len();
        assert!(waiting < MOST + chunk.len(), "{waiting} bytes wait");
        assert!(!queue.drain().expect("no error"));
        // What was dropped is not missed in the middle.
        queue.set_limit(None);
        queue.write_all(b"more").expect("it is dropped");
        assert!(!queue.drain().expect("no error"));
        drop((go, says));
    }

    #[test]
    fn an_error_is_told() {
        let (mut queue, go, _) = slow();
        drop(go);
        queue.write_all(b"abc").expect("it is taken");
        queue.drain().expect_err("nobody takes it");
        queue.write_all(b"abc").expect_err("nobody takes it");
    }
}
