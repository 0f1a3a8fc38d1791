//! The check of a return address with the code: whether a call precedes it, and leads to the frame that returns there.

use crate::code::Code;
use crate::lookup::Found;
use crate::registers::RegisterSet;
use crate::source::RowSource;
use crate::verdict::End;
use crate::walk::frame::lookup_pc;
use crate::walk::{FrameKind, Unwinder};

/// The call before a return address, decoded from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// The bytes of the code are not known.
    Unknown,
    /// No call precedes the address. Accepted only in a function without a caller.
    None,
    /// An indirect call, or a call of the function that returns there.
    Fits,
    /// A call of this address, which is not in that function.
    Elsewhere(u64),
}

impl<'a, S: RowSource> Unwinder<'a, S> {
    /// Checks a return address of the function that was `found`; the error is why it cannot be one.
    pub(super) fn check<R: RegisterSet>(
        &self,
        return_address: u64,
        user: bool,
        found: &mut Found,
    ) -> Result<Call, End> {
        let code = self.code_before(R::place(return_address), user);
        match code.and_then(|bytes| R::direct_call(bytes, return_address)) {
            Some(target) if found.range.contains(target) => Ok(Call::Fits),
            Some(target) if self.source.is_one_function(found, target) => Ok(Call::Fits),
            Some(target) => Ok(Call::Elsewhere(target)),
            None => self.check_other::<R>(return_address, user, found),
        }
    }

    /// Does what [`Self::check`] does, if no direct call precedes the address. `found` is no longer needed, so its memory is used for
    /// another look-up.
    #[inline(never)]
    fn check_other<R: RegisterSet>(
        &self,
        return_address: u64,
        user: bool,
        found: &mut Found,
    ) -> Result<Call, End> {
        let call = self.call_before::<R>(return_address, user);
        // An address outside of the declared code is rejected; without declared code the next look-up decides.
        let fits = match call {
            Call::Unknown if self.code_of(user).is_empty() => return_address != 0,
            Call::Unknown => self.is_code(call_at::<R>(return_address), user),
            _ => true,
        };
        if !fits {
            return Err(End::BadReturnAddress(R::place(return_address)));
        }
        if call == Call::None && !self.has_no_caller::<R>(return_address, found) {
            return Err(End::NoCall(R::place(return_address)));
        }
        Ok(call)
    }

    /// Checks whether `address` can be a return address in the kernel: a call precedes it or, if the bytes are not known, code does.
    pub(super) fn is_return_address<R: RegisterSet>(&self, address: u64) -> bool {
        match self.call_before::<R>(address, false) {
            Call::Unknown => self.is_code(call_at::<R>(address), false),
            call => call != Call::None,
        }
    }

    /// Checks whether the known code contains `pc`.
    pub(super) fn is_code(&self, pc: u64, user: bool) -> bool {
        if self.code_of(user).is_empty() {
            !user && self.source.covers(pc)
        } else {
            self.code_at(pc, user).is_some()
        }
    }

    /// Returns the code of user programs, or of the kernel.
    #[inline(always)]
    const fn code_of(&self, user: bool) -> &'a [Code<'a>] {
        match user {
            true => self.user_code,
            false => self.code,
        }
    }

    /// Returns the code of user programs, or of the kernel with its further code.
    #[inline(always)]
    fn all_code_of(&self, user: bool) -> impl Iterator<Item = &'a Code<'a>> + use<'a, S> {
        let more: &'a [Code<'a>] = match user {
            true => &[],
            false => self.more_code,
        };
        self.code_of(user).iter().chain(more)
    }

    /// Returns the range of code that contains `address`.
    pub(super) fn code_at(&self, address: u64, user: bool) -> Option<&'a Code<'a>> {
        self.all_code_of(user).find(|code| code.holds(address))
    }

    /// Checks whether a frame may use the rows for `pc`: frames of user code use rows of user code only, and the kernel's use the kernel's only.
    #[inline(always)]
    pub(super) fn may_be_at(&self, pc: u64, user: bool) -> bool {
        match (user, self.user_code) {
            (false, []) => true,
            _ => self.code_at(pc, true).is_some() == user,
        }
    }

    /// Checks whether the call before a return address certainly leads to the function that was `found`. Fast, because it looks only at the
    /// first range of the kernel's code, which contains nearly all code.
    #[inline(always)]
    pub(super) fn fits<R: RegisterSet>(&self, return_address: u64, found: &Found) -> bool {
        let Some(first) = self.code.first() else {
            return false;
        };
        let bytes = first.known_before(R::place(return_address));
        match R::direct_call(bytes, return_address) {
            Some(target) => {
                found.range.contains(target) || self.source.is_one_function(found, target)
            }
            None => R::is_indirect_call(bytes, return_address),
        }
    }

    /// Returns the bytes of code before a return address.
    fn code_before(&self, return_address: u64, user: bool) -> Option<&'a [u8]> {
        for code in self.all_code_of(user) {
            let bytes = code.before(return_address);
            // Ranges may overlap. The first range that contains the call counts.
            if bytes.is_some() || code.holds(lookup_pc(return_address, FrameKind::ReturnAddress)) {
                return bytes;
            }
        }
        None
    }

    /// Returns the call before an address, with any target.
    fn call_before<R: RegisterSet>(&self, return_address: u64, user: bool) -> Call {
        let Some(bytes) = self.code_before(R::place(return_address), user) else {
            return Call::Unknown;
        };
        match R::direct_call(bytes, return_address) {
            Some(target) => Call::Elsewhere(target),
            None if R::is_indirect_call(bytes, return_address) => Call::Fits,
            None => Call::None,
        }
    }

    /// Checks whether a return address is in a function without a caller. Kernels prepare stacks of new tasks that return to the first
    /// instruction of such a function. The frame is listed, in doubt, although there is no call. The look-up uses the address itself, because
    /// the byte before it may belong to another function if no call ends there.
    #[inline(never)]
    fn has_no_caller<R: RegisterSet>(&self, return_address: u64, found: &mut Found) -> bool {
        let outcome = self.source.look_up(R::place(return_address), found);
        outcome.is_ok() && found.rules.is_outermost()
    }

    /// Checks whether the bytes before a return address may be the end of an indirect call, although they can also be read as a direct call.
    pub(super) fn is_indirect<R: RegisterSet>(&self, return_address: u64, user: bool) -> bool {
        let bytes = self
            .code_before(R::place(return_address), user)
            .unwrap_or(&[]);
        R::is_indirect_call(bytes, return_address)
    }

    /// Checks whether the tables have a function that begins at `address`. The end of an indirect call rarely looks like a direct call of a
    /// function's start. If it does, the frame is in doubt. The memory of `found` is used for a look-up.
    #[inline(never)]
    pub(super) fn is_start(&self, address: u64, found: &mut Found) -> bool {
        self.source.look_up(address, found).is_ok() && self.whole(found).start == address
    }
}

/// Returns the address with which to look up the call before a return address.
#[inline(always)]
fn call_at<R: RegisterSet>(return_address: u64) -> u64 {
    lookup_pc(R::place(return_address), FrameKind::ReturnAddress)
}
