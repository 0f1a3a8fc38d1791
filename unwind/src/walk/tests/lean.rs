//! The step that nearly every one is leads to what the step that any frame may need leads to, whatever lies on the stack.

extern crate std;

use std::vec::Vec;

use super::{TEXT, Words, amd64_with};
use crate::sframe::Tables;
use crate::{Cached, Code, End, Frame, Range, RowSource, RuleCache, Stacks, Unwinder, x86_64};

const STACKS: [Range; 2] = [Range::new(0x10000, 0x10400), Range::new(0x20000, 0x20100)];
/// Functions that call others: the outermost, one with a frame pointer, and one of 24 bytes of locals.
const CALLERS: [u64; 3] = [0x1000, 0x2000, 0x3000];
/// Offsets behind calls: of the second function, of the third one, of one in the middle of the second, and by a register.
const CALLS: [u64; 4] = [0x15, 0x1d, 0x25, 0x2a];

/// xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn text() -> Vec<u8> {
    let mut text = Vec::from([0x90; 0x6000]);
    for caller in CALLERS {
        let targets = [0x2000_u64, 0x3000, 0x2008];
        for (behind, target) in CALLS.into_iter().zip(targets) {
            let end = caller + behind;
            let at = (end - 5 - TEXT) as usize;
            text[at] = 0xe8;
            let distance = target.wrapping_sub(end) as u32;
            text[at + 1..at + 5].copy_from_slice(&distance.to_le_bytes());
        }
        let at = (caller + CALLS[3] - 2 - TEXT) as usize;
        text[at..at + 2].copy_from_slice(&[0xff, 0xd0]);
    }
    text
}

/// A stack as calls leave it, of which some words may be damaged, and the registers of its innermost frame.
fn stack(random: &mut Random) -> (x86_64::Registers, Vec<(u64, u64)>) {
    let mut words = Vec::new();
    let (mut caller, mut sp, mut fp) = (0x1000, STACKS[0].end, 0);
    for _ in 0..1 + random.below(8) {
        let has_fp = random.below(2) == 0;
        let call = match (random.below(8), has_fp) {
            (0, _) => CALLS[3],
            // Leads elsewhere, or into the middle of the right function.
            (1, _) => CALLS[2],
            (_, true) => CALLS[0],
            (_, false) => CALLS[1],
        };
        words.push((sp - 8, caller + call));
        if has_fp {
            words.push((sp - 16, fp));
            fp = sp - 16;
            sp = fp - 8 * random.below(4);
            caller = 0x2000;
        } else {
            sp -= 32;
            caller = 0x3000;
        }
    }
    let damage = [
        0,
        0x1005,
        0x2015,
        0x301d,
        0x4000,
        0x5004,
        sp,
        sp + 4,
        sp + 24,
        0x20080,
        !7,
    ];
    for (_, word) in &mut words {
        if random.below(24) == 0 {
            *word = damage[random.below(damage.len() as u64) as usize];
        }
    }
    (x86_64::Registers::new(caller + 0x30, sp, fp), words)
}

type Walk = (
    Vec<Frame<x86_64::Registers>>,
    Option<End>,
    Option<crate::Doubt>,
);

/// Both walks.
fn walks(source: impl RowSource, seed: u64) -> [Walk; 2] {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (registers, words) = stack(&mut random);
    let words = Words::new(&words);
    let read = |address| words.0.get(&address).copied().or(Some(0));
    let text = text();
    let code = [Code::new(&text, TEXT)];
    let unwinder = Unwinder::new(source).code(&code);
    let unwinder = unwinder.limit(4 + random.below(30) as u32);
    let start = || match seed % 2 {
        0 => unwinder.frames(registers, Stacks::new(&STACKS, read)),
        _ => unwinder.frames_from_call(registers, Stacks::new(&STACKS, read)),
    };
    let (mut one, mut other) = (start(), start());
    let found = one.by_ref().collect();
    let again = core::iter::from_fn(|| other.next_any()).collect();
    [
        (found, one.end(), one.doubt()),
        (again, other.end(), other.doubt()),
    ]
}

#[test]
fn it_leads_where_any_step_leads() {
    let (mut complete, mut others) = (0, 0);
    for unproven in [Some(&[][..]), Some(&[(0x2010, 8), (0x3015, 16)]), None] {
        let bytes = amd64_with(unproven);
        let tables = Tables::new(&bytes, 0);
        let cache = RuleCache::<1024>::new();
        for seed in 1..20_000 {
            let [one, other] = walks(tables, seed);
            assert_eq!(one, other, "{seed}");
            let [cached, _] = walks(Cached::new(tables, &cache), seed);
            assert_eq!(cached, other, "{seed}, with a cache");
            match other.1 {
                Some(End::Complete) => complete += 1,
                _ => others += 1,
            }
        }
        assert_eq!(complete > 1000, unproven.is_some(), "{complete}");
        assert!(others > 1000, "{others}");
        (complete, others) = (0, 0);
    }
}
