//! A sampler of a running kernel: call stacks, recorded in a timer's interrupt, in memory that the kernel provides.

use core::fmt;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use unwind::{Cached, Fallbacks, RegisterSet as _, RuleCache, Undeclared, Unwinder};

use crate::arch::{NAME, Registers, TrapFrame, for_walk};
use crate::image::Image;
use crate::lines::{Lines, Packed, VERSION, write_image};
use crate::machine::Machine;
use crate::postmortem::Postmortem;
use crate::probe;
use crate::regions::Regions;
use crate::stacks::Stacks;

/// The most frames of a sample: the innermost ones. A sample of more frames is not complete.
const FRAMES: usize = 64;

/// Bytes of a packed sample.
const ROOM: usize = 384;

/// Bytes of a word of a stack.
const WORD: u64 = Registers::WORD;

/// What a sample's last word has besides the number of frames: what it is, and that it is one.
const COMPLETE: u64 = 1 << 32;
const USER: u64 = 1 << 33;
const SAMPLE: u64 = 1 << 63;

/// The samples of one CPU, in a static with space for `WORDS` words, at least 65. A sample needs one word for each of its frames, up to the
/// 64 innermost, and one more. If the space is used up, new samples replace the oldest ones.
#[derive(Debug)]
pub struct Samples<const WORDS: usize> {
    words: [AtomicU64; WORDS],
    /// How many words were ever written.
    written: AtomicUsize,
}

impl<const WORDS: usize> Samples<WORDS> {
    /// Creates an empty set of samples.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(WORDS > FRAMES) };
        Self {
            words: [const { AtomicU64::new(0) }; WORDS],
            written: AtomicUsize::new(0),
        }
    }

    /// Adds a sample. An NMI may interrupt this function, and add another sample, which follows this sample.
    fn add(&self, frames: &[u64], what: u64) {
        let length = frames.len().saturating_add(1);
        let first = self.written.fetch_add(length, Ordering::Relaxed);
        let last = SAMPLE | what | frames.len() as u64;
        let words = frames.iter().copied().chain([last]);
        for (at, word) in (first..).zip(words) {
            self.word(at).store(word, Ordering::Relaxed);
        }
    }

    /// The word with this number, of all that were ever written.
    fn word(&self, number: usize) -> &AtomicU64 {
        static NONE: AtomicU64 = AtomicU64::new(0);
        let at = number.checked_rem(WORDS).unwrap_or_default();
        self.words.get(at).unwrap_or(&NONE)
    }

    /// Calls `tell` with the numbers of each sample's words and its last word, from the newest on.
    fn each(
        &self,
        mut tell: impl FnMut(core::ops::Range<usize>, u64) -> fmt::Result,
    ) -> fmt::Result {
        let end = self.written.load(Ordering::Relaxed);
        let oldest = end.saturating_sub(WORDS);
        let mut at = end;
        while let Some(last) = at.checked_sub(1).filter(|last| *last >= oldest) {
            let word = self.word(last).load(Ordering::Relaxed);
            let count = (word & 0xffff_ffff) as usize;
            let Some(first) = last.checked_sub(count).filter(|first| *first >= oldest) else {
                break;
            };
            if word & SAMPLE == 0 {
                break;
            }
            tell(first..last, word)?;
            at = first;
        }
        Ok(())
    }
}

impl<const WORDS: usize> Default for Samples<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

/// A sampler of call stacks. Create it once, because that verifies the tables, and keep it in a static.
///
/// ```no_run
/// use postmortem::{Postmortem, Sampler, Samples, TrapFrame};
/// use unwind::RuleCache;
///
/// # struct Once<T>(Option<T>);
/// # impl<T> Once<T> { const fn new() -> Self { Self(None) } fn get(&self) -> Option<&T> { self.0.as_ref() } }
/// # fn this() -> usize { 0 }
/// static CACHE: RuleCache<2048> = RuleCache::new();
/// static SAMPLES: [Samples<16384>; 4] = [const { Samples::new() }; 4];
/// // Set to `Sampler::new(&POSTMORTEM, &CACHE)` when the measurement begins.
/// static SAMPLER: Once<Sampler<2048>> = Once::new();
///
/// fn timer_interrupt(frame: &TrapFrame) {
///     if let Some(sampler) = SAMPLER.get() {
///         sampler.sample(&SAMPLES[this()], frame);
///     }
/// }
/// ```
pub struct Sampler<const ENTRIES: usize> {
    postmortem: &'static Postmortem,
    image: Image,
    /// Its code that can be read.
    regions: Regions,
    cache: &'static RuleCache<ENTRIES>,
}

impl<const ENTRIES: usize> fmt::Debug for Sampler<ENTRIES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler").finish_non_exhaustive()
    }
}

impl<const ENTRIES: usize> Sampler<ENTRIES> {
    /// Creates a sampler of this kernel with a cache that nothing else uses, and verifies the tables.
    #[must_use]
    pub fn new(postmortem: &'static Postmortem, cache: &'static RuleCache<ENTRIES>) -> Self {
        let mut image = postmortem.platform.image();
        let regions = Regions::readable(image.code);
        Machine::verify(&mut image, &regions);
        Self {
            postmortem,
            image,
            regions,
            cache,
        }
    }

