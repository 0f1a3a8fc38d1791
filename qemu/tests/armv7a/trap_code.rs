//! The rows of trap code.

use object::{Object, ObjectSection, ObjectSymbol};
use unwind::map::Map;
use unwind::{Found, RowSource};

use super::image;

/// From where trap code has a frame on: all but the last instruction of a return, at which the frame is given up.
#[gate]
fn trap_code_has_a_row_at_each_instruction() {
    for release in [false, true] {
        let (file, image) = image(release);
        let data = std::fs::read(&file).expect("the kernel's image");
        let elf = object::File::parse(&*data).expect("the image is ELF");
        let section = elf.section_by_name(".unwind_map").expect("its map");
        let map = Map::parse(&image.map, section.address()).expect("its map");
        for (name, without) in [
            ("trap_entry", 0),
            ("trap_preempted", 0),
            ("trap_return_above", 1),
        ] {
            let symbol = elf.symbols().find(|it| it.name() == Ok(name));
            let symbol = symbol.expect("a function of trap code");
            let count = symbol.size() / 4;
            assert!(count > 2, "{name}");
            let has_row = |number: u64| {
                let mut found = Found::EMPTY;
                let outcome = map.look_up(symbol.address() + 4 * number, &mut found);
                outcome.is_ok() && found.is_trap
            };
            let rows: Vec<bool> = (0..count).map(has_row).collect();
            let expected: Vec<bool> = (0..count).map(|it| it < count - without).collect();
            assert_eq!(rows, expected, "{name}");
        }
    }
}
