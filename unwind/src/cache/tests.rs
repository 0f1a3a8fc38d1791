extern crate std;

use std::thread;
use std::vec::Vec;

use super::RuleCache;
use crate::lookup::Found;
use crate::memory::Range;
use crate::row::{Base, Rule};
use crate::rules::Rules;

/// A function that begins so many bytes before `pc`, with a rule of that number.
fn found(pc: u64, distance: u64, number: i64) -> Found {
    let cfa = Rule::Value {
        base: Base::StackPointer,
        offset: number,
    };
    let return_address = Rule::Saved {
        base: Base::Cfa,
        offset: -8,
    };
    Found {
        range: Range::new(pc - distance, pc.wrapping_add(1)),
        rules: Rules::new(cfa, return_address, Rule::Same),
        ..Found::EMPTY
    }
}

fn put(cache: &RuleCache<1024>, pc: u64, distance: u64, number: i64) {
    cache.put(pc, pc - distance, &found(pc, distance, number));
}

fn get(cache: &RuleCache<1024>, pc: u64) -> Option<(u64, i64)> {
    let (rules, _, start) = cache.get(pc)?;
    let number = match rules.cfa() {
        Rule::Value { offset, .. } => offset,
        other => panic!("{other:?}"),
    };
    assert_eq!(rules, found(pc, 0, number).rules);
    Some((pc - start, number))
}

/// One bit changed in any address, and it is another entry, or none.
#[test]
fn an_address_is_not_taken_for_another() {
    let addresses = [
        0x1000,
        0xffff_ffff_8010_0000,
        0xffff_ffff_8010_01ff,
        0xffff_0000_4020_0000,
        0x7fff_ffff_ffff,
    ];
    for pc in addresses {
        let cache = RuleCache::<1024>::new();
        put(&cache, pc, 0x20, 16);
        assert_eq!(get(&cache, pc), Some((0x20, 16)));
        for first in 0..64 {
            for second in 0..64 {
                let other = pc ^ 1 << first ^ (1 << second & !(1 << first));
                assert!(other != pc);
                assert_eq!(get(&cache, other), None, "{pc:#x} {other:#x}");
            }
        }
        assert_eq!(get(&cache, 0), None);
        cache.clear();
        assert_eq!(get(&cache, pc), None);
    }
}

#[test]
fn what_does_not_fit_is_not_kept() {
    let cache = RuleCache::<1024>::new();
    let pc = 0x10_0000;
    put(&cache, pc, 0xffff, 0xfff8);
    assert_eq!(get(&cache, pc), Some((0xffff, 0xfff8)));
    put(&cache, pc + 1, 0x1_0000, 16);
    put(&cache, pc + 2, 0, 0x1_0000);
    put(&cache, pc + 3, 0, -0x1_0001);
    put(&cache, 1 << 48, 0, 16);
    put(&cache, 0xfffe << 48, 0, 16);
    let trap = Found {
        is_trap: true,
        ..found(pc + 4, 0, 16)
    };
    cache.put(pc + 4, pc, &trap);
    let register = Rule::Value {
        base: Base::Register(13),
        offset: 8,
    };
    let other = Found {
        rules: Rules::new(register, Rule::Same, Rule::Same),
        ..found(pc + 5, 0, 16)
    };
    cache.put(pc + 5, pc, &other);
    for pc in (pc + 1..pc + 6).chain([1 << 48, 0xfffe << 48]) {
        assert_eq!(get(&cache, pc), None, "{pc:#x}");
    }
}

/// More rules than there is room for: those that have a place keep it.
#[test]
fn a_rule_stays_the_same() {
    let cache = RuleCache::<1024>::new();
    let mut kept = 0;
    for number in 0..4000 {
        put(&cache, 0x1000, 0, number);
        kept += usize::from(get(&cache, 0x1000) == Some((0, number)));
        let first = get(&cache, 0x1000).expect("one was kept at least").1;
        assert!(first <= number);
    }
    assert!((256..512).contains(&kept), "{kept}");
}

/// Threads write and read the same entries: an answer is always one that was given for that address.
#[test]
fn nobody_sees_half_of_an_entry() {
    let cache = RuleCache::<1024>::new();
    let addresses: Vec<u64> = (0..2048).map(|n| 0x1000 + n * 7).collect();
    let of = |pc: u64| (pc % 61, (pc % 100).cast_signed() * 8);
    let seen = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let (cache, addresses) = (&cache, &addresses);
                scope.spawn(move || {
                    let mut seen = 0_u64;
                    for round in 0..200 {
                        for at in 0..addresses.len() {
                            let pc = addresses[(at * 5 + thread * 97 + round) % addresses.len()];
                            match get(cache, pc) {
                                Some(found) => {
                                    assert_eq!(found, of(pc));
                                    seen += 1;
                                }
                                None => put(cache, pc, of(pc).0, of(pc).1),
                            }
                        }
                        if thread == 0 && round % 50 == 0 {
                            cache.clear();
                        }
                    }
                    seen
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"))
            .sum::<u64>()
    });
    assert!(seen > 0);
}
