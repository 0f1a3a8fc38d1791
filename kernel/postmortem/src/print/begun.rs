//! Reports that have begun and not ended. The first is written. A failure during the report adds one line; a failure during that line adds
//! nothing.

use core::sync::atomic::{AtomicU64, Ordering};

/// In the low half so many; in the high half the number of the CPU that writes the first one, plus one.
#[derive(Debug)]
pub(super) struct Begun(AtomicU64);

const HALF: u32 = 32;
/// In the count: more reports have begun than ever end.
const NO_MORE: u64 = 1 << (HALF - 1);

/// The high half, for this CPU.
const fn writer(cpu: u32) -> u64 {
    (cpu as u64).wrapping_add(1) << HALF
}

/// The high half of a word.
const fn writer_of(word: u64) -> u64 {
    word >> HALF << HALF
}

const fn count_of(word: u64) -> u64 {
    word ^ writer_of(word)
}

impl Begun {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// One begins on this CPU. Returns how many have begun before and not ended, and what [`Self::end`] needs.
    pub(super) fn begin(&self, cpu: u32) -> (u64, u64) {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let writer = match word {
                0 => writer(cpu),
                _ => writer_of(word),
            };
            let new = writer | count_of(word).wrapping_add(1);
            // Acquire: what the last report has written to its stack happens before this one uses it.
            match (self.0).compare_exchange(word, new, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return (count_of(word), writer),
                Err(now) => word = now,
            }
        }
    }

    /// One ends, unless another CPU has [taken](Self::take) the report that it began in.
    pub(super) fn end(&self, writer: u64) {
        let ended = |word| {
            let count = count_of(word).checked_sub(1)?;
            let writer_stays = if count == 0 { 0 } else { writer };
            (writer_of(word) == writer).then_some(writer_stays | count)
        };
        // Release: see `begin`.
        let _ = (self.0).fetch_update(Ordering::Release, Ordering::Relaxed, ended);
    }

    /// The other CPUs have stopped, so that the report of one of them does not end: this CPU may begin one. Returns whether there
    /// was such a report.
    pub(super) fn take(&self, cpu: u32) -> bool {
        let is_other = |word: u64| writer_of(word) != 0 && writer_of(word) != writer(cpu);
        let taken = |word| is_other(word).then_some(word & NO_MORE);
        let taken = (self.0).fetch_update(Ordering::Acquire, Ordering::Relaxed, taken);
        taken.is_ok()
    }

    /// Whether this CPU writes one.
    pub(super) fn is_by(&self, cpu: u32) -> bool {
        writer_of(self.0.load(Ordering::Relaxed)) == writer(cpu)
    }

    /// From now on none is the first.
    pub(super) fn no_more(&self) {
        self.0.fetch_or(NO_MORE, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(super) fn some_more(&self) {
        self.0.fetch_and(!NO_MORE, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_report_is_written_at_a_time() {
        let begun = Begun::new();
        for cpu in [0, 7] {
            let (before, writer) = begun.begin(cpu);
            assert_eq!(before, 0);
            let (before, nested) = begun.begin(cpu);
            assert_eq!((before, nested), (1, writer));
            assert!(begun.is_by(cpu) && !begun.is_by(3));
            let (before, of_other) = begun.begin(3);
            assert_eq!((before, of_other), (2, writer));
            for _ in 0..3 {
                begun.end(writer);
            }
        }
        assert_eq!(begun.begin(1).0, 0);
    }

    #[test]
    fn a_report_is_taken_from_another_cpu_only() {
        let begun = Begun::new();
        assert!(!begun.take(2));
        let (_, first) = begun.begin(1);
        begun.begin(1);
        assert!(!begun.take(1));
        assert!(begun.take(2));
        let (before, second) = begun.begin(2);
        assert_eq!(before, 0);
        // The other one has not stopped after all.
        begun.end(first);
        assert_eq!(begun.begin(2).0, 1);
        begun.end(second);
        begun.end(second);
        assert_eq!(begun.begin(1).0, 0);
    }

    #[test]
    fn no_report_follows_the_last_one() {
        let begun = Begun::new();
        let (_, writer) = begun.begin(1);
        begun.no_more();
        assert!(begun.take(2));
        assert!(begun.begin(2).0 > 1);
        begun.end(writer);
        begun.end(0);
        assert!(begun.begin(1).0 > 1);
        begun.some_more();
    }
}
