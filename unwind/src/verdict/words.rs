//! The words for each reason why a walk ends.

use core::fmt;

use super::End;
use crate::aarch64;
use crate::text::{Filled, texts};

impl End {
    /// The text of [`Display`](fmt::Display), for a writer that is no formatter.
    #[inline(never)]
    pub(crate) fn write(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        if let Self::Unusable(words) = *self {
            return f.write_str(words);
        }
        let [first, second] = self.filled();
        first.write(f)?;
        second.write(f)
    }

    /// Whether both are the same, by their texts, which tell as much: a derived comparison takes ten times as much code.
    pub(crate) fn is(&self, other: &Self) -> bool {
        if let (Self::Unusable(one), Self::Unusable(two)) = (self, other) {
            // Not by `==`, for which a kernel may have no code yet.
            return one.bytes().eq(two.bytes());
        }
        let ([one, of_one], [two, of_two]) = (self.filled(), other.filled());
        one.is(&two) && of_one.is(&of_two)
    }

    /// Its text in two parts; of [`Self::Unusable`], nothing.
    #[inline(never)]
    fn filled(&self) -> [Filled; 2] {
        let more = match *self {
            Self::NoTables(error) => error.filled(),
            Self::NoRow(_, error) => error.filled(),
            Self::DamagedTables(damage) => damage.filled(),
            // A name, because the number is only defined in this crate.
            Self::RegisterLost(aarch64::SP_EL0) => Filled::of(": register SP_EL0", 0),
            Self::RegisterLost(number) => Filled::of(": register #", number.into()),
            Self::BadPc(0) | Self::BadReturnAddress(0) => Filled::of("is null", 0),
            Self::BadPc(pc) | Self::BadReturnAddress(pc) => {
                Filled::of("@ is outside all known code", pc)
            }
            Self::UnprovenRow(frame) => Filled::of(" of frame #", frame.into()),
            Self::CalledElsewhere(_, target) => Filled::of(", but a call to @", target),
            _ => Filled::NONE,
        };
        [self.first(), more]
    }

    /// The first part. In a function of its own: so the compiler sees that each variant's number is that of its text.
    #[inline(never)]
    fn first(&self) -> Filled {
        texts! { *self, [self.address(), 0];
            Self::Complete => "complete",
            Self::Outermost => "outermost function reached",
            Self::NotAtBase(_) => "outermost function reached, but its stack pointer @ is not the upper end of a declared stack",
            Self::BaseUnknown(_) => "it is unknown whether the stack begins at address @",
            Self::User(_) => "user code reached at @",
            Self::TrapNotAtBase(_) => "the trap frame of user code ends at address @, which is not the upper end of a declared stack",
            Self::TrapEndUnknown => "the end address of the trap frame of user code is unknown",
            Self::UserInKernel(_) => "the trap frame indicates user code, but address @ is in kernel code",
            Self::NoTables(_) => "no .sframe table: ",
            Self::Unusable(_) => "",
            Self::NoRow(..) => "no unwind row for address @: ",
            Self::WrongAbi(_) => "the unwind table is for a different CPU architecture than the kernel",
            Self::BadPc(_) => "the program counter ",
            Self::BadReturnAddress(_) => "the return address ",
            Self::NoCall(_) => "no call instruction precedes the return address @",
            Self::CalledElsewhere(..) => "return address @ does not follow a call to the function in the previous frame",
            Self::CallsUnchecked => "calls were not checked, because the bytes of the code are unavailable",
            Self::UnprovenRow(_) => "no proof for the unwind row",
            Self::UnprovenTables => "the unwind tables contain no proof that their rows are correct",
            Self::StartInDoubt => "this backtrace continues an earlier backtrace that is uncertain",
            Self::MayHaveRun => "the task may have run during the backtrace",
            Self::OnlyAtCalls(_) => "code was interrupted at address @, but its unwind row is valid only at calls",
            Self::NoStack(_) => "the stack pointer @ is outside all stacks that the backtrace may enter",
            Self::Unreadable(_) => "the stack word at address @ cannot be read",
            Self::UnalignedWord(_) => "the stack word at address @ is not aligned",
            Self::NotAdvancing(_) => "the caller's stack pointer @ is not above the called function's stack pointer",
            Self::Misaligned(_) => "the canonical frame address @ is misaligned",
            Self::RegisterLost(_) => "the unwind row needs a register whose value is unknown",
            Self::StackPointerLost => "the unwind row needs the stack pointer, whose value is unknown",
            Self::FramePointerLost => "the unwind row needs the frame pointer, whose value is unknown",
            Self::NoCfa => "the unwind row needs the canonical frame address, but does not define it",
            Self::LinkRegisterLost => "the unwind row needs the link register, whose value is unknown",
            Self::TrapFrame(_) => "the trap frame at address @ has an unknown layout",
            Self::Limit => "the maximum number of frames was reached",
            Self::DamagedTables(_) => "the tables are damaged: ",
            Self::LeftStack(_) => "the code switched to another stack, but the previous stack may contain callers above address @",
            Self::CodeChanged(_) => "the code at address @ differs from the linked code",
        }
    }

    /// The address in the first part, if it has one.
    #[inline(never)]
    const fn address(&self) -> u64 {
        match *self {
            Self::NotAtBase(address)
            | Self::BaseUnknown(address)
            | Self::User(address)
            | Self::TrapNotAtBase(address)
            | Self::UserInKernel(address)
            | Self::NoRow(address, _)
            | Self::NoCall(address)
            | Self::CalledElsewhere(address, _)
            | Self::OnlyAtCalls(address)
            | Self::NoStack(address)
            | Self::Unreadable(address)
            | Self::UnalignedWord(address)
            | Self::NotAdvancing(address)
            | Self::Misaligned(address)
            | Self::TrapFrame(address)
            | Self::LeftStack(address)
            | Self::CodeChanged(address) => address,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
