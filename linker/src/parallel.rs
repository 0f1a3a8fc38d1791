//! Work that is split among processors, with the same result for any number of them.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread;

/// The largest number of threads: more take longer to start than they save.
const MAX_THREADS: usize = 8;

/// Splits items into one part for each processor, of about the same weight each, and works on all of them at once. The
/// results come in the order of the items.
///
/// The caller has to combine the results so that the splits make no difference.
pub fn in_parts<T: Send, R: Send>(
    items: &mut [T],
    weight: impl Fn(&T) -> u64,
    work: impl Fn(&mut [T]) -> R + Sync,
) -> Vec<R> {
    in_so_many(items, weight, work, processors().min(MAX_THREADS))
}

/// [`in_parts`] on half of the processors: for work that has as much other work beside it, and where each part costs something of its own.
pub fn in_parts_beside<T: Send, R: Send>(
    items: &mut [T],
    weight: impl Fn(&T) -> u64,
    work: impl Fn(&mut [T]) -> R + Sync,
) -> Vec<R> {
    let count = processors().div_ceil(2).min(MAX_THREADS);
    in_so_many(items, weight, work, count)
}

fn processors() -> usize {
    // Asked once: Linux has it from several files.
    static COUNT: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    *COUNT
}

fn in_so_many<T: Send, R: Send>(
    items: &mut [T],
    weight: impl Fn(&T) -> u64,
    work: impl Fn(&mut [T]) -> R + Sync,
    count: usize,
) -> Vec<R> {
    let mut parts = parts(items, weight, count);
    // This thread would only wait meanwhile, and each other one costs memory of its own.
    let Some(last) = parts.pop() else {
        return Vec::new();
    };
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = parts
            .into_iter()
            .map(|part| scope.spawn(move || work(part)))
            .collect();
        let last = work(last);
        let mut results: Vec<R> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect();
        results.push(last);
        results
    })
}

/// Runs two functions at the same time, the second one on this thread.
pub fn both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (
            one.join().unwrap_or_else(|panic| resume_unwind(panic)),
            other,
        )
    })
}

fn parts<T>(items: &mut [T], weight: impl Fn(&T) -> u64, count: usize) -> Vec<&mut [T]> {
    let whole: u64 = items.iter().map(&weight).sum();
    let share = whole / count as u64 + 1;
    let mut parts = Vec::with_capacity(count);
    let mut rest = items;
    while !rest.is_empty() {
        let mut sum = 0;
        let length = rest.iter().position(|item| {
            sum += weight(item);
            sum >= share
        });
        let length = length.map_or(rest.len(), |last| last + 1);
        let (part, after) = rest.split_at_mut(length);
        parts.push(part);
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_items_in_order() {
        for count in 1..6 {
            let mut items: Vec<u64> = (0..20).collect();
            let parts = parts(&mut items, |item| *item, count);
            assert!(parts.len() <= count);
            assert_eq!(parts.concat(), (0..20).collect::<Vec<u64>>());
        }
        assert!(parts(&mut [] as &mut [u64], |item| *item, 3).is_empty());
    }

    #[test]
    fn results_come_in_order() {
        let mut items: Vec<u64> = (0..1000).collect();
        let results = in_parts(&mut items, |_| 1, |part| part.to_vec());
        assert_eq!(results.concat(), items);
        let results = in_parts_beside(&mut items, |_| 1, |part| part.to_vec());
        assert_eq!(results.concat(), items);
        assert_eq!(both(|| 1, || 2), (1, 2));
    }
}
