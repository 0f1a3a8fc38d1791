//! Rule maps say what the tables of the same functions say, at every address: of real files, of the stored sections of every ABI,
//! and of functions made by chance. Damaged ones are refused, or say something else without a panic.

#[path = "../../../tests/exercise/mod.rs"]
mod exercise;
#[path = "../../../tests/damage/random.rs"]
mod random;
#[path = "../../../tests/say/mod.rs"]
mod say;

mod chance;
mod made;

use linker::architecture::X86_64;
use linker::cfi::Frames;
use linker::map::Unfit;
use made::Made;
use random::Random;
use say::say;
use unwind::map::Map;
use unwind::map::format::MAX_REGIONS;
use unwind::{Found, RowSource};

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

#[test]
fn the_stored_sections() {
    let stored = made::stored();
    for (name, made) in &stored {
        check(name, made);
    }
    assert!(stored.len() > 10, "{}", stored.len());
}

#[test]
fn this_program() {
    check(
        "this program",
        &made::of_file(&std::env::current_exe().unwrap()),
    );
}

/// Bits, bytes and words are changed, half of the time with a checksum that is right for them: every look-up ends, and says what
/// `exercise` asks of it.
#[test]
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
#[test]
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
#[test]
fn code_in_many_places_has_no_map() {
    let made = Made::of(&X86_64, chance::far_apart());
    assert_eq!(made.err(), Some(Unfit::TooLarge));
}

#[test]
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
#[test]
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
