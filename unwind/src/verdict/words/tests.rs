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
            "outermost function reached with sp 0x0000000000000001, which is not the base of a declared stack",
        ),
        (
            End::BaseUnknown(2),
            "it is not known whether its stack begins at 0x0000000000000002",
        ),
        (End::User(3), "user code reached at 0x0000000000000003"),
        (
            End::TrapNotAtBase(4),
            "the trap frame of user code ends at 0x0000000000000004, which is not the base of a declared stack",
        ),
        (
            End::TrapEndUnknown,
            "it is not known where the trap frame of user code ends",
        ),
        (
            End::UserInKernel(5),
            "the trap frame indicates user code, but 0x0000000000000005 is kernel code",
        ),
        (
            End::NoTables(ParseError::BadMagic { found: 0xab }),
            "no .sframe table: bad magic 0x00ab at offset 0, expected 0xdee2",
        ),
        (
            End::NoTables(ParseError::UnknownFlags(0x8)),
            "no .sframe table: unknown flags 0x08 at offset 3",
        ),
        (
            End::NoTables(ParseError::Short { length: 27 }),
            "no .sframe table: 27 bytes are too short for a header",
        ),
        (End::Unusable("100 % of # | @"), "100 % of # | @"),
        (
            End::NoRow(6, LookupError::NoFunction),
            "no row for 0x0000000000000006: no function in the table",
        ),
        (
            End::NoRow(6, LookupError::NoRows { signal: false }),
            "no row for 0x0000000000000006: no rows for this function",
        ),
        (
            End::NoRow(6, LookupError::TooLarge),
            "no row for 0x0000000000000006: its table is too large to be searched",
        ),
        (
            End::WrongAbi(Abi::Amd64),
            "the .sframe table is for another architecture",
        ),
        (End::BadPc(0), "the program counter is null"),
        (
            End::BadPc(7),
            "the program counter 0x0000000000000007 is not in any code",
        ),
        (End::BadReturnAddress(0), "the return address is null"),
        (
            End::BadReturnAddress(8),
            "the return address 0x0000000000000008 is not in any code",
        ),
        (
            End::NoCall(9),
            "no call before the return address 0x0000000000000009",
        ),
        (
            End::CalledElsewhere(10, 11),
            "the call before 0x000000000000000a leads to 0x000000000000000b, not to the function of the frame",
        ),
        (
            End::CallsUnchecked,
            "calls were not checked, because the bytes of the code are not known",
        ),
        (
            End::OnlyAtCalls(12),
            "interrupted at 0x000000000000000c, but its row is valid at calls only",
        ),
        (
            End::NoStack(13),
            "the stack pointer 0x000000000000000d is outside every stack",
        ),
        (
            End::Unreadable(14),
            "the stack word at 0x000000000000000e cannot be read",
        ),
        (
            End::UnalignedWord(15),
            "the stack word at 0x000000000000000f is not aligned",
        ),
        (
            End::NotAdvancing(16),
            "the caller's stack pointer 0x0000000000000010 would not be above this frame",
        ),
        (
            End::Misaligned(17),
            "the frame address 0x0000000000000011 is misaligned",
        ),
        (
            End::RegisterLost(18),
            "a rule needs register 18, which is not known here",
        ),
        (
            End::RegisterLost(aarch64::SP_EL0),
            "a rule needs register SP_EL0, which is not known here",
        ),
        (
            End::StackPointerLost,
            "a rule needs the stack pointer, which is not known here",
        ),
        (
            End::FramePointerLost,
            "a rule needs the frame pointer, which is not known here",
        ),
        (
            End::NoCfa,
            "a rule needs the canonical frame address, which is not known here",
        ),
        (
            End::LinkRegisterLost,
            "a rule needs the link register, which is not known here",
        ),
        (
            End::TrapFrame(19),
            "a trap frame of unknown layout at 0x0000000000000013",
        ),
        (End::Limit, "the limit of frames was reached"),
        (
            End::DamagedTables(Damage::Checksum),
            "the tables are damaged: wrong checksum",
        ),
        (
            End::DamagedTables(damage(3)),
            "the tables are damaged: row 4 of function 3 cannot be read",
        ),
        (
            End::DamagedTables(damage(4)),
            "the tables are damaged: row 4 of function 4 cannot be read",
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
