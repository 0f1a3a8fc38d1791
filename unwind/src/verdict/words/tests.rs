extern crate std;

use std::string::ToString;
use std::vec::Vec;

use super::*;
use crate::lookup::LookupError;
use crate::sframe::{Abi, Damage, ParseError};

#[test]
fn every_ending_has_its_words() {
    let damage = |function| Damage::Row { function, row: 4 };
    let cases = [
        (End::Complete, "complete"),
        (End::Outermost, "outermost function reached"),
        (
            End::NotAtBase(1),
            "outermost function reached, but its stack pointer 0x0000000000000001 is not the upper end of a declared stack",
        ),
        (
            End::BaseUnknown(2),
            "it is unknown whether the stack begins at address 0x0000000000000002",
        ),
        (End::User(3), "user code reached at 0x0000000000000003"),
        (
            End::TrapNotAtBase(4),
            "the trap frame of user code ends at address 0x0000000000000004, which is not the upper end of a declared stack",
        ),
        (
            End::TrapEndUnknown,
            "the end address of the trap frame of user code is unknown",
        ),
        (
            End::UserInKernel(5),
            "the trap frame indicates user code, but address 0x0000000000000005 is in kernel code",
        ),
        (
            End::NoTables(ParseError::BadMagic { found: 0xab }),
            "no .sframe table: the .sframe section has bad magic number 0x00ab at offset 0, expected 0xdee2",
        ),
        (
            End::NoTables(ParseError::UnknownFlags(0x8)),
            "no .sframe table: unknown SFrame header flags 0x08 at offset 3",
        ),
        (
            End::NoTables(ParseError::Short { length: 27 }),
            "no .sframe table: the .sframe section has 27 bytes, too few for its header",
        ),
        (End::Unusable("100 % of # | @"), "100 % of # | @"),
        (
            End::NoRow(6, LookupError::NoFunction),
            "no unwind row for address 0x0000000000000006: no function in the unwind table contains the address",
        ),
        (
            End::NoRow(6, LookupError::NoRows { signal: false }),
            "no unwind row for address 0x0000000000000006: the unwind table has no rows for the function",
        ),
        (
            End::NoRow(6, LookupError::TooLarge),
            "no unwind row for address 0x0000000000000006: the unwind table is too large to search",
        ),
        (
            End::WrongAbi(Abi::Amd64),
            "the unwind table is for a different CPU architecture than the kernel",
        ),
        (End::BadPc(0), "the program counter is null"),
        (
            End::BadPc(7),
            "the program counter 0x0000000000000007 is outside all known code",
        ),
        (End::BadReturnAddress(0), "the return address is null"),
        (
            End::BadReturnAddress(8),
            "the return address 0x0000000000000008 is outside all known code",
        ),
        (
            End::NoCall(9),
            "no call instruction precedes the return address 0x0000000000000009",
        ),
        (
            End::CalledElsewhere(10, 11),
            "return address 0x000000000000000a does not follow a call to the function in the previous frame, but a call to 0x000000000000000b",
        ),
        (
            End::CallsUnchecked,
            "calls were not checked, because the bytes of the code are unavailable",
        ),
        (
            End::OnlyAtCalls(12),
            "code was interrupted at address 0x000000000000000c, but its unwind row is valid only at calls",
        ),
        (
            End::NoStack(13),
            "the stack pointer 0x000000000000000d is outside all stacks that the backtrace may enter",
        ),
        (
            End::Unreadable(14),
            "the stack word at address 0x000000000000000e cannot be read",
        ),
        (
            End::UnalignedWord(15),
            "the stack word at address 0x000000000000000f is not aligned",
        ),
        (
            End::NotAdvancing(16),
            "the caller's stack pointer 0x0000000000000010 is not above the called function's stack pointer",
        ),
        (
            End::Misaligned(17),
            "the canonical frame address 0x0000000000000011 is misaligned",
        ),
        (
            End::RegisterLost(18),
            "the unwind row needs a register whose value is unknown: register 18",
        ),
        (
            End::RegisterLost(aarch64::SP_EL0),
            "the unwind row needs a register whose value is unknown: register SP_EL0",
        ),
        (
            End::StackPointerLost,
            "the unwind row needs the stack pointer, whose value is unknown",
        ),
        (
            End::FramePointerLost,
            "the unwind row needs the frame pointer, whose value is unknown",
        ),
        (
            End::NoCfa,
            "the unwind row needs the canonical frame address, but does not define it",
        ),
        (
            End::LinkRegisterLost,
            "the unwind row needs the link register, whose value is unknown",
        ),
        (
            End::TrapFrame(19),
            "the trap frame at address 0x0000000000000013 has an unknown layout",
        ),
        (End::Limit, "the maximum number of frames was reached"),
        (
            End::DamagedTables(Damage::Checksum),
            "the tables are damaged: wrong checksum",
        ),
        (
            End::DamagedTables(damage(3)),
            "the tables are damaged: row number 4 of function number 3 in the unwind table cannot be read",
        ),
        (
            End::DamagedTables(damage(4)),
            "the tables are damaged: row number 4 of function number 4 in the unwind table cannot be read",
        ),
        // Both the first of their lists.
        (
            End::DamagedTables(Damage::Section(ParseError::Empty)),
            "the tables are damaged: empty",
        ),
    ];
    for (index, (end, words)) in cases.iter().enumerate() {
        assert_eq!(end.to_string(), *words);
        let same: Vec<usize> = (0..cases.len()).filter(|&it| cases[it].0.is(end)).collect();
        assert_eq!(same, [index], "{end:?}");
    }
    assert!(!End::Unusable("one").is(&End::Unusable("two")));
}
