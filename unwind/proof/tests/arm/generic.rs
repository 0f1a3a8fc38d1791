//! Entries in the form of a personality routine that is not the ABI's: they have the opcodes that the assembler writes for the same
//! function without it.

use unwind::ehabi::{Error, Personality, Unwinding};

use crate::arm::{file, readelf};

/// Of every length: in the index, in a word, and in several.
const SAVES: [&str; 4] = [
    ".save {r4, lr}",
    ".save {r4, r11, lr}\n.setfp r11, sp, #4\n.pad #8",
    ".save {r4, r5, r6, r7, r11, lr}\n.vsave {d8, d9}\n.pad #4096\n.pad #64",
    ".save {r4, lr}\n.vsave {d8}\n.save {r6, r8}\n.vsave {d9}\n.save {r9, r11}\n.vsave {d20-d22}\n.pad #70000",
];

fn text() -> String {
    let mut text = String::from(
        ".syntax unified\n.arm\n.fpu neon\n.text\n__aeabi_unwind_cpp_pr0:\n__aeabi_unwind_cpp_pr1:\nroutine: nop\nother: nop\n",
    );
    for saves in SAVES {
        let end = ".fnend";
        text.push_str(&format!(".fnstart\nnop\n{saves}\n{end}\n"));
        let data = ".handlerdata\n.long 0x12345678\n.text";
        for routine in ["routine", "other"] {
            let personality = format!(".personality {routine}\n");
            text.push_str(&format!(
                ".fnstart\nnop\n{personality}{saves}\n{data}\n{end}\n"
            ));
        }
    }
    text
}

#[test]
fn opcodes_behind_a_personality_routine() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = file::Image::read(&file::assembled(folder.path(), &text()));
    let [routine, other] = ["routine", "other"].map(|name| image.symbol(name));
    let routines = [routine];
    let tables = image.tables().personalities(&routines);
    let entries: Vec<_> = tables.entries().collect();
    let mut compared = 0;
    for three in entries.chunks_exact(3) {
        let opcodes = |index: usize| match three[index].unwinding {
            Ok(Unwinding::By(personality, opcodes)) => (personality, readelf::lines(opcodes)),
            other => panic!("{other:?}"),
        };
        let ((own, mut without), (at, mut with)) = (opcodes(0), opcodes(1));
        assert!(matches!(own, Personality::Own(0 | 1)));
        assert_eq!(at, Personality::At(routine));
        // What pads the last word.
        for lines in [&mut without, &mut with] {
            while lines.last().is_some_and(|(bytes, _)| bytes == &[0xb0]) {
                lines.pop();
            }
        }
        assert_eq!(with, without);
        assert!(!with.is_empty());
        assert_eq!(three[1].rules(), three[0].rules());
        let refused = three[2].unwinding.err();
        assert_eq!(refused, Some(Error::UnknownPersonality(other)));
        compared += 1;
    }
    assert_eq!(compared, SAVES.len());
}
