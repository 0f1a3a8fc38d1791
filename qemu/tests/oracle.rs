//! The oracle: between every two instructions, the walk and the call stack that is kept from what the machine does. The long form
//! of this is `cargo run --release -- oracle --full`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::built;
use crate::support::each::kernel_tests;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use qemu::build::{Kernel, Level, Profile};
use qemu::machine::Arch;
use qemu::oracle::{Image, Plan, Tally, follow};
use rustc_demangle::demangle;
use unwind::sframe::{Row, Rule};

kernel_tests! { one_each:
    some_boundaries_of_a_boot_and_of_tasks_are_right,
}

kernel_tests! { every_in_long:
    every_boundary_of_a_boot_and_of_its_scenarios_is_right,
}

kernel_tests! { one_release:
    every_boundary_of_four_cpus_is_right,
}

kernel_tests! { release:
    a_row_that_is_wrong_is_found,
}

/// Tasks that are switched and interrupted; exceptions in a handler of one, and a whole report, both interrupted by NMIs; the
/// boot, once.
const FOLLOWED: [(&str, bool, Option<u64>); 3] = [
    ("tasks", false, Some(300)),
    ("exception-in-handler", false, Some(300)),
    ("ok", true, None),
];

/// The boundaries of all of these.
const AT_LEAST: u64 = 25_000;

pub const PLAN: Plan<'static> = Plan {
    seed: 1,
    boundaries: 10_000,
    visits: 1,
    boot: false,
    cpus: 1,
    nmi: None,
    nmi_in: None,
    probe: None,
    others: None,
};

/// Tasks that NMIs interrupt, and the boot: a part of what [`FOLLOWED`] has.
fn some_boundaries_of_a_boot_and_of_tasks_are_right(kernel: Kernel) {
    let file = built::image(kernel);
    let image = Image::read(&file, kernel.arch).expect("the kernel's image");
    // Without a visit of each call, the scenario begins before the boundaries are used up.
    for (scenario, boundaries, visits, boot, nmi) in [
        ("tasks", 12_000, 0, false, Some(50)),
        ("ok", 2_000, 1, true, None),
    ] {
        let plan = Plan {
            boundaries,
            visits,
            boot,
            nmi,
            ..PLAN
        };
        let tally = followed(kernel, &image, &image.table, scenario, plan);
        assert!(tally.is_right(), "{kernel:?}: {tally}");
        only_entries_are_excused(kernel, &tally);
        assert_eq!(nmi.is_some(), tally.came > 0, "{kernel:?}: {tally}");
        assert_eq!(tally.boundaries, boundaries, "{kernel:?}: {tally}");
    }
}

fn every_boundary_of_a_boot_and_of_its_scenarios_is_right(kernel: Kernel) {
    let file = built::image(kernel);
    let image = Image::read(&file, kernel.arch).expect("the kernel's image");
    let mut boundaries = 0;
    for (scenario, boot, nmi) in FOLLOWED {
        // NMIs come in the scenario, which begins after up to 12,000 boundaries of an unoptimized boot.
        let most = match nmi {
            Some(_) => 2 * PLAN.boundaries,
            None => PLAN.boundaries,
        };
        let plan = Plan {
            boundaries: most,
            boot,
            nmi,
            ..PLAN
        };
        let tally = followed(kernel, &image, &image.table, scenario, plan);
        assert!(tally.is_right(), "{kernel:?}: {tally}");
        only_entries_are_excused(kernel, &tally);
        assert_eq!(nmi.is_some(), tally.came > 0, "{kernel:?}: {tally}");
        boundaries += tally.boundaries;
    }
    assert!(boundaries >= AT_LEAST, "{kernel:?}: {boundaries}");
}

/// Nothing is excused but the entry functions, before they have a stack: of the first CPU so many boundaries, and so many of three
/// others. On x86-64 each of these looks for its number from 1 on.
fn only_entries_are_excused(kernel: Kernel, tally: &Tally) {
    let others = match kernel.arch {
        Arch::X86_64 => ("start_entry", 22 + 28 + 34),
        Arch::Aarch64 => ("start_high", 3 * 9),
    };
    // Of one CPU, each change of tasks is followed.
    assert!(tally.cpus.len() > 1 || tally.unknown == 0, "{tally}");
    let entries = [("kernel_entry", 48), others];
    let expected = match tally.cpus.len() {
        1 => &entries[..1],
        _ => &entries,
    };
    // And on AArch64 the last instruction of trap code, whose row is unproven.
    let (returns, excused): (Vec<_>, Vec<_>) = (tally.excused.iter())
        .map(|((reason, at, _), count)| (*reason, &**at, *count))
        .partition(|(reason, at, _)| *reason == "an unproven row" && at.starts_with("trap_"));
    let count: u64 = returns.iter().map(|(_, _, count)| count).sum();
    let is_few = count * 100 <= tally.boundaries && (count == 0 || kernel.arch == Arch::Aarch64);
    assert!(is_few, "{kernel:?}: {tally}");
    let excused: Vec<_> = excused.iter().map(|(_, at, count)| (*at, *count)).collect();
    assert_eq!(excused, expected, "{kernel:?}: {tally}");
}

