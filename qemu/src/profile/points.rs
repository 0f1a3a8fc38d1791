//! When samples are taken: once in each stretch of so many instructions, at one that chance decides. At fixed distances, a loop of
//! the same length would always be met at the same instruction.

/// The numbers of instructions after which to take samples, the same each time.
#[derive(Debug)]
pub(super) struct Points {
    every: u64,
    /// Where the stretch begins.
    start: u64,
    chance: u64,
}

impl Points {
    /// One in each `every` instructions behind the first `start`.
    pub(super) const fn new(every: u64, start: u64) -> Self {
        Self {
            every,
            start: start + 1,
            chance: 0,
        }
    }
}

impl Iterator for Points {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        // SplitMix64.
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.chance ^ (self.chance >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let point = self.start + (mixed ^ (mixed >> 31)) % self.every;
        self.start += self.every;
        Some(point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stretch_has_one_somewhere() {
        let points: Vec<_> = Points::new(100, 7).take(1000).collect();
        let mut places = [0; 100];
        for (number, point) in points.iter().enumerate() {
            let place = point - 8 - 100 * number as u64;
            places[place as usize] += 1;
        }
        // Ten are expected at each place.
        assert!(places.iter().all(|count| *count < 30), "{places:?}");
        assert!(places.iter().filter(|count| **count > 0).count() > 95);
    }

    #[test]
    fn every_instruction_can_be_one() {
        let points: Vec<_> = Points::new(1, 0).take(4).collect();
        assert_eq!(points, [1, 2, 3, 4]);
    }
}
