//! Instructions and functions that fail, for scenarios. Each folder has files of the same names, with the same public names.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(target_arch = "arm")]
mod arm;
#[cfg(target_arch = "arm")]
pub use arm::*;

#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
mod arms;
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
pub use arms::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

// Defined in `bad.s` of the architecture.
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

// The same, for scenarios of which only somebody outside tells.
unsafe extern "C" {
    /// Sets its stack pointer to the address, and loops.
    pub fn stay_stack_pointer(address: u64);
    /// Returns to the address, not to its caller.
    pub fn stray_return(to: u64);
    /// Overwrites its frame with zeros, and what is above it, and loops.
    pub fn lie_overwritten();
}

// Defined in `lies.s` of the architecture.
unsafe extern "C" {
    fn lie_early_save();
    fn lie_early_frame();
    fn lie_push();
    fn lie_push_constant();
    fn lie_call();
    fn lie_epilogue();
    #[cfg(target_arch = "x86_64")]
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
    #[cfg(target_arch = "x86_64")]
    lie_far_return,
    lie_late_prologue,
    lie_beyond_proof,
    lie_register,
];
