//! What the start of a function is relative to.

use unwind::sframe::{Section, StartRule, Tables};

use crate::hand::{ADDRESS, FLAGS, V1, V2, V3, look_up, with};

fn starts(section: &Section<'_>) -> Vec<u64> {
    section
        .functions()
        .map(|function| function.start())
        .collect()
}

/// Version 1 and 2 by the flags: what GNU ld up to 2.44 sorted is relative to the section; what it did not touch, or
/// what says so, is relative to the field.
#[test]
fn the_flags_tell() {
    for (section, fields) in [(&V1[..], [28, 45]), (&V2, [28, 48])] {
        for flags in 0..8 {
            let bytes = with(section, FLAGS, flags);
            let found = starts(&Section::parse(&bytes, ADDRESS).unwrap());
            let of_section = vec![0x1000, 0x1010];
            let of_field = vec![0x1000 + fields[0], 0x1010 + fields[1]];
            let pc_relative = flags & 4 != 0;
            let sorted = flags & 1 != 0;
            let expected = if sorted && !pc_relative {
                of_section
            } else {
                of_field
            };
            assert_eq!(found, expected, "flags {flags}");
        }
    }
}

/// `ld -r` of GNU ld up to 2.44 says "sorted" of a relocatable file, and lld then resolves its starts in place: only the
/// caller can know.
#[test]
fn the_caller_knows_better() {
    for (rule, expected) in [
        (StartRule::FromFlags, [0x1000, 0x1010]),
        (StartRule::Section, [0x1000, 0x1010]),
        (StartRule::Field, [0x1000 + 28, 0x1010 + 48]),
    ] {
        let section = Section::parse_with(&V2, ADDRESS, rule).unwrap();
        assert_eq!(starts(&section), expected, "{rule:?}");
    }
    // Nor is there a version that has to be as its flags say.
    let section = Section::parse_with(&V3, ADDRESS, StartRule::Section).unwrap();
    assert_eq!(starts(&section), [ADDRESS - 0x101c, ADDRESS - 0x101c]);
    let tables = Tables::with(&V3, ADDRESS, StartRule::Section);
    for pc in ADDRESS - 0x1020..ADDRESS {
        let found = look_up(&tables, pc)
            .ok()
            .map(|(function, _)| function.size());
        let is_inside = (ADDRESS - 0x101c..ADDRESS - 0x101c + 32).contains(&pc);
        assert_eq!(found, is_inside.then_some(32), "pc {pc:#x}");
    }
}

/// Version 3 has 64 bits: a function may lie anywhere, also on the other side of address 0.
#[test]
fn starts_reach_everywhere() {
    for address in [0_u64, 0x101c, 0xffff_ffff_8000_0000, u64::MAX - 40] {
        let section = Section::parse(&V3, address).unwrap();
        assert_eq!(
            starts(&section),
            [address.wrapping_sub(0x1000), address.wrapping_sub(0xff0)]
        );
    }
    let mut bytes = V3;
    // The first function at 0xffff_8000_0000_0000, seen from 0x2000 + 28.
    bytes[28..36].copy_from_slice(
        &0xffff_8000_0000_0000_u64
            .wrapping_sub(ADDRESS + 28)
            .to_le_bytes(),
    );
    bytes[FLAGS] = 4;
    let tables = Tables::new(&bytes, ADDRESS);
    let function = tables.function_at(0xffff_8000_0000_000f).unwrap();
    assert_eq!(function.start(), 0xffff_8000_0000_0000);
    assert!(tables.function_at(0xffff_8000_0000_0010).is_none());
}

/// A function may end with the address space.
#[test]
fn the_last_byte_there_is() {
    // The second function starts 32 bytes before the end.
    let address = 0xff0_u64.wrapping_sub(32);
    let section = Section::parse(&V2, address).unwrap();
    assert_eq!(starts(&section)[1], u64::MAX - 31);
    assert!(section.function_at(u64::MAX).is_some());
    assert!(section.function_at(0).is_none());
}
