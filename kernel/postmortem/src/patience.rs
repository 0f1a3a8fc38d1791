//! A time limit for waits that needs nothing from the kernel: the CPU's own counter, and the number of polls.

use core::time::Duration;

use crate::cpu;

/// Polls after which a wait ends on a CPU whose counter is unknown or stands still.
const POLLS: u32 = 100_000_000;

/// A wait with a bound.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Duration,
    begin: Option<Duration>,
    polls: u32,
}

impl Patience {
    /// A wait of at least `limit` that begins now.
    pub(crate) fn of(limit: Duration) -> Self {
        Self {
            limit,
            begin: cpu::time(),
            polls: 0,
        }
    }

    /// Counts a poll. Returns whether the wait is over.
    pub(crate) fn is_over(&mut self) -> bool {
        self.polls = self.polls.saturating_add(1);
        let passed = cpu::time().zip(self.begin);
        let passed = passed.map(|(now, begin)| now.saturating_sub(begin));
        self.polls > POLLS || passed.is_some_and(|passed| passed >= self.limit)
    }
}
