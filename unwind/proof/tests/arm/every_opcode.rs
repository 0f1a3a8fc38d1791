//! Every first byte with every second one: what it means, and whether it means anything.

use std::fmt::Write;

use unwind::ehabi::Unwinding;

use crate::arm::{file, readelf};

/// An entry for each pair of bytes, with two bytes of `finish` behind them. The text does not use the directives that the assembler
/// has for opcodes, as it refuses some.
fn text() -> String {
    let mut text = String::from(".syntax unified\n.text\nstart:\n.rept 0x10000\nnop\n.endr\n");
    text.push_str(".section .ARM.extab,\"a\",%progbits\n");
    for first in 0..=255 {
        for second in 0..=255 {
            writeln!(
                text,
                "e{first}_{second}: .long 0x81010000 | {first} << 8 | {second}, 0x00b0b0b0"
            )
            .expect("a String takes all");
        }
    }
    text.push_str(".section .ARM.exidx,\"ao\",%0x70000001,.text\n");
    for first in 0..=255 {
        for second in 0..=255 {
            let at = (first << 8 | second) * 4;
            writeln!(
                text,
                ".long start(PREL31) + {at}, e{first}_{second}(PREL31)"
            )
            .expect("a String takes all");
        }
    }
    text
}

#[test]
fn every_opcode() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = file::assembled(folder.path(), &text());
    let image = file::Image::read(&path);
    let said = readelf::entries(&path);
    let (mut defined, mut pairs) = (0, 0);
    // Behind them there is one that the linker adds.
    let entries = image.tables().entries().zip(&said).take(0x10000);
    for (number, (ours, theirs)) in entries.enumerate() {
        let bytes = [(number >> 8) as u8, number as u8];
        let Ok(Unwinding::By(_, opcodes)) = ours.unwinding else {
            panic!("{bytes:x?}: {:?}", ours.unwinding);
        };
        let (mut ours, mut theirs) = (readelf::lines(opcodes), theirs.opcodes.clone());
        if let Some(at) = ours.iter().position(|(_, text)| text.is_none()) {
            // Ours end there. How many bytes an undefined one has is not defined either.
            assert_eq!(theirs[at].1, None, "{bytes:x?}");
            ours.truncate(at);
            theirs.truncate(at);
        }
        assert_eq!(ours, theirs, "{bytes:x?}");
        pairs += 1;
        defined += usize::from(!ours.is_empty());
    }
    println!("{defined} of {pairs} pairs of bytes begin with an opcode");
    assert_eq!((defined, pairs), (52254, 0x10000));
}
