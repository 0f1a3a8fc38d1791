//! Instructions and functions that go wrong, for scenarios.

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
    /// As those of the same names with `bad`, but they stay where those fail, for ever or until somebody leads them on.
    pub fn stay_first(_: u64);
    /// See [`stay_first`].
    pub fn stay_leaf(_: u64);
    /// See [`stay_first`].
    pub fn stay_prologue(_: u64);
    /// See [`stay_first`].
    pub fn stay_epilogue(_: u64);
    /// See [`stay_first`].
    pub fn stay_tail_call(_: u64);
    /// See [`stay_first`].
    pub fn stay_last_call(_: u64);
    /// See [`stay_first`].
    pub fn stay_variable_frame(size: u64);
    /// Overwrites its return address, and calls [`bad_first`].
    pub fn bad_return_address(by: u64);
    /// Overwrites the frame pointer that it finds its frame by, and calls [`bad_first`].
    pub fn bad_frame_pointer(by: u64);
    /// Takes the address for its stack pointer, and fails.
    pub fn bad_stack_pointer(by: u64);
    /// Goes round and round until `word` is not zero, and sets `runs` to 1.
    pub fn bad_loop(word: *const u32, runs: *mut u32);
    /// Writes a one to the first word, again and again, as long as the second is zero.
    pub fn bad_busy(words: *mut [u32; 2]);
    /// Calls `callee`; rules for unwinders say how.
    pub fn with_rules(callee: extern "C" fn());
    /// Calls `callee`; keeps a frame pointer, but no rules say so.
    pub fn without_rules(callee: extern "C" fn());
    /// Calls `callee` with a stack pointer and a frame pointer that it has stored at the first address and loaded from the
    /// second: both are the same word, which its code does not tell. No rules say so either.
    pub fn stack_from_memory(callee: extern "C" fn(), store: *mut u64, load: *const u64);
}

// Of `lies.s`.
unsafe extern "C" {
    fn lie_early_save();
    fn lie_early_frame();
    fn lie_push();
    fn lie_push_constant();
    fn lie_call();
    fn lie_epilogue();
    fn lie_late_prologue();
    fn lie_beyond_proof();
    fn lie_register();
}

/// Functions whose directives lie to unwinders, each with a breakpoint where they do. They change nothing.
pub const LIES: &[unsafe extern "C" fn()] = &[
    lie_early_save,
    lie_early_frame,
    lie_push,
    lie_push_constant,
    lie_call,
    lie_epilogue,
    lie_late_prologue,
    lie_beyond_proof,
    lie_register,
];

/// Reads a word. The compiler knows nothing of the access, so that it comes whatever the address.
///
/// # Safety
/// Nothing can be read there, or reading it does nothing: it is no device's register that minds.
#[inline(always)]
pub unsafe fn read(address: u64) -> u64 {
    let word;
    // SAFETY: see above.
    unsafe { asm!("ldr {}, [{}]", out(reg) word, in(reg) address, options(nostack, readonly)) };
    word
}

/// Writes a zero.
///
/// # Safety
/// The word is not writable, or nobody uses it.
#[inline(always)]
pub unsafe fn write(address: u64) {
    // SAFETY: see above.
    unsafe { asm!("str xzr, [{}]", in(reg) address, options(nostack)) };
}

/// Calls what is no function.
///
/// # Safety
/// There is no code at the address.
#[inline(always)]
pub unsafe fn call(address: u64) {
    // SAFETY: see above.
    unsafe { asm!("blr {}", in(reg) address, clobber_abi("C")) };
}

/// An instruction that is none.
#[inline(always)]
pub fn undefined() {
    // SAFETY: raises an exception, from which nobody returns.
    unsafe { asm!("udf #0", options(nomem, nostack)) };
}

/// Stays where it is, for ever or until somebody leads it on.
#[inline(always)]
pub fn stay() {
    // SAFETY: a jump to itself.
    unsafe { asm!("b .", options(nomem, nostack)) };
}

/// The bytes of that instruction.
pub const STAY: [u8; 4] = 0x1400_0000_u32.to_le_bytes();

/// A breakpoint.
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: raises an exception, whose handler changes nothing.
    unsafe { asm!("brk #1", options(nostack)) };
}

/// Divides. The processor knows no exception for it, so Rust looks first, and panics.
#[inline(always)]
pub fn divide(dividend: u64, divisor: u64) -> u64 {
    dividend / divisor
}

/// An access that must be aligned. Ordinary ones need not.
///
/// # Safety
/// The address is misaligned.
#[inline(always)]
pub unsafe fn aligned(address: u64) {
    // SAFETY: see above.
    unsafe { asm!("ldaxr {}, [{}]", out(reg) _, in(reg) address, options(nostack, readonly)) };
}

/// An address in neither half of the address space: bits 63 to 48 are not all the same.
pub const NOT_CANONICAL: u64 = 0x1234_5678_9abc_def0;
