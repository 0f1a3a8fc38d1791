//! Instructions and functions that fail, for scenarios.

use core::arch::{asm, global_asm};

global_asm!(include_str!("bad.s"), include_str!("lies.s"));

unsafe extern "C" {
    /// Jumps to the address.
    pub fn bad_jump(to: u64);
    /// Fails at its first instruction.
    pub fn bad_first(_: u64);
    /// Fails before its prologue.
    pub fn bad_leaf(_: u64);
    /// Fails in the middle of its prologue.
    pub fn bad_prologue(_: u64);
    /// Fails in its epilogue, when its frame is gone.
    pub fn bad_epilogue(_: u64);
    /// Ends with a jump to [`bad_first`].
    pub fn bad_tail_call(_: u64);
    /// Ends with a call of [`bad_first`]: the return address is the next function's.
    pub fn bad_last_call(_: u64);
    /// Fails with a frame of so many bytes, a multiple of 16, and some more.
    pub fn bad_variable_frame(size: u64);
    /// The functions `stay_*` loop at the instruction where `bad_*` fail, until a handler changes the saved program counter.
    pub fn stay_first(_: u64);
    /// As [`stay_first`].
    pub fn stay_leaf(_: u64);
    /// As [`stay_first`].
    pub fn stay_prologue(_: u64);
    /// As [`stay_first`].
    pub fn stay_epilogue(_: u64);
    /// As [`stay_first`].
    pub fn stay_tail_call(_: u64);
    /// As [`stay_first`].
    pub fn stay_last_call(_: u64);
    /// As [`stay_first`].
    pub fn stay_variable_frame(size: u64);
    /// Overwrites its return address, and calls [`bad_first`].
    pub fn bad_return_address(address: u64);
    /// Overwrites the frame pointer that its row needs, and calls [`bad_first`].
    pub fn bad_frame_pointer(address: u64);
    /// Sets its stack pointer to the address, and fails.
    pub fn bad_stack_pointer(address: u64);
    /// Loops until `word` is not zero, and sets `runs` to 1 meanwhile.
    pub fn bad_loop(word: *const u32, runs: *mut u32);
    /// Writes 1 to the first word in a loop, as long as the second one is zero.
    pub fn bad_busy(words: *mut [u32; 2]);
    /// Calls `callee`; has unwind rules.
    pub fn with_rules(callee: extern "C" fn());
    /// Calls `callee`; keeps a frame pointer, but has no unwind rules.
    pub fn without_rules(callee: extern "C" fn());
    /// Calls `callee` with a stack pointer and a frame pointer that it has stored at the first address and loaded from the
    /// second: both are the same word, which its code alone does not tell. Has no unwind rules.
    pub fn stack_from_memory(callee: extern "C" fn(), store: *mut u64, load: *const u64);
}

// Defined in `lies.s`.
unsafe extern "C" {
    fn lie_early_save();
    fn lie_early_frame();
    fn lie_push();
    fn lie_push_constant();
    fn lie_call();
    fn lie_epilogue();
    fn lie_far_return();
    fn lie_late_prologue();
    fn lie_beyond_proof();
    fn lie_register();
}

/// Functions whose CFI directives are wrong, each with a breakpoint where they are. They change no memory but their stack.
pub const LIES: &[unsafe extern "C" fn()] = &[
    lie_early_save,
    lie_early_frame,
    lie_push,
    lie_push_constant,
    lie_call,
    lie_epilogue,
    lie_far_return,
    lie_late_prologue,
    lie_beyond_proof,
    lie_register,
];

/// Reads a word. The compiler cannot see the access in the assembly, so it does not remove it.
///
/// # Safety
/// The read fails, or has no effect: no device register with side effects is at the address.
#[inline(always)]
pub unsafe fn read(address: u64) -> u64 {
    let word;
    // SAFETY: the caller says that the read fails or has no effect.
    unsafe { asm!("mov {}, [{}]", out(reg) word, in(reg) address, options(nostack, readonly)) };
    word
}

/// Writes a zero word.
///
/// # Safety
/// The word is not writable, or is not in use.
#[inline(always)]
pub unsafe fn write(address: u64) {
    // SAFETY: the caller says that the word is not writable or not in use.
    unsafe { asm!("mov qword ptr [{}], 0", in(reg) address, options(nostack)) };
}

/// Calls an address without code.
///
/// # Safety
/// There is no code at the address.
#[inline(always)]
pub unsafe fn call(address: u64) {
    // SAFETY: the caller says that there is no code, so the call raises an exception.
    unsafe { asm!("call {}", in(reg) address, clobber_abi("C")) };
}

/// Executes an undefined instruction.
#[inline(always)]
pub fn undefined() {
    // SAFETY: raises an exception, whose handler does not return.
    unsafe { asm!("ud2", options(nomem, nostack)) };
}

/// Loops in one instruction, until a handler changes the saved program counter.
#[inline(always)]
pub fn stay() {
    // SAFETY: a jump to itself changes nothing.
    unsafe { asm!("77: jmp 77b", options(nomem, nostack)) };
}

/// The bytes of the instruction of [`stay`].
pub const STAY: [u8; 2] = [0xeb, 0xfe];

/// Executes a breakpoint instruction.
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: raises an exception, whose handler keeps all registers.
    unsafe { asm!("int3", options(nostack)) };
}

/// Divides without a check of the divisor.
#[inline(always)]
pub fn divide(dividend: u64, divisor: u64) -> u64 {
    let quotient;
    // SAFETY: changes only its operands, or raises an exception.
    unsafe {
        asm!("div {}", in(reg) divisor, inout("rax") dividend => quotient, inout("rdx") 0_u64 => _, options(nomem, nostack));
    }
    quotient
}

/// Makes an access that must be aligned: the only one without SSE, as ordinary ones need not be.
///
/// # Safety
/// The address is misaligned.
#[inline(always)]
pub unsafe fn aligned(address: u64) {
    // SAFETY: the caller says that the address is misaligned, so the access raises an exception. rbx, which the instruction
    // uses and LLVM reserves, is restored after it.
    unsafe {
        asm!(
            "xchg rbx, {saved}",
            "lock cmpxchg16b [{address}]",
            "xchg rbx, {saved}",
            saved = inout(reg) 0_u64 => _,
            address = in(reg) address,
            inout("rax") 0_u64 => _,
            inout("rcx") 0_u64 => _,
            inout("rdx") 0_u64 => _,
            options(nostack)
        );
    }
}

/// An address that is not canonical: bits 63 to 48 differ from bit 47.
pub const NOT_CANONICAL: u64 = 0x1234_5678_9abc_def0;
