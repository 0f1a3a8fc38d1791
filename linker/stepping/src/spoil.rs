//! Makes rows wrong, so that a run shows whether the checker refuses them.

use linker::function::Function;
use unwind::sframe::Rule;

/// Changes one part of about every third row, as the seed chooses.
pub fn spoil(functions: &mut [Function], seed: u64) {
    let mut random = seed;
    let rows = functions.iter_mut().flat_map(|function| &mut function.rows);
    for row in rows {
        random = random
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        let by = [8, -8, 16, 4][(random >> 40) as usize % 4];
        let rule = match random >> 60 {
            0..=2 => &mut row.cfa,
            3 => &mut row.return_address,
            4 => &mut row.frame_pointer,
            _ => continue,
        };
        match rule {
            Rule::Value { offset, .. } | Rule::Saved { offset, .. } => *offset += by,
            Rule::Same => {
                *rule = Rule::Saved {
                    base: unwind::sframe::Base::Cfa,
                    offset: -16,
                }
            }
            Rule::Undefined => {}
        }
    }
}