/// Four CPUs run a few instructions each in turn. Tasks go from one to the other, wait for each other, for time and for a lock.
/// How many boundaries the first CPU takes until there is work for the others is a matter of the host's time: a run in which the
/// others have none shows nothing of them, so another one follows, in another order.
fn every_boundary_of_four_cpus_is_right(kernel: Kernel) {
    const ENOUGH: u64 = 1500;
    let file = built::image(kernel);
    let image = Image::read(&file, kernel.arch).expect("the kernel's image");
    let mut runs = String::new();
    for seed in 1..=8 {
        // The scenario does not end before each CPU has run a task, so a run ends when the others have enough together.
        let plan = Plan {
            seed,
            boundaries: 30_000,
            others: Some(ENOUGH),
            cpus: 4,
            ..PLAN
        };
        let tally = followed(kernel, &image, &image.table, "crowd", plan);
        assert!(tally.is_right(), "{kernel:?}: {tally}");
        only_entries_are_excused(kernel, &tally);
        if tally.cpus.iter().skip(1).sum::<u64>() >= ENOUGH {
            return;
        }
        runs += &format!("{tally}\n");
    }
    panic!("{kernel:?}: the other CPUs have no work:\n{runs}");
}

/// At `z` on AArch64 a function keeps its return address in a register while it calls what LLVM's outliner has made, which no row
/// can say: there a walk stops, or is in doubt. As the function is in two pieces then, it stops in the second one, too.
const AT_Z: [&str; 4] = [
    "no row",
    "an unproven row",
    "the call before the return address does not call the frame's function",
    "the value of the link register is unknown",
];

/// At `z` on AArch64 the checker does not find where the jump table of `write` ends, because code names no data after its bytes. So the rows
/// of this function, and of the function that it jumps to, are unproven: lists with them are in doubt.
const IN_DOUBT_AT_Z: [&str; 2] = [
    "<unwind::report::Text>::write::<unwind::aarch64::Registers>",
    "<unwind::report::Text>::write_tail_call",
];

/// The functions of which that is so: in their code, `mov xN, x30`, a call of what the outliner has made, and `mov x30, xN`.
fn keep_return_addresses_in_registers(image: &Path) -> BTreeSet<String> {
    let data = fs::read(image).expect("the image is there");
    let file = object::File::parse(&*data).expect("it is ELF");
    let of_outliner = file.symbols().filter(|symbol| {
        let name = symbol.name().unwrap_or_default();
        name.starts_with("OUTLINED_FUNCTION_")
    });
    let outlined: BTreeSet<u64> = of_outliner.map(|symbol| symbol.address()).collect();
    assert!(!outlined.is_empty(), "the outliner has made nothing");
    let text = file.section_by_name(".text").expect("it has code");
    let functions = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text);
    let keep = functions.filter(|symbol| {
        let code = text.data_range(symbol.address(), symbol.size());
        let code = code.ok().flatten().unwrap_or_default().chunks_exact(4);
        let code: Vec<_> = code
            .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
            .collect();
        code.windows(3).zip(0..).any(|(words, number)| {
            let (to, from) = (words[0] & 0x1f, words[2] >> 16 & 0x1f);
            let offset = i64::from((words[1] << 6).cast_signed() >> 4);
            let at = symbol.address() + 4 * number + 4;
            words[0] == 0xaa1e_03e0 | to
                && words[1] >> 26 == 0x25
                && words[2] == 0xaa00_03fe | from << 16
                && to == from
                && outlined.contains(&at.wrapping_add_signed(offset))
        })
    });
    let names = keep.map(|symbol| format!("{:#}", demangle(symbol.name().unwrap_or_default())));
    names.collect()
}

/// At most one of so many boundaries is such a stop.
const SELDOM: u64 = 50;

