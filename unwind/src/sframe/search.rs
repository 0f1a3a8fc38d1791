//! Binary search, with three comparisons for each round.

use core::hint::select_unpredictable;

/// Index of the last of ascending numbers that is at most `limit`; `number` reads one by its index. The indices are the multiples
/// of `STEP`, a power of two, below `end`, which is one as well. `None`: there is none, or one could not be read. If the numbers
/// do not ascend, the result is any index.
///
/// Each round compares three numbers, which the CPU loads in parallel, and continues in a quarter: half as many rounds as with
/// halving, and the latency of each round's loads is what takes the time. There are no branches on comparisons, because the CPU
/// cannot predict them.
#[inline(always)]
pub(crate) fn last_at_most<const STEP: usize, N: Copy + PartialOrd>(
    end: usize,
    limit: N,
    number: impl Fn(usize) -> Option<N>,
) -> Option<usize> {
    let mut base = 0_usize;
    let mut size = end;
    while size >= const { STEP << 2 } {
        let quarter = size >> 2 & const { STEP.wrapping_neg() };
        let first = base.wrapping_add(quarter);
        let second = first.wrapping_add(quarter);
        let third = second.wrapping_add(quarter);
        let (one, two, three) = (number(first)?, number(second)?, number(third)?);
        base = select_unpredictable(one <= limit, first, base);
        base = select_unpredictable(two <= limit, second, base);
        base = select_unpredictable(three <= limit, third, base);
        // The last of the four parts is the largest; the others are searched as if they had its size.
        size = size.wrapping_sub(quarter.wrapping_mul(3));
    }
    // At most three are left.
    while size > STEP {
        let next = base.wrapping_add(STEP);
        base = select_unpredictable(number(next)? <= limit, next, base);
        size = size.wrapping_sub(STEP);
    }
    (size == STEP && number(base)? <= limit).then_some(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_scan_finds() {
        for count in 0..70_u64 {
            // Pairs of equal numbers, with gaps between.
            let numbers: [u64; 70] = core::array::from_fn(|index| 10 + 5 * (index as u64 / 2));
            let numbers = &numbers[..count as usize];
            for limit in 0..200 {
                let expected = numbers.iter().rposition(|&number| number <= limit);
                let number = |index: usize| numbers.get(index).copied();
                let found = last_at_most::<1, _>(numbers.len(), limit, number);
                assert_eq!(found, expected, "{limit} in {count}");
                let number = |index: usize| numbers.get(index / 2).copied();
                let found = last_at_most::<2, _>(2 * numbers.len(), limit, number);
                let expected = expected.map(|index| 2 * index);
                assert_eq!(found, expected, "{limit} in {count}, in steps");
            }
        }
    }

    #[test]
    fn stays_inside_when_the_numbers_do_not_ascend() {
        for count in 1..70 {
            for seed in 0..1000_u64 {
                let number = |index: usize| {
                    assert!(index < count);
                    Some((index as u64 + 1).wrapping_mul(seed.wrapping_mul(0x9e37_79b9)) % 100)
                };
                assert!(last_at_most::<1, _>(count, 50, number).is_none_or(|index| index < count));
            }
        }
    }
}
