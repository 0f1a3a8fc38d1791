//! Walks that reach user code, as the state says that trap code has saved.

extern crate std;

use std::string::String;
use std::vec::Vec;

use super::{AARCH64, OUTERMOST, TEXT, Words, X86_64, table};
use crate::report::write_end;
use crate::sframe::{Abi, Tables};
use crate::{
    Code, Doubt, End, How, Range, SavedRegister, Stacks, Undeclared, Unwinder, aarch64, x86_64,
};

/// The kernel's stack, with 40 bytes of trap frame at its end: rip, cs, flags, rsp, rbp.
const KERNEL: Range = Range::new(0x10000, 0x10100);
const FRAME: u64 = 0x10100 - 40;
/// The user's, and code at 0x9000: a function that calls, by a register, one with a frame of 32 bytes.
const USER: Range = Range::new(0x40_0000, 0x40_0100);
const USER_TEXT: u64 = 0x9000;
const USER_CODE: [u8; 0x200] = {
    let mut code = [0; 0x200];
    (code[0xe], code[0xf]) = (0xff, 0xd0);
    code
};
const SAVED: [SavedRegister; 2] = [
    SavedRegister::new(x86_64::CS, 8),
    SavedRegister::new(SavedRegister::END, 40),
];

/// A handler; trap code, which leads by these words to what it interrupted; and the user's two functions.
fn tables() -> Vec<u8> {
    tables_with(24)
}

/// The same where the trap code finds the stack pointer so far behind the program counter.
fn tables_with(sp: u8) -> Vec<u8> {
    let trap = [0x00, 0x0d, 0x3b, sp, 0x3b, 0, 0x3b, 32];
    table(
        Abi::Amd64,
        &[
            (0x1000, 0x100, 0, 0, 1, OUTERMOST),
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x08]),
            (0x5000, 0x10, 0x80, 1, 1, &trap),
            (0x9000, 0x100, 0, 0, 1, OUTERMOST),
            (0x9100, 0x100, 0, 0, 1, &[0x00, 0x03, 0x20]),
        ],
    )
}

/// What a trap frame says.
#[derive(Clone, Copy)]
struct Trap {
    at: u64,
    pc: u64,
    cs: u64,
}

const TRAP: Trap = Trap {
    at: FRAME,
    pc: 0x9108,
    cs: 0x23,
};

