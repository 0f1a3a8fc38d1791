//! 32-bit ARM: an image has names, a rule map, which is made from `.debug_frame` and from the code, and the compiler's exception tables.

use std::fs;

use crate::common::arm::{TEXT, link};
use crate::common::stderr;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, elf};
use unwind::arm::Registers;
use unwind::symbols::SymbolTable;
use unwind::{Code, End, FrameKind, Range, Stacks, Unwinder, map};

#[test]
fn an_image_has_names_and_its_exception_tables() {
    let folder = crate::common::folder("arm");
    let (image, output) = link(&folder, TEXT, &["--sframe=none"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(!said.contains("no .sframe"), "{said}");

    let data = fs::read(&image).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let names = file.section_by_name(".symbols").unwrap();
    let table = SymbolTable::parse(names.data().unwrap(), names.address()).unwrap();
    for name in ["_start", "in_thumb"] {
        // That of Thumb code has its lowest bit set.
        let symbol = file.symbols().find(|it| it.name() == Ok(name)).unwrap();
        let start = symbol.address() & !1;
        assert_eq!(start != symbol.address(), name == "in_thumb");
        for at in [start, start + symbol.size() - 1] {
            let range = table.function_range(at).unwrap();
            assert_eq!((range.start, range.end), (start, start + symbol.size()));
            let answer = table.resolve(at).unwrap();
            let frame = answer.frames().next_back().unwrap();
            assert_eq!(frame.name.to_string(), name);
        }
    }
    let index = file.section_by_name(".ARM.exidx").unwrap();
    let loaded = matches!(index.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_ALLOC));
    assert!(loaded && index.size() >= 16);
    let at = |name| file.symbol_by_name(name).unwrap().address();
    assert_eq!(at("__exidx_start"), index.address());
    assert_eq!(at("__exidx_end"), index.address() + index.size());
    // No rows, and nobody is told that there are.
    assert_eq!(at("__sframe_start"), at("__sframe_end"));
}

/// The words of a stack, below which nothing is read.
const STACK: Range = Range::new(0x8000, 0x8100);

#[test]
fn an_image_has_a_rule_map() {
    let folder = crate::common::folder("arm-rows");
    // The second link finds the image of the first one, and its room.
    for _ in 0..2 {
        // If `_start`, which `main` calls, were also the entry point, its rows would be unproven.
        let switches = ["--symbols=names", "--entry=main"];
        let (image, output) = link(&folder, TEXT, &switches);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stderr(&output), "");
        let data = fs::read(image).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let section = file.section_by_name(".unwind_map").unwrap();
        let map = map::Map::parse(section.data().unwrap(), section.address()).unwrap();
        map.verify().unwrap();
        assert_eq!(map.machine(), unwind::Machine::Arm);
        let at = |name| file.symbol_by_name(name).unwrap().address() & !1;
        assert_eq!(at("__sframe_start"), section.address());
        walks(&file, map, ["in_thumb", "_start", "main"].map(at));
    }
}

/// From each instruction of the function in Thumb code, by its rows and by that in ARM code, of which there is no call frame information.
fn walks(file: &object::File<'_>, map: map::Map<'_>, [thumb, arm, main]: [u64; 3]) {
    let text = file.section_by_name(".text").unwrap();
    let code = [Code::new(text.data().unwrap(), text.address())];
    let (to_arm, to_main) = (arm + 8, main + 4);
    // main; then _start has r4 and lr; in_thumb r4, r6, r7, lr; then 32 bytes.
    let words: Vec<u64> = vec![0xd4, 0xd6, 0xd7, to_arm, 0xa4, to_main];
    let top = STACK.end - 4 * words.len() as u64;
    let read = |address: u64| {
        words
            .get(usize::try_from((address.checked_sub(top)?) / 4).ok()?)
            .copied()
    };
    let stacks = [STACK];
    // Offset, stack pointer, r7: before and behind push, behind add, sub and mov, and at pop.
    for (offset, sp, r7) in [
        (0, top + 16, 0xd7),
        (2, top, 0xd7),
        (4, top, top + 8),
        (6, top - 32, top + 8),
        (14, top, top + 8),
    ] {
        let mut core = [0xee_u32; 16];
        (core[7], core[13], core[14], core[15]) =
            (r7 as u32, sp as u32, to_arm as u32, (thumb + offset) as u32);
        let memory = Stacks::new(&stacks, read);
        let unwinder = Unwinder::new(map).code(&code);
        let mut frames = unwinder.frames(Registers::of(&core), memory);
        let list: Vec<_> = frames
            .by_ref()
            .map(|frame| (frame.pc, frame.kind, frame.registers.unwrap().sp))
            .collect();
        let expected = [
            (thumb + offset, FrameKind::Exact, sp),
            (to_arm, FrameKind::ReturnAddress, top + 16),
            (to_main, FrameKind::ReturnAddress, STACK.end),
        ];
        assert_eq!(list, expected, "offset {offset}");
        assert_eq!(frames.end(), Some(End::Complete), "offset {offset}");
    }
}