    /// Adds the call stack of the interrupted code to `samples`, which must belong to this CPU. Call it in a timer's interrupt, or in an
    /// NMI. It takes no lock, and reads only stacks, tables and code.
    pub fn sample<const WORDS: usize>(&self, samples: &Samples<WORDS>, frame: &TrapFrame) {
        if frame.is_user() {
            samples.add(&[frame.pc()], USER);
            return;
        }
        let platform = self.postmortem.platform;
        let stacks = Stacks::of(platform);
        // The stack that was read last, because a search of all stacks takes longer than a read.
        let last = core::cell::Cell::new(unwind::Range::new(0, 0));
        let read = |address: u64| {
            if !address.is_multiple_of(WORD) {
                return None;
            }
            if !last.get().holds(address, WORD) {
                let mut stacks = stacks.iter();
                let stack = stacks.find(|stack| stack.words.holds(address, WORD))?;
                last.set(stack.words);
            }
            // SAFETY: aligned, as just checked, and in a stack, which is not a device: the implementation of `Platform` guarantees it.
            unsafe { probe::read(address) }
        };
        let stack_of = |sp| {
            let stack = stacks.iter().find(|stack| stack.holds(sp))?;
            Some(stack.range())
        };
        let (code, count) = self.regions.code();
        let unwinder = Unwinder::new(Cached::new(self.image.rows(), self.cache))
            .code(code.get(..count).unwrap_or_default())
            .trap_registers(platform.trap_code().saved)
            .fallbacks(Fallbacks::all().difference(Fallbacks::SCAN));
        let registers = for_walk(frame.registers());
        let mut frames = unwinder.frames(registers, Undeclared::new(read, stack_of));
        let (mut found, mut count) = ([0; FRAMES], 0_usize);
        for (place, frame) in found.iter_mut().zip(frames.by_ref()) {
            *place = frame.lookup_pc();
            count = count.saturating_add(1);
        }
        let is_complete = frames.end().is_some_and(|end| end.is_complete());
        let what = if is_complete { COMPLETE } else { 0 };
        samples.add(found.get(..count).unwrap_or_default(), what);
    }

    /// Sends the samples of the CPU with this number over the kernel's device, the newest first. `rate` is the number of samples a second.
    ///
    /// `unwind-qemu profile LOG --image KERNEL OUT.svg` draws a flame graph of them. Do not add samples during the call. There is a line
    /// for each sample:
    ///
    /// ```text
    /// profile begin 2 x86_64 0123456789abcdef 0xffffffff80102030 100 7b20c1d4 5d1c9f0a
    /// profile stack 0 complete CAAAgP////8JEA== 1b2c3d4e
    /// profile end 2 7b20c1d4 77665544
    /// ```
    ///
    /// The frames of a sample are packed like the words of a [dump](Postmortem::with_dump), the innermost first; each is the address to
    /// look up. A sample is `complete`, or `incomplete`, or the program counter of `user` code.
    ///
    /// ```no_run
    /// # fn example(SAMPLER: &postmortem::Sampler<2048>, SAMPLES: &[postmortem::Samples<16384>; 4]) {
    /// // 100 samples a second were taken; the timer's interrupts are off now.
    /// for (cpu, samples) in SAMPLES.iter().enumerate() {
    ///     SAMPLER.send(samples, cpu, 100);
    /// }
    /// # }
    /// ```
    pub fn send<const WORDS: usize>(&self, samples: &Samples<WORDS>, cpu: usize, rate: u64) {
        // The device takes everything.
        let _ = self.send_lines(samples, cpu, rate);
    }

    fn send_lines<const WORDS: usize>(
        &self,
        samples: &Samples<WORDS>,
        cpu: usize,
        rate: u64,
    ) -> fmt::Result {
        let begin = |out: &mut dyn fmt::Write| {
            write!(out, "begin {VERSION} {NAME} ")?;
            write_image(out, &self.image)?;
            write!(out, " {rate}")
        };
        let rest = |lines: &mut Lines| {
            samples.each(|numbers, last| {
                let mut packed = Packed::<ROOM>::new();
                let mut words = numbers.map(|number| samples.word(number).load(Ordering::Relaxed));
                let is_whole = words.all(|word| packed.add(word));
                let what = match last {
                    _ if last & USER != 0 => "user",
                    _ if is_whole && last & COMPLETE != 0 => "complete",
                    _ => "incomplete",
                };
                lines.packed(format_args!("stack {cpu} {what}"), &packed)
            })
        };
        Lines::send_all(self.postmortem, "profile", &begin, &rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples<const WORDS: usize>(of: &Samples<WORDS>) -> Vec<(Vec<u64>, u64)> {
        let mut found = Vec::new();
        of.each(|numbers, last| {
            let words = numbers.map(|number| of.word(number).load(Ordering::Relaxed));
            found.push((words.collect(), last & (COMPLETE | USER)));
            Ok(())
        })
        .expect("nothing fails");
        found
    }

    #[test]
    fn the_newest_comes_first() {
        let few = Samples::<100>::new();
        assert_eq!(samples(&few), []);
        few.add(&[1, 2], COMPLETE);
        few.add(&[3], USER);
        few.add(&[], 0);
        let expected = [(vec![], 0), (vec![3], USER), (vec![1, 2], COMPLETE)];
        assert_eq!(samples(&few), expected);
    }

    #[test]
    fn the_oldest_make_room_for_the_newest() {
        let few = Samples::<65>::new();
        let of = |number: u64| {
            (0..number % 7)
                .map(|frame| number << 8 | frame)
                .collect::<Vec<_>>()
        };
        for last in 1..500 {
            few.add(&of(last), COMPLETE);
            let found = samples(&few);
            let expected: Vec<_> = (1..=last).rev().map(|it| (of(it), COMPLETE)).collect();
            assert_eq!(found, expected[..found.len()]);
            // All that there is room for.
            let words: usize = expected
                .iter()
                .take(found.len() + 1)
                .map(|it| it.0.len() + 1)
                .sum();
            assert!(words > 65 || found.len() == expected.len(), "{last}");
        }
    }
}