fn walk(
    trap: Trap,
    saved: &[SavedRegister],
    user_code: &[Code<'_>],
) -> (Vec<(u64, bool)>, End, Option<Doubt>) {
    let table = tables();
    let words = Words::new(&[
        (trap.at - 8, 0x5008),
        (trap.at, trap.pc),
        (trap.at + 8, trap.cs),
        (trap.at + 24, 0x40_00e0),
        (trap.at + 32, 0),
        (0x40_00f8, 0x9010),
    ]);
    let read = |address| words.0.get(&address).copied();
    let ranges = [KERNEL, USER];
    let code = [Code::new(X86_64, TEXT)];
    let unwinder = Unwinder::new(Tables::new(&table, 0))
        .code(&code)
        .user_code(user_code)
        .trap_registers(saved);
    let registers = x86_64::Registers::new(0x3000, trap.at - 8, 0);
    let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
    let found = frames.by_ref().map(|frame| {
        let is_user = frame.registers.is_some_and(|registers| registers.user);
        (frame.pc, is_user)
    });
    let found = found.collect();
    (
        found,
        frames.end().expect("an ended walk has a reason"),
        frames.doubt(),
    )
}

fn doubt(frame: u32, reason: End) -> Option<Doubt> {
    Some(Doubt {
        frame,
        how: How::SFrame,
        reason,
    })
}

const KERNEL_FRAMES: [(u64, bool); 2] = [(0x3000, false), (0x5008, false)];

#[test]
fn user_code_ends_a_walk_that_is_complete_for_the_kernel() {
    for pc in [0x9108, 0, 0x40_0000, u64::MAX] {
        let (frames, end, doubt) = walk(Trap { pc, ..TRAP }, &SAVED, &[]);
        assert_eq!(frames, [KERNEL_FRAMES[0], KERNEL_FRAMES[1], (pc, true)]);
        assert_eq!((end, doubt), (End::User(pc), None));
    }
    let mut text = String::new();
    let doubt = doubt(2, End::TrapNotAtBase(0x100f8));
    for doubt in [None, doubt] {
        write_end(&mut text, End::User(0x40_0000), doubt, 3).expect("a string takes everything");
    }
    assert_eq!(
        text,
        "end of backtrace: user code reached at 0x0000000000400000, complete for the kernel, 3 frames\n\
         end of backtrace: user code reached at 0x0000000000400000, from frame 2 on in doubt (the trap frame of user code ends \
         at address 0x00000000000100f8, which is not the upper end of a declared stack), 3 frames\n"
    );
}

#[test]
fn only_the_saved_state_tells_user_code() {
    let pc = 0x40_0000;
    for saved in [&SAVED[..], &SAVED[1..], &[]] {
        for (cs, is_user) in [(8, false), (0, false), (0x10, false), (TRAP.cs, true)] {
            let (frames, end, doubt) = walk(Trap { pc, cs, ..TRAP }, saved, &[]);
            assert_eq!(frames, [KERNEL_FRAMES[0], KERNEL_FRAMES[1], (pc, is_user)]);
            let expected = match is_user {
                true => End::User(pc),
                false => End::BadPc(pc),
            };
            assert_eq!((end, doubt), (expected, None), "{cs}");
        }
    }
}

/// Nobody has said where that is saved, and it is not what the processor pushes.
#[test]
fn trap_code_that_saves_elsewhere_does_not_tell_user_code() {
    for (sp, is_user) in [(24, true), (16, false), (32, false)] {
        let table = tables_with(sp);
        let words = Words::new(&[
            (FRAME - 8, 0x5008),
            (FRAME, 0x9108),
            (FRAME + 8, TRAP.cs),
            (FRAME + 16, 0x40_00e0),
            (FRAME + 24, 0x40_00e0),
            (FRAME + 32, 0x40_00e0),
        ]);
        let read = |address| words.0.get(&address).copied();
        let code = [Code::new(X86_64, TEXT)];
        let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
        let registers = x86_64::Registers::new(0x3000, FRAME - 8, 0);
        let mut frames = unwinder.frames(registers, Stacks::new(&[KERNEL], read));
        let last = frames.by_ref().last().and_then(|frame| frame.registers);
        assert_eq!(last.map(|last| last.user), Some(is_user), "{sp}");
    }
}

#[test]
fn what_may_hide_frames_of_the_kernel_is_a_doubt() {
    let above = Trap {
        at: FRAME - 8,
        ..TRAP
    };
    let kernel = Trap { pc: 0x3010, ..TRAP };
    for (trap, saved, reason) in [
        (above, &SAVED[..], End::TrapNotAtBase(0x100f8)),
        (above, &[], End::TrapNotAtBase(0x100f8)),
        // Damage that makes the kernel's code a user's, or a user who has jumped there.
        (kernel, &SAVED[..], End::UserInKernel(0x3010)),
    ] {
        let (frames, end, found) = walk(trap, saved, &[]);
        assert_eq!(frames.last(), Some(&(trap.pc, true)));
        assert_eq!((end, found), (End::User(trap.pc), doubt(2, reason)));
    }
}

#[test]
fn nobody_knows_where_an_undeclared_stack_begins() {
    let table = tables();
    let words = Words::new(&[
        (FRAME - 8, 0x5008),
        (FRAME, 0x9108),
        (FRAME + 8, TRAP.cs),
        (FRAME + 24, 0),
        (FRAME + 32, 0),
    ]);
    let read = |address| words.0.get(&address).copied();
    let code = [Code::new(X86_64, TEXT)];
    let unwinder = Unwinder::new(Tables::new(&table, 0))
        .code(&code)
        .trap_registers(&SAVED);
    let registers = x86_64::Registers::new(0x3000, FRAME - 8, 0);
    for (known, reason) in [
        (None, doubt(2, End::BaseUnknown(0x10100))),
        (Some(KERNEL), None),
    ] {
        let memory = Undeclared::new(read, |sp| {
            known.filter(|stack| stack.holds_stack_pointer(sp))
        });
        let mut frames = unwinder.frames(registers, memory);
        assert_eq!(frames.by_ref().count(), 3);
        assert_eq!(
            (frames.end(), frames.doubt()),
            (Some(End::User(0x9108)), reason)
        );
    }
}

#[test]
fn a_walk_goes_on_in_user_code_that_it_is_told_of() {
    let code = [Code::new(&USER_CODE, USER_TEXT)];
    let (frames, end, doubt) = walk(TRAP, &SAVED, &code);
    let user = [(0x9108, true), (0x9010, true)];
    assert_eq!(frames, [&KERNEL_FRAMES[..], &user].concat());
    assert_eq!((end, doubt), (End::Complete, None));
    // Elsewhere it ends as without it.
    let elsewhere = Trap { pc: 0xa000, ..TRAP };
    assert_eq!(walk(elsewhere, &SAVED, &code).1, End::User(0xa000));
    // The kernel never runs it.
    for cs in [8, 0] {
        let (frames, end, _) = walk(Trap { cs, ..TRAP }, &SAVED, &code);
        assert_eq!(frames.len(), 3);
        assert_eq!(end, End::BadPc(0x9108));
    }
}

#[test]
fn a_walk_may_begin_in_user_code() {
    let table = tables();
    let code = [Code::new(X86_64, TEXT)];
    let unwinder = Unwinder::new(Tables::new(&table, 0)).code(&code);
    let stacks = Stacks::new(&[KERNEL], |_| unreachable!("nothing is read"));
    for (pc, reason) in [(0x40_0000, None), (0x3000, Some(End::UserInKernel(0x3000)))] {
        let mut registers = x86_64::Registers::new(pc, FRAME, FRAME);
        registers.user = true;
        let mut frames = unwinder.frames(registers, stacks);
        assert_eq!(frames.by_ref().count(), 1);
        let reason = reason.and_then(|reason| doubt(0, reason));
        assert_eq!(
            (frames.end(), frames.doubt()),
            (Some(End::User(pc)), reason)
        );
    }
}

#[test]
fn on_aarch64_the_state_is_that_of_el0() {
    let table = table(
        Abi::AArch64Little,
        &[
            (0x3000, 0x100, 0, 0, 1, &[0x00, 0x03, 0x00]),
            // CFA = *(sp+248), RA = *(sp+256), FP = *(sp+232).
            (
                0x5000,
                0x10,
                0x80,
                1,
                1,
                &[0x00, 0x2c, 0xfb, 0, 248, 0, 0xfb, 0, 0, 1, 0xfb, 0, 232, 0],
            ),
        ],
    );
    let saved = [
        SavedRegister::new(aarch64::SPSR, 264),
        SavedRegister::new(SavedRegister::END, 304),
    ];
    let frame = 0x10100 - 304;
    let ranges = [Range::new(0xf000, 0x10100)];
    let code = [Code::new(AARCH64, TEXT)];
    let end_unknown = doubt(2, End::TrapEndUnknown);
    for (state, is_user) in [(0, true), (0x8000_0010, true), (4, false), (0x3c5, false)] {
        let words = Words::new(&[
            (frame + 232, 0),
            (frame + 248, 0x40_00e0),
            (frame + 256, 0x9108),
            (frame + 264, state),
        ]);
        let read = |address| words.0.get(&address).copied();
        for (saved, doubt) in [(&saved[..], None), (&saved[..1], end_unknown)] {
            let unwinder = Unwinder::new(Tables::new(&table, 0))
                .code(&code)
                .trap_registers(saved);
            let registers = aarch64::Registers::new(0x3000, frame, 0, 0x5008);
            let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
            assert_eq!(frames.by_ref().count(), 3);
            let expected = match is_user {
                true => (Some(End::User(0x9108)), doubt),
                false => (Some(End::BadPc(0x9108)), None),
            };
            assert_eq!((frames.end(), frames.doubt()), expected, "{state}");
        }
    }
}
