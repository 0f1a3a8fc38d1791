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
            Self::RegisterLost(aarch64::SP_EL0) => Filled::of("SP_EL0, which is not known here", 0),
            Self::RegisterLost(number) => Filled::of("#, which is not known here", number.into()),
            Self::BadPc(0) | Self::BadReturnAddress(0) => Filled::of("is null", 0),
            Self::BadPc(pc) | Self::BadReturnAddress(pc) => Filled::of("@ is not in any code", pc),
            Self::UnprovenRow(frame) => Filled::of("# was not proven", frame.into()),
            Self::CalledElsewhere(_, target) => {
                Filled::of("@, not to the function of the frame", target)
            }
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
            Self::NotAtBase(_) => "outermost function reached with sp @, which is not the base of a declared stack",
            Self::BaseUnknown(_) => "it is not known whether its stack begins at @",
            Self::User(_) => "user code reached at @",
            Self::TrapNotAtBase(_) => "the trap frame of user code ends at @, which is not the base of a declared stack",
            Self::TrapEndUnknown => "it is not known where the trap frame of user code ends",
            Self::UserInKernel(_) => "the trap frame indicates user code, but @ is kernel code",
            Self::NoTables(_) => "no .sframe table: ",
            Self::Unusable(_) => "",
            Self::NoRow(..) => "no row for @: ",
            Self::WrongAbi(_) => "the .sframe table is for another architecture",
            Self::BadPc(_) => "the program counter ",
            Self::BadReturnAddress(_) => "the return address ",
            Self::NoCall(_) => "no call before the return address @",
            Self::CalledElsewhere(..) => "the call before @ leads to ",
            Self::CallsUnchecked => "calls were not checked, because the bytes of the code are not known",
            Self::UnprovenRow(_) => "the row of frame ",
            Self::UnprovenTables => "the tables contain no proof of their rows",
            Self::StartInDoubt => "the walk that found where the list starts is in doubt",
            Self::MayHaveRun => "the task may have run meanwhile",
            Self::OnlyAtCalls(_) => "interrupted at @, but its row is valid at calls only",
            Self::NoStack(_) => "the stack pointer @ is outside every stack",
            Self::Unreadable(_) => "the stack word at @ cannot be read",
            Self::UnalignedWord(_) => "the stack word at @ is not aligned",
            Self::NotAdvancing(_) => "the caller's stack pointer @ would not be above this frame",
            Self::Misaligned(_) => "the frame address @ is misaligned",
            Self::RegisterLost(_) => "a rule needs register ",
            Self::StackPointerLost => "a rule needs the stack pointer, which is not known here",
            Self::FramePointerLost => "a rule needs the frame pointer, which is not known here",
            Self::NoCfa => "a rule needs the canonical frame address, which is not known here",
            Self::LinkRegisterLost => "a rule needs the link register, which is not known here",
            Self::TrapFrame(_) => "a trap frame of unknown layout at @",
            Self::Limit => "the limit of frames was reached",
            Self::DamagedTables(_) => "the tables are damaged: ",
            Self::LeftStack(_) => "a row leaves the stack at @, which is not empty there",
            Self::CodeChanged(_) => "the code at @ is not the code that was linked",
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
