//! The check of a return address by code: whether a call is before it, and leads to the frame that returns there.

use crate::code::Code;
use crate::lookup::Found;
use crate::registers::RegisterSet;
use crate::source::RowSource;
use crate::verdict::End;
use crate::walk::frame::lookup_pc;
use crate::walk::{FrameKind, Unwinder};

/// The call before a return address, as its bytes have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// The bytes are not known.
    Unknown,
    /// There is no call before it. Accepted only in an outermost function, which has no caller itself.
    None,
    /// An indirect call, or one of the function that returns there.
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

    /// As [`Self::check`], where no direct call is before the address. `found` is not needed any more, so its memory is used for
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

    /// Whether `address` can be a return address in the kernel: there is a call before it or, if the bytes are not known, code.
    pub(super) fn is_return_address<R: RegisterSet>(&self, address: u64) -> bool {
        match self.call_before::<R>(address, false) {
            Call::Unknown => self.is_code(call_at::<R>(address), false),
            call => call != Call::None,
        }
    }

    /// Whether `pc` lies in code, as far as is known.
    pub(super) fn is_code(&self, pc: u64, user: bool) -> bool {
        if self.code_of(user).is_empty() {
            !user && self.source.covers(pc)
        } else {
            self.code_at(pc, user).is_some()
        }
    }

    /// The code of user programs, or of the kernel.
    #[inline(always)]
    const fn code_of(&self, user: bool) -> &'a [Code<'a>] {
        match user {
            true => self.user_code,
            false => self.code,
        }
    }

    /// The same, with code that was added.
    #[inline(always)]
    fn all_code_of(&self, user: bool) -> impl Iterator<Item = &'a Code<'a>> + use<'a, S> {
        let more: &'a [Code<'a>] = match user {
            true => &[],
            false => self.more_code,
        };
        self.code_of(user).iter().chain(more)
    }

    /// The code that holds `address`.
    pub(super) fn code_at(&self, address: u64, user: bool) -> Option<&'a Code<'a>> {
        self.all_code_of(user).find(|code| code.holds(address))
    }

    /// Whether rows for `pc` may be those of a frame: user code and the kernel's never take each other's.
    #[inline(always)]
    pub(super) fn may_be_at(&self, pc: u64, user: bool) -> bool {
        match (user, self.user_code) {
            (false, []) => true,
            _ => self.code_at(pc, true).is_some() == user,
        }
    }

    /// Whether the call before a return address is certain to lead to the function that was `found`, and nothing else has to be looked
    /// at: it lies in the first range of the kernel's code, as nearly all do.
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

    /// The bytes of code before a return address.
    fn code_before(&self, return_address: u64, user: bool) -> Option<&'a [u8]> {
        for code in self.all_code_of(user) {
            let bytes = code.before(return_address);
            // Ranges may overlap; the first that has the call counts.
            if bytes.is_some() || code.holds(lookup_pc(return_address, FrameKind::ReturnAddress)) {
                return bytes;
            }
        }
        None
    }

    /// The call before an address, wherever it leads.
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

    /// Whether a return address is in an outermost function: kernels prepare stacks of new tasks that return to such a
    /// function's first instruction. Such a frame is listed, in doubt, although there is no call. The address itself is looked up:
    /// the byte before it may belong to another function, because there is no call that ends there.
    #[inline(never)]
    fn has_no_caller<R: RegisterSet>(&self, return_address: u64, found: &mut Found) -> bool {
        let outcome = self.source.look_up(R::place(return_address), found);
        outcome.is_ok() && found.rules.is_outermost()
    }

    /// Whether the bytes before a return address may be the end of an indirect call, although they read as a direct call, too.
    pub(super) fn is_indirect<R: RegisterSet>(&self, return_address: u64, user: bool) -> bool {
        let bytes = self
            .code_before(R::place(return_address), user)
            .unwrap_or(&[]);
        R::is_indirect_call(bytes, return_address)
    }

    /// Whether the tables have a function that begins at `address`. The end of an indirect call reads as a direct call of one by rare chance
    /// only, and then its frame is in doubt. The memory of `found` is used for a look-up.
    #[inline(never)]
    pub(super) fn is_start(&self, address: u64, found: &mut Found) -> bool {
        self.source.look_up(address, found).is_ok() && self.whole(found).start == address
    }
}

/// The address at which the call before a return address is looked up.
#[inline(always)]
fn call_at<R: RegisterSet>(return_address: u64) -> u64 {
    lookup_pc(R::place(return_address), FrameKind::ReturnAddress)
}
