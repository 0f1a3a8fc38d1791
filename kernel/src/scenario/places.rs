//! Exceptions at instructions where a stack walk is hard, in the functions of `bad/*/bad.s`.

use core::hint::black_box;

use crate::bad;

/// Defines scenarios that call a function of `bad.s`, which fails.
macro_rules! scenarios {
    ($($(#[doc = $about:literal])* $name:ident => $function:ident($argument:expr);)*) => {
        $(
            $(#[doc = $about])*
            #[inline(never)]
            pub fn $name() {
                // SAFETY: the function fails, and nothing that it has damaged is used after that.
                unsafe { bad::$function(black_box($argument)) };
                black_box(());
            }
        )*
    };
}

scenarios! {
    /// At the first instruction of a function.
    first_instruction => bad_first(0);
    /// In a leaf, before its prologue.
    leaf => bad_leaf(0);
    /// In the middle of a prologue.
    prologue => bad_prologue(0);
    /// In an epilogue, after the frame is gone.
    epilogue => bad_epilogue(0);
    /// Right after a tail call.
    tail_call => bad_tail_call(0);
    /// In a function that was called by another's last instruction.
    last_call => bad_last_call(0);
    /// In a function with a frame of variable size.
    variable_frame => bad_variable_frame(1024);
    /// Below assembly with rules for unwinders.
    asm_with_rules => with_rules(fail);
    /// Below assembly without rules, which keeps a frame pointer.
    asm_without_rules => without_rules(fail);
    /// The return address was overwritten by an address without code.
    damaged_return_address => bad_return_address(0x4141_4141_4141_4141);
    /// The frame pointer was overwritten.
    damaged_frame_pointer => bad_frame_pointer(0x4242_4242_4242_4240);
    /// The stack pointer is in no stack.
    stray_stack_pointer => bad_stack_pointer(0x4343_4340);
}

/// In a function whose variables are aligned more than its stack is.
#[inline(never)]
pub fn realigned_frame() {
    #[repr(align(256))]
    struct Aligned(u64);
    let mut variable = Aligned(0);
    black_box(&mut variable.0);
    bad::undefined();
    black_box(&mut variable.0);
}

/// Below assembly without rules whose code alone does not tell where its frame is.
#[inline(never)]
pub fn asm_beyond_proof() {
    let mut stack = 0;
    let stack = black_box(&raw mut stack);
    // SAFETY: both pointers are to a local variable, which nothing else uses.
    unsafe { bad::stack_from_memory(fail, stack, stack) };
    black_box(());
}

/// Called by assembly.
extern "C" fn fail() {
    bad::undefined();
}
