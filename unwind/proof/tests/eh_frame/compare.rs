//! A function of SFrame against the same function of `.eh_frame`.

use unwind::sframe::Function;

use crate::eh_frame::dwarf::Dwarf;
use crate::eh_frame::machine::Machine;

/// How much was compared.
#[derive(Default)]
pub struct Compared {
    pub functions: usize,
    pub rows: usize,
    pub addresses: usize,
}

/// Compares at the first and last byte of every row of either side, and in the middle of the function.
pub fn function(dwarf: &Dwarf<'_>, index: usize, found: &Function<'_>, compared: &mut Compared) {
    let rows = dwarf.rows(index);
    let end = found.start() + u64::from(found.size());
    let own: Vec<_> = found.rows().collect();
    assert_eq!(
        own.len(),
        found.row_count() as usize,
        "a row of {:#x} was not read",
        found.start()
    );
    let block = u64::from(found.block_size());
    let repeats = match found.is_pc_mask() {
        true => u64::from(found.size()).div_ceil(block),
        false => 1,
    };
    let mut pcs: Vec<u64> = (0..repeats)
        .flat_map(|n| {
            own.iter()
                .map(move |row| found.start() + n * block + u64::from(row.offset))
        })
        .chain(rows.starts())
        .chain([end])
        .flat_map(|pc| [pc - 1, pc])
        .chain([found.start().midpoint(end)])
        .filter(|&pc| found.contains(pc))
        .collect();
    pcs.sort_unstable();
    pcs.dedup();
    for &pc in &pcs {
        let machine = Machine { pc };
        let row = found
            .lookup(pc)
            .unwrap_or_else(|error| panic!("{pc:#x}: {error}"));
        assert_eq!(
            machine.caller(&row),
            dwarf.caller(&rows, pc, &machine),
            "at {pc:#x}, {row:?}"
        );
    }
    compared.functions += 1;
    compared.rows += own.len();
    compared.addresses += pcs.len();
}
