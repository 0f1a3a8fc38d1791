//! Rule maps say what the tables of the same functions say, at every address: of real files, of the stored sections of every ABI,
//! and of functions made by chance. Damaged ones are refused, or say something else without a panic.

#[path = "../../tests/exercise/mod.rs"]
mod exercise;
#[path = "../../tests/damage/random.rs"]
mod random;

mod chance;
mod made;

use crate::say::say;
use linker::architecture::{ARM, X86_64};
use linker::cfi::Frames;
use linker::function::Function;
use linker::map::Unfit;
use made::Made;
use random::Random;
use unwind::arm::Registers;
use unwind::ehabi::Tables;
use unwind::map::Map;
use unwind::map::format::MAX_REGIONS;
use unwind::sframe::{Base, Row, Rule};
use unwind::{ArmTables, End, Found, Kept, Range, RowSource, Stacks, Unwinder};

/// Compares at every address; how many they are, and how many a link compares.
fn compare(name: &str, made: &Made) -> (u64, usize) {
    let compared = made.compare();
    let first = compared.differences.first();
    assert!(first.is_none(), "{name}: {}", first.unwrap());
    let addresses = made.compare_all();
    let map = made.map();
    assert!(addresses > 0 && map.moved_by() == 0 && map.length() == made.map.len());
    (addresses, compared.addresses)
}

fn check(name: &str, made: &Made) {
    let (addresses, compared) = compare(name, made);
    let map = made.map();
    say(format_args!(
        "{name}: {addresses} addresses, {} where something changes; {} bytes of {}: {} regions, {} rules, {} long, {} changes, \
         {} exceptions",
        compared,
        made.map.len(),
        made.tables.len(),
        map.region_count(),
        map.rule_count(),
        map.long_rule_count(),
        map.change_count(),
        map.exception_count(),
    ));
}

#[gate]
fn the_stored_sections() {
    let stored = made::stored();
    for (name, made) in &stored {
        check(name, made);
    }
    assert!(stored.len() > 10, "{}", stored.len());
}

#[gate]
fn this_program() {
    check(
        "this program",
        &made::of_file(&std::env::current_exe().unwrap()),
    );
}

/// Bits, bytes and words are changed, half of the time with a checksum that is right for them: every look-up ends, and says what
/// `exercise` asks of it.
#[gate]
fn damaged_maps() {
    let mut maps: Vec<Vec<u8>> = made::stored()
        .into_iter()
        .map(|(_, made)| made.map)
        .collect();
    maps.extend((1..6).flat_map(|seed| chance::made(seed).into_iter().map(|(_, made)| made.map)));
    // Checksums of large ones take most of the time.
    maps.retain(|map| map.len() < 10_000);
    random::on_seeds(20_000, |seed| {
        let index = usize::try_from(seed).expect("64 bits") % maps.len();
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut bytes = maps[index].clone();
        random::mutate(&mut bytes, &mut random);
        if random.below(2) == 0 {
            exercise::with_map_checksum(&mut bytes);
        }
        for pc in [
            made::MAP,
            0x10_0000,
            random.next(),
            0x10_0000 + random.next() % 0x10_0000,
        ] {
            exercise::map(&bytes, made::MAP, pc);
        }
    });
}

/// No change of a byte, or of the length, is taken for a sound map.
#[gate]
fn every_damaged_byte_is_noticed() {
    let (_, made) = chance::made(3).swap_remove(0);
    for at in 0..made.map.len() {
        let mut bytes = made.map.clone();
        bytes[at] ^= 0x10;
        let verified = Map::parse(&bytes, made::MAP).map(|map| map.verify().is_ok());
        assert_ne!(verified, Ok(true), "byte {at}");
        assert_eq!(
            Map::parse(&made.map[..at], made::MAP).ok().map(|_| ()),
            None
        );
    }
}

/// There is no map with a page for each of them and for what is between.
#[gate]
fn code_in_many_places_has_no_map() {
    let made = Made::of(&X86_64, chance::far_apart());
    assert_eq!(made.err(), Some(Unfit::TooLarge));
}

#[gate]
fn functions_by_chance() {
    let (mut exceptions, mut regions, mut long) = (0, 0, 0);
    for seed in 1..10 {
        for (name, made) in chance::made(seed) {
            compare(&name, &made);
            let map = made.map();
            exceptions = exceptions.max(map.exception_count());
            regions = regions.max(map.region_count());
            long = long.max(map.long_rule_count());
        }
    }
    // Every part of the format was used, and a table had more regions than there may be.
    assert!(
        exceptions > 0 && long > 0 && regions == MAX_REGIONS as usize,
        "{exceptions} exceptions, {long} long rules, {regions} regions"
    );
}

