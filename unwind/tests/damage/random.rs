//! Chance that is the same in every run: numbers, damage, and a test on many seeds.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// Seeds are split among so many threads.
const THREADS: u64 = 2;

/// Pseudo-random numbers (xorshift64*), the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).expect("below a usize")
    }
}

/// Damages `bytes` in one to four places.
pub fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        // Every other time in the header and the first entries, where a byte matters most.
        let reach = if random.next() & 1 == 0 {
            64
        } else {
            bytes.len()
        };
        let at = random.below(reach.min(bytes.len()));
        let Some(byte) = bytes.get_mut(at) else {
            return;
        };
        match random.below(6) {
            0 => *byte ^= 1 << random.below(8),
            1 => *byte = random.next() as u8,
            2 => *byte = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            3 => {
                let word =
                    [0, 1, i32::MAX as u32, 1 << 31, u32::MAX, bytes.len() as u32][random.below(6)];
                for (byte, new) in bytes[at..].iter_mut().zip(word.to_le_bytes()) {
                    *byte = new;
                }
            }
            4 => bytes.truncate(at),
            _ => {
                let from = random.below(bytes.len());
                let length = random.below(32).min(bytes.len() - from.max(at));
                bytes.copy_within(from..from + length, at);
            }
        }
    }
}

/// Runs `test` on so many seeds, on several threads; a failure names its seed.
pub fn on_seeds(count: u64, test: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        for first in 0..THREADS {
            let test = &test;
            scope.spawn(move || {
                for seed in (first..count).step_by(THREADS as usize) {
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
                        eprintln!("seed {seed}");
                        resume_unwind(panic);
                    }
                }
            });
        }
    });
}