/// Kernels of other levels of optimization, each of which compiles `core` anew.
fn nothing_is_wrong_at_level(level: Level) {
    for arch in Arch::ALL {
        let profile = Profile::Level(level);
        let kernel = Kernel { arch, profile };
        let file = built::image(kernel);
        let image = Image::read(&file, arch).expect("the kernel's image");
        let has_gaps = arch == Arch::Aarch64 && level == Level::Z;
        let gaps = match has_gaps {
            true => keep_return_addresses_in_registers(&file),
            false => BTreeSet::new(),
        };
        let (mut boundaries, mut stops) = (0, 0);
        for (scenario, boot, _) in FOLLOWED {
            let plan = Plan {
                boundaries: 30_000,
                boot,
                ..PLAN
            };
            let tally = followed(kernel, &image, &image.table, scenario, plan);
            assert!(
                tally.wrong == 0 && tally.surprises.is_empty(),
                "{kernel:?}: {tally}"
            );
            only_entries_are_excused(kernel, &tally);
            let (in_doubt, stopped): (Vec<_>, Vec<_>) =
                tally.unexplained.iter().partition(|((reason, at), _)| {
                    has_gaps && *reason == "an unproven row" && IN_DOUBT_AT_Z.contains(&&**at)
                });
            let is_known = stopped
                .iter()
                .all(|((reason, at), _)| AT_Z.contains(reason) && gaps.contains(&**at));
            assert!(is_known, "{kernel:?}: {tally}");
            let in_doubt: u64 = in_doubt.iter().map(|(_, count)| **count).sum();
            assert!(in_doubt * 2 < tally.boundaries, "{kernel:?}: {tally}");
            boundaries += tally.boundaries;
            stops += stopped.iter().map(|(_, count)| **count).sum::<u64>();
        }
        assert!(boundaries >= AT_LEAST, "{kernel:?}: {boundaries}");
        assert!(
            stops <= boundaries / SELDOM,
            "{kernel:?}: {stops} of {boundaries}"
        );
    }
}

#[long]
fn nothing_is_wrong_at_level_1() {
    nothing_is_wrong_at_level(Level::One);
}

#[long]
fn nothing_is_wrong_at_level_s() {
    nothing_is_wrong_at_level(Level::S);
}

#[long]
fn nothing_is_wrong_at_level_z() {
    nothing_is_wrong_at_level(Level::Z);
}

/// In a copy of the table, by which the walks go, one row of a recursion has frames twice as big as they are: a walk leaves out
/// every second call, and finds a call before each return address that it takes.
fn a_row_that_is_wrong_is_found(kernel: Kernel) {
    let file = built::image(kernel);
    let image = Image::read(&file, kernel.arch).expect("the kernel's image");
    let descend = image.address("kernel::scenario::deep::descend");
    let damaged = with_frames_twice_as_big(&image, descend.expect("its address"));
    let tally = followed(kernel, &image, &damaged, "deep", PLAN);
    assert_ne!(tally.wrong, 0, "{kernel:?}: {tally}");
    assert!(!tally.is_right());
    let complete = tally
        .kept
        .iter()
        .find(|lists| lists.contains("the walk: complete"));
    let lists = complete.unwrap_or_else(|| panic!("{kernel:?}: {tally}"));
    let count = |word: &str| lists.lines().filter(|line| line.contains(word)).count();
    let (walked, happened) = (count("walked"), count("recorded"));
    assert!(0 < walked && walked < happened, "{lists}");
}

pub fn followed(
    kernel: Kernel,
    image: &Image,
    table: &[u8],
    scenario: &str,
    plan: Plan<'_>,
) -> Tally {
    let emulator = built::emulator(kernel.arch);
    let file = built::image(kernel);
    follow(&emulator, &file, image, table, scenario, plan).expect("the machine can be stepped")
}

/// The table with one byte changed, which doubles the offset of the frame's address in the row of this function that has the
/// biggest one, and changes nothing else of it.
fn with_frames_twice_as_big(image: &Image, start: u64) -> Vec<u8> {
    let rows = |table: &[u8]| -> Option<Vec<Row>> {
        let function = image.tables(table).function_at(start)?;
        Some(function.rows().collect())
    };
    let offset = |row: &Row| match row.cfa {
        Rule::Value { offset, .. } => offset,
        _ => 0,
    };
    let before = rows(&image.table).expect("rows of the function");
    let biggest = before.iter().map(offset).max().expect("a row");
    for at in 0..image.table.len() {
        let mut table = image.table.clone();
        table[at] = table[at].wrapping_mul(2);
        let Some(after) = rows(&table) else { continue };
        let changed: Vec<_> = before.iter().zip(&after).filter(|(a, b)| a != b).collect();
        if after.len() == before.len()
            && let [(one, other)] = changed[..]
            && offset(one) == biggest
            && offset(other) == 2 * biggest
        {
            return table;
        }
    }
    panic!("no byte of the table doubles one offset");
}
