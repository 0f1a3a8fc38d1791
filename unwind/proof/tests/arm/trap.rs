//! A walk through trap code: its entry restores all sixteen registers, and what they lead to was interrupted.

use linker::architecture::ARM;
use linker::function::Function;
use unwind::arm::Registers;
use unwind::sframe::{Base, Row, Rule};
use unwind::{ArmTables, Code, End, How, Kept, Range, Stacks, Unwinder};

use crate::arm::file;

const TEXT: &str = "
.syntax unified
.arm
.text
__aeabi_unwind_cpp_pr0:
__aeabi_unwind_cpp_pr1:
first:
    .fnstart
    .cantunwind
    bl middle
behind_middle:
    .fnend
middle:
    .fnstart
    .save {r4, lr}
    push {r4, lr}
interrupted:
    pop {r4, pc}
    .fnend
trap:
    .fnstart
    .unwind_raw 64, 0xb1, 0x0f, 0x8f, 0xff
    bl handler
behind_handler:
    .fnend
handler:
    .fnstart
    .save {r4, lr}
    push {r4, lr}
    bl other
behind_other:
    pop {r4, pc}
    .fnend
other:
    .fnstart
    .save {lr}
    bx lr
    .fnend
";

const STACK: u64 = 0x8000;
/// The trap frame lies behind `r4` and the return address of the handler, and the stack of what was interrupted elsewhere.
const FRAME: usize = 2;
const INTERRUPTED: u64 = 0x9000;

#[test]
fn an_entry_of_all_registers_leads_to_what_was_interrupted() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = file::assembled(folder.path(), TEXT);
    let image = file::Image::read(&path);
    let text = std::fs::read(&path).expect("the image");
    let text = object::File::parse(&*text).expect("the image is ELF");
    let text = object::Object::section_by_name(&text, ".text").expect("it has code");
    let bytes = object::ObjectSection::data(&text).expect("its bytes");
    let code = [Code::new(bytes, object::ObjectSection::address(&text))];
    let at = |name| image.symbol(name);

    // What the handler has pushed, then r0 to r15 with numbers that tell them apart.
    let mut words = [0_u64; FRAME + 16];
    words[1] = at("behind_handler");
    for register in 0..13 {
        words[FRAME + register] = 0x100 + register as u64;
    }
    words[FRAME + 13] = INTERRUPTED;
    words[FRAME + 14] = at("behind_middle");
    words[FRAME + 15] = at("interrupted");
    // What the interrupted function has pushed.
    let pushed = [0x44, at("behind_middle")];
    let ranges = [
        Range::new(STACK, STACK + 4 * words.len() as u64),
        Range::new(INTERRUPTED, INTERRUPTED + 8),
    ];
    let read = |address: u64| {
        assert!(address.is_multiple_of(4));
        let word = |words: &[u64], from| {
            words
                .get(usize::try_from((address - from) / 4).ok()?)
                .copied()
        };
        match address {
            INTERRUPTED.. => word(&pushed, INTERRUPTED),
            _ => word(&words, STACK),
        }
    };
    let outermost = [Range::new(at("first"), at("behind_middle"))];
    let unwinder = Unwinder::new(image.tables().outermost(&outermost)).code(&code);
    let from = Registers::after_call(at("behind_other"), STACK, &[0; 8]);
    let mut frames = unwinder.frames_from_call(from, Stacks::new(&ranges, read));
    let found: Vec<_> = frames.by_ref().collect();
    let pcs: Vec<_> = found.iter().map(|frame| (frame.pc, frame.how)).collect();
    assert_eq!(
        pcs,
        [
            (at("behind_other"), How::Given),
            (at("behind_handler"), How::SFrame),
            (at("interrupted"), How::TrapFrame),
            (at("behind_middle"), How::SFrame),
        ]
    );
    let interrupted = found[2].registers.expect("they were saved");
    assert_eq!(found[2].trap_frame, Some(STACK + 4 * FRAME as u64));
    assert_eq!((interrupted.sp, interrupted.fp), (INTERRUPTED, 0x10b));
    for register in (0..11).chain([12]) {
        let value = unwind::RegisterSet::other(&interrupted, register);
        assert_eq!(value, Some(0x100 + u64::from(register)));
    }
    // The interrupted function may be anywhere in its code, for which the tables have no word.
    assert_eq!(frames.end(), Some(End::Outermost));
    let doubt = frames
        .doubt()
        .expect("a list across an interruption is in doubt");
    assert_eq!(doubt.reason, End::OnlyAtCalls(at("interrupted")));

    // A map's row says where the frame is, and nothing of r4 to r10: where both mean the same frame, the entry has them.
    for (place, is_same) in [(0, true), (-8, false)] {
        let map = map_of(at("trap"), place);
        let tables = ArmTables::new(&map, MAP, image.tables().outermost(&outermost));
        let unwinder = Unwinder::new(tables).code(&code);
        let mut core = [0xee; 16];
        // The row that means another frame is of a stack pointer above.
        let sp = (STACK as i64 + 4 * FRAME as i64 - place) as u32;
        (core[13], core[15]) = (sp, at("trap") as u32);
        let frames = unwinder.frames(Registers::of(&core), Stacks::new(&ranges, read));
        let found = frames.into_iter().nth(1).expect("what was interrupted");
        assert_eq!((found.pc, found.how), (at("interrupted"), How::TrapFrame));
        let registers = found.registers.expect("they were saved");
        assert_eq!((registers.sp, registers.fp), (INTERRUPTED, 0x10b));
        for register in 4..11 {
            let value = unwind::RegisterSet::other(&registers, register);
            let saved = is_same.then_some(0x100 + u64::from(register));
            assert_eq!(value, saved, "r{register} {place}");
        }
    }
}

/// Where the map lies.
const MAP: u64 = 0x4000;

/// A map of trap code of one instruction, whose frame is so many bytes from the stack pointer.
fn map_of(trap: u64, place: i64) -> Vec<u8> {
    let saved = |offset| Rule::Saved {
        base: Base::StackPointer,
        offset: place + offset,
    };
    let row = Row {
        offset: 0,
        cfa: saved(52),
        return_address: saved(60),
        frame_pointer: saved(44),
        signed: false,
        kept: Kept::of_bytes([255; Kept::COUNT]),
    };
    let function = Function {
        start: trap,
        size: 4,
        rows: vec![row],
        signal: true,
        key_b: false,
        continues: false,
        block: None,
    };
    let map = linker::map::Map::new(&ARM, &[function], None).expect("a map");
    map.to_bytes(MAP)
}
