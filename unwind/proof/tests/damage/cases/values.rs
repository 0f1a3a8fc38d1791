//! Damage of `.sframe` that is not by chance: extreme values, functions in another order.

use super::tables::{ENTRY, HEADER, Outcomes, word};
use super::{Part, Trial, is_in_sample};

impl Trial<'_> {
    /// Extreme values in every field and at every other place.
    pub(super) fn table_fields(&self) {
        let mut outcomes = Outcomes::default();
        let mut bytes = self.situation.tables.bytes.clone();
        let length = bytes.len() as u64;
        let values = [
            0,
            1,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0x8000,
            0xffff,
            0x7fff_ffff,
            1 << 31,
            u64::from(u32::MAX),
            i64::MAX as u64,
            1 << 63,
            u64::MAX,
            length,
            length - 1,
        ];
        for at in 0..bytes.len() {
            let is_used = self.used.iter().any(|part| part.contains(&at));
            for (nth, value) in values.into_iter().enumerate() {
                for size in [1, 2, 4, 8] {
                    let case = (at * 64 + nth * 4) as u64 + size as u64 % 5;
                    let fits = size == 8 || value >> (8 * size) == 0;
                    let is_sampled = is_in_sample(case, if is_used { 8 } else { 4096 });
                    let is_tried = is_sampled || self.part == Part::All;
                    if at + size > bytes.len() || !fits || !is_tried {
                        continue;
                    }
                    let old: Vec<_> = bytes[at..at + size].to_vec();
                    let new = &value.to_le_bytes()[..size];
                    if old != new {
                        bytes[at..at + size].copy_from_slice(new);
                        self.table(&bytes, at..at + size, is_sampled, &mut outcomes, &|| {
                            format!("{size} bytes at {at}: {value:#x}")
                        });
                        bytes[at..at + size].copy_from_slice(&old);
                    }
                }
            }
        }
        self.finish("an extreme value in .sframe", &outcomes);
    }

    /// Entries of functions in other places: neighbours, any two, all.
    pub(super) fn table_order(&self) {
        let mut outcomes = Outcomes::default();
        let bytes = &self.situation.tables.bytes;
        let (entries, count) = (HEADER + word(bytes, 20), word(bytes, 8));
        // A start counts from the place of its field, and goes along with its entry or not.
        let swap = |bytes: &mut [u8], one: usize, other: usize, moves: bool| {
            for byte in 0..ENTRY {
                bytes.swap(entries + one * ENTRY + byte, entries + other * ENTRY + byte);
            }
            let distance = ((other as i64) - (one as i64)) * ENTRY as i64;
            for (entry, distance) in [(one, distance), (other, -distance)] {
                if moves {
                    let field = &mut bytes[entries + entry * ENTRY..][..8];
                    let start = i64::from_le_bytes(field.try_into().expect("8 bytes"));
                    field.copy_from_slice(&start.wrapping_add(distance).to_le_bytes());
                }
            }
        };
        for one in 0..count - 1 {
            for (nth, other) in [one + 1, one / 2, count - 1].into_iter().enumerate() {
                for moves in [false, true] {
                    let case = (one * 6 + nth * 2) as u64 + u64::from(moves);
                    let is_tried = self.part == Part::All || is_in_sample(case, 16);
                    if one == other || !is_tried {
                        continue;
                    }
                    let mut bytes = bytes.clone();
                    swap(&mut bytes, one, other, moves);
                    // Neighbours can have the same bytes, as starts count from where they are.
                    if bytes == self.situation.tables.bytes {
                        continue;
                    }
                    self.table(&bytes, 0..0, true, &mut outcomes, &|| {
                        format!("entries {one} and {other}, {moves}")
                    });
                }
            }
        }
        for seed in 1..200_u64 {
            let mut shuffled = bytes.clone();
            let mut random = seed;
            for one in (1..count).rev() {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                swap(
                    &mut shuffled,
                    one,
                    (random >> 33) as usize % (one + 1),
                    seed % 2 == 0,
                );
            }
            self.table(&shuffled, 0..0, true, &mut outcomes, &|| {
                format!("shuffled, seed {seed}")
            });
        }
        self.finish("functions of .sframe in another order", &outcomes);
    }
}