/// Of several maps each has numbers of its own. What one has found is never in a function of another, whatever lies there.
#[gate]
fn maps_of_several_images_are_not_mixed_up() {
    let made = made::stored();
    let named = |part: &str| {
        let mut made = made.iter();
        &made.find(|(name, _)| name.ends_with(part)).expect(part).1
    };
    let one = named("v3/amd64-rust.sframe");
    let functions = one.functions.iter().cloned().map(|mut function| {
        function.start += 0x1000_0000;
        function
    });
    let functions = functions.collect();
    let moved = Frames {
        functions,
        ..Frames::default()
    };
    let moved = Made::of(&X86_64, moved).expect("a map");
    let maps = [one.map(), moved.map()];
    let (mut found, mut count) = (Found::EMPTY, 0);
    for function in &one.functions {
        for address in function.start..function.end() {
            let there = address + 0x1000_0000;
            for (from, to) in [(address, there), (there, address)] {
                maps[..].look_up(from, &mut found).expect("a row");
                assert!(maps[..].is_one_function(&found, from), "{from:#x}");
                assert!(!maps[..].is_one_function(&found, to), "{from:#x}");
                count += 1;
            }
        }
    }
    assert!(count > 1000, "{count}");
}

/// A map of 32-bit ARM says what the functions say that it was made of, and whatever is damaged in it, nothing panics.
#[gate]
fn functions_of_32_bit_arm() {
    of_32_bit_arm(0..12);
}

#[long]
fn more_functions_of_32_bit_arm() {
    of_32_bit_arm(12..60);
}

fn of_32_bit_arm(seeds: std::ops::Range<u64>) {
    let mut rows = 0;
    for seed in seeds.clone() {
        let functions = chance::arm(seed);
        rows += functions.iter().map(|one| one.rows.len()).sum::<usize>();
        let bytes = linker::map::Map::new(&ARM, &functions, None).expect("a map");
        let bytes = bytes.to_bytes(made::MAP);
        let map = Map::parse(&bytes, made::MAP).expect("a map");
        assert_eq!(map.verify().map(|verified| verified.checksum), Ok(true));
        assert_eq!((map.machine(), map.abi()), (unwind::Machine::Arm, None));
        let different = linker::map::compare_with(&map, &functions);
        assert!(
            different.differences.is_empty(),
            "seed {seed}: {different:x?}"
        );
        let mut random = Random(seed | 1);
        let pc = functions[0].start;
        exercise::map(&bytes, made::MAP, pc);
        for _ in 0..200 {
            let mut damaged = bytes.clone();
            let at = random.below(damaged.len());
            damaged[at] ^= 1 << random.below(8);
            exercise::with_map_checksum(&mut damaged);
            let one = &functions[random.below(functions.len())];
            exercise::map(&damaged, made::MAP, one.start + random.below(64) as u64);
        }
    }
    assert!(rows > 170 * seeds.count(), "{rows}");
}

/// A caller counts its frame from `r4`, which its callee has saved, has left as it was, or has lost: then the walk says so, and takes no value of
/// the callee's for the caller's. So it does where the caller has only an exception table.
#[gate]
fn a_frame_is_not_counted_from_a_lost_register() {
    let at = |base, offset| Rule::Value { base, offset };
    let saved = |offset| Rule::Saved {
        base: Base::Cfa,
        offset,
    };
    let function = |start, cfa, kept| Function {
        start,
        size: 0x10,
        rows: vec![Row {
            offset: 0,
            cfa,
            return_address: saved(-4),
            frame_pointer: Rule::Same,
            signed: false,
            kept,
        }],
        signal: false,
        key_b: false,
        continues: false,
        block: None,
    };
    let kept = |rule| {
        let mut kept = Kept::ALL;
        kept.set(4, rule);
        kept
    };
    // vsp = r4; pop {r14}; finish
    let index = [[0x7fff_f000_u32, 0x8094_8400], [0x7fff_f008, 1]];
    let index: Vec<u8> = index
        .as_flattened()
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let exceptions = Tables::new(&index, 0x2000, &[], 0, Range::new(0, 0x1020));
    // The callee's r4 and return address; then the caller's return address, which leads to no code.
    let words = [0x8010_u64, 0x1008, 0xeeee, 0x1234];
    let read = |address: u64| {
        words
            .get((address as usize).checked_sub(0x8000)? / 4)
            .copied()
    };
    let stacks = [Range::new(0x8000, 0x8010)];
    for (rule, r4, is_known) in [
        (saved(-8), 0xbad, true),
        (Rule::Same, 0x8010, true),
        (Rule::Undefined, 0x8010, false),
    ] {
        for has_row in [true, false] {
            let caller = function(0x1000, at(Base::Register(4), 0), Kept::ALL);
            let callee = function(0x1010, at(Base::StackPointer, 8), kept(rule));
            let functions = match has_row {
                true => vec![caller, callee],
                false => vec![callee],
            };
            let bytes = linker::map::Map::new(&ARM, &functions, None).expect("a map");
            let bytes = bytes.to_bytes(made::MAP);
            let tables = ArmTables::new(&bytes, made::MAP, exceptions);
            let mut core = [0; 16];
            (core[4], core[13], core[15]) = (r4, 0x8000, 0x1014);
            let unwinder = Unwinder::new(tables);
            let mut frames = unwinder.frames(Registers::of(&core), Stacks::new(&stacks, read));
            let pcs: Vec<u64> = frames.by_ref().map(|frame| frame.pc).collect();
            let lost = frames.end() == Some(End::RegisterLost(4));
            assert_eq!(
                (pcs.get(1), lost),
                (Some(&0x1008), !is_known),
                "{rule:?} {has_row} {:?}",
                frames.end()
            );
        }
    }
}
