//! What rule maps say of themselves and of addresses.

use unwind::map::{Map, format};
use unwind::sframe::{Damage, Rule};
use unwind::{
    ArmTables, Found, ImageTables, Kept, Machine, Proof, Range, Restored, RowSource, arm, ehabi,
};

/// Most functions looked at in one map.
const FUNCTIONS: usize = 64;

/// Parses a map and asks it everything, and the same bytes as the tables of an image, whatever they are.
pub fn map(bytes: &[u8], address: u64, pc: u64) {
    let image = ImageTables::new(bytes, address);
    let verified = image.verify();
    // SFrame that says it is sorted and is not: of the ways to look up, each finds what it finds.
    if matches!(image, ImageTables::Map(_)) || verified.is_ok() {
        ask(&image, pc);
    }
    assert_eq!(verified, image.verified(verified).verify());
    // The tables themselves are no code of the image, unless they say so.
    let with_code = image.verify_code(bytes, address);
    assert_eq!(
        with_code.is_ok() || matches!(with_code, Err(Damage::Code { .. })),
        verified.is_ok()
    );
    let _ = image.moved_by();
    assert!(image.checked_code().count() <= bytes.len());
    assert_eq!(ImageTables::none().functions().count(), 0);
    let parsed = Map::parse(bytes, address);
    let map = match parsed {
        Ok(map) => map,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(matches!(image, ImageTables::SFrame(_)));
            return;
        }
    };
    assert!(matches!(image, ImageTables::Map(_)));
    assert!(map.length() <= bytes.len() && map.address() == address);
    assert!(map.region_count() <= format::MAX_REGIONS as usize);
    let entries = map.rule_count() + map.long_rule_count() + map.exception_count();
    assert!(entries + map.change_count() < bytes.len());
    let _ = (
        map.byte_order(),
        map.moved_by(),
        map.stack_pointer(map.address()),
    );
    let verified = map.verify();
    assert_eq!(map.verified(verified).doubt().is_some(), verified.is_err());
    let machines = [
        Machine::X86_64,
        Machine::AArch64,
        Machine::S390x,
        Machine::Arm,
    ];
    let fits = machines
        .iter()
        .filter(|machine| map.describes(**machine).is_ok());
    assert_eq!(fits.count(), 1);
    assert!(map.describes(map.machine()).is_ok());
    assert_eq!(map.abi().is_none(), map.machine() == Machine::Arm);
    // Beside exception tables of nothing.
    let arm = ArmTables::new(
        bytes,
        address,
        ehabi::Tables::new(&[], 0, &[], 0, Range::new(0, 0)),
    );
    let outcome = arm.verify();
    assert_eq!(outcome.map, verified);
    let with_code = arm.verify_code(bytes, address).map;
    assert_eq!(
        with_code.is_ok() || matches!(with_code, Err(Damage::Code { .. })),
        verified.is_ok()
    );
    assert!(arm.outermost(&[]).verified(outcome).doubt().is_some() == verified.is_err());
    assert_eq!(arm.moved_by(), Some(map.moved_by()));
    assert!(arm.checked_code().eq(image.checked_code()));
    assert!(ArmTables::none().describes(Machine::Arm).is_err());
    ask(&arm, pc);
    ask(&map, pc);
    let mut found = Found::EMPTY;
    let has_row = RowSource::look_up(&map, pc, &mut found).is_ok();
    assert!(!has_row || map.is_proven() || found.proof != Proof::Proven);
    for function in map.functions().take(FUNCTIONS) {
        ask(&map, function.start);
        ask(&map, function.end.wrapping_sub(1));
    }
    let functions = image.functions().take(FUNCTIONS);
    assert!(functions.eq(map.functions().take(FUNCTIONS)));
}

/// A source finds a function that holds the address, and covers what it finds.
fn ask(source: &impl RowSource, pc: u64) {
    let mut found = Found::EMPTY;
    if source.look_up(pc, &mut found).is_ok() {
        assert!(source.covers(pc), "{pc:#x}");
        assert!(found.range.start <= pc && pc <= found.range.end);
        let rules = found.rules;
        assert!(rules.cfa() != Rule::Same);
        assert!(rules.cfa() != Rule::Undefined || rules.is_outermost());
        if let Some(function) = source.function(pc) {
            assert!(function.holds(pc, 1), "{pc:#x}");
            assert!(source.is_one_function(&found, pc), "{pc:#x}");
            source.is_one_function(&found, function.start.wrapping_sub(1));
        }
        // Nobody promises that this is what the source has written.
        for place in [0, u32::MAX] {
            source.is_one_function(&Found { place, ..found }, pc);
        }
    }
    let mut restored = Restored::NONE;
    source.restored(pc, &mut restored);
    let (mut kept, mut again) = (Kept::ALL, Kept::ALL);
    for register in 0..16 {
        kept.set(register, restored.rule(register));
    }
    for (register, rule) in kept.rules() {
        again.set(register, rule);
    }
    assert_eq!(
        (Kept::of_bytes(kept.bytes()), restored.only_at_calls),
        (again, false)
    );
    assert_eq!(restored.rule(arm::R11), Rule::Same);
    assert!(source.doubt().is_none());
}

/// A map with its checksum made right, so that a mutation gets past it.
pub fn with_map_checksum(bytes: &mut [u8]) {
    let length = bytes.get(8..12).map_or(0, |field| {
        u32::from_le_bytes(field.try_into().expect("4 bytes"))
    });
    let end = (length as usize).saturating_sub(format::CHECKSUM_SIZE);
    if let Some(body) = bytes.get(..end) {
        let crc = crc32fast::hash(body).to_le_bytes();
        if let Some(place) = bytes.get_mut(end..end + format::CHECKSUM_SIZE) {
            place.copy_from_slice(&crc);
        }
    }
}
