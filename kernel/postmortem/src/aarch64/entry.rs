//! Trap code: what the processor enters when an exception or an interrupt comes, with rules for unwinders at every instruction.
//! Manual: D1.3 "Exceptions".
//!
//! Whether a stack has room is asked of the MMU, before anything is written. A range of addresses to compare with, or a bit of the
//! stack pointer, was rejected: a kernel with a stack for each task would have to keep such a range up to date, or all of its
//! stacks would need one size and alignment.

/// Defines the 16 vectors of exceptions and interrupts, the table `exception_vectors`, for a kernel at EL1. All of them save a
/// [`TrapFrame`](crate::aarch64::TrapFrame) and call `handler`, an `extern "C" fn(&mut TrapFrame)`. When that returns, so does the
/// interrupted code; what may overwrite `ELR_EL1` must be masked then, if the handler has unmasked it.
///
/// The frame is written to the stack that `sp` points to: to that of the code that was interrupted, or, in a kernel that runs on
/// `SP_EL0`, to a stack for exceptions. Is there no room, it is written to an overflow stack, from which nothing returns;
/// [`TrapFrame::is_on_overflow_stack`](crate::aarch64::TrapFrame::is_on_overflow_stack) tells. `overflow_stack` are instructions
/// that put into `x0` where the CPU's overflow stack ends, of
/// [`OVERFLOW_STACK`](crate::aarch64::OVERFLOW_STACK) bytes. They use no other register, and not the stack.
///
/// `room`, if it is there, are instructions of the kernel's own that tell whether there is room: `x0` is the address of
/// the frame when they begin, and when they end it is zero if the frame can be written there. They keep other registers.
/// Without them, the MMU is asked: a stack pointer that is lost, but in memory that can be written, is used as it is.
/// Operands of these instructions follow at the end, as in [`global_asm!`](core::arch::global_asm).
///
/// Overwritten are `TPIDRRO_EL0`, `PAR_EL1`, and on the way to the overflow stack `TPIDR_EL0`. `SP_EL0` is left as it is: a kernel
/// that switches between threads of EL0 switches it too.
///
/// ```no_run
/// # #[cfg(all(target_arch = "aarch64", target_os = "none"))]
/// postmortem::exception_entries!(exception, overflow_stack: "ldr x0, =0x40080000");
///
/// extern "C" fn exception(frame: &mut postmortem::TrapFrame) {
///     # #[cfg(target_arch = "aarch64")]
///     if frame.can_return() && postmortem::probe::recover(frame) {
///         return;
///     }
///     // Interrupts, and what the kernel can do something about; or `POSTMORTEM.fault(frame)`.
/// }
/// ```
#[macro_export]
macro_rules! exception_entries {
    ($handler:path, overflow_stack: $overflow_stack:literal, room: $room:literal $(, $($operands:tt)*)?) => {
        ::core::arch::global_asm!(
            $crate::exception_entries_text!($overflow_stack, $room),
            handler = sym $handler,
            elr = const $crate::aarch64::ELR,
            sp_el0 = const $crate::aarch64::SP_EL0,
            overflow_shift = const $crate::aarch64::OVERFLOW_STACK.ilog2(),
            $($($operands)*)?
        );
    };
    ($handler:path, overflow_stack: $overflow_stack:literal $(, $($operands:tt)*)?) => {
        $crate::exception_entries!(
            $handler,
            overflow_stack: $overflow_stack,
            // Is the first word aligned, can it be written, and can the last one?
            room: "
                tst x0, #15
                at s1e1w, x0
                isb
                mrs x0, par_el1
                tbnz x0, #0, 2f
                add x0, sp, #304 - 8
                at s1e1w, x0
                isb
                mrs x0, par_el1
            2:  and x0, x0, #1
                cinc x0, x0, ne
            ",
            $($($operands)*)?
        );
    };
}

/// Everything that a kernel without handlers needs for exceptions: `exceptions!(TABLES, POSTMORTEM)` defines the
/// `aarch64::Tables` `TABLES` and the vectors, which go to `Postmortem::exception` of `POSTMORTEM`. For a kernel at EL1 that has
/// no interrupts, and does not use `TPIDR_EL1`. With a third argument for so many CPUs.
#[macro_export]
macro_rules! exceptions {
    ($tables:ident, $postmortem:path) => {
        $crate::exceptions!($tables, $postmortem, 1);
    };
    ($tables:ident, $postmortem:path, $cpus:literal) => {
        $crate::exception_entries!(postmortem_exception, overflow_stack: "mrs x0, tpidr_el1");

        extern "C" fn postmortem_exception(frame: &mut $crate::TrapFrame) {
            $postmortem.exception(frame);
        }

        unsafe extern "C" {
            /// Of the entries; only its address counts.
            static exception_vectors: u8;
        }

        static $tables: $crate::aarch64::Tables<$cpus> =
            $crate::aarch64::Tables::new(&raw const exception_vectors);
    };
}

/// The text of [`exception_entries!`].
#[doc(hidden)]
#[macro_export]
macro_rules! exception_entries_text {
    ($overflow_stack:literal, $room:literal) => {
        concat!(
            r#"
// The vector table (D1.3.1 "Exception vectors": four groups of four, 128 bytes each) and the one way all of them go.
// What they save on SP_EL1 is a TrapFrame: 304 bytes.
//
// The rules for unwinders say, for every instruction, where the interrupted program counter and stack pointer are: at first in
// ELR_EL1, and in SP_EL0 or SP_EL1. The registers that TrapFrame::SAVED names are where the program counter is: in their own
// registers while it is in ELR_EL1, in the frame while it is there. So the rule for it changes when all of them are saved.
// An exception in these instructions, which none should raise, overwrites ELR_EL1; then a walk says that it is lost.

// From SP_EL0: the interrupted stack pointer is in it. The frame address is sp for the sake of gdb, which does not know SP_EL0.
.macro interrupted_is_in_sp_el0
    .cfi_def_cfa sp, 0
    .cfi_register sp, {sp_el0}
    .cfi_register x30, {elr}
.endm

// From the stack pointer that the trap code uses itself.
.macro interrupted_is_in_sp
    .cfi_def_cfa sp, 0
    .cfi_register x30, {elr}
.endm

// Trap code with its frame at sp, complete: the return address is where the exception came.
.macro frame_is_at_sp
    .cfi_def_cfa sp, 304
    .cfi_offset sp, 248 - 304
    .cfi_offset x30, 256 - 304
    .cfi_offset x29, 232 - 304
.endm

// It is done with.
.macro frame_is_gone
    .cfi_restore sp
    .cfi_restore x30
    .cfi_restore x29
.endm

.macro vector number:req
.balign 128
.type exception_\number, %function
exception_\number:
    .cfi_startproc simple
    .cfi_signal_frame
    .if (\number & 12) == 4
    // Is there room for the frame? Until it is known that memory can be written, x0 is kept in the register for pointers
    // of threads at EL0 that those cannot write to.
    interrupted_is_in_sp
    sub sp, sp, #304
    .cfi_def_cfa_offset 304
    msr tpidrro_el0, x0
    mov x0, sp
"#,
            $room,
            r#"
    cbnz x0, exception_overflow_\number
    mrs x0, tpidrro_el0
    stp x0, x1, [sp]
    add x0, sp, #304
    .else
    interrupted_is_in_sp_el0
    sub sp, sp, #304
    .cfi_def_cfa_offset 304
    stp x0, x1, [sp]
    mrs x0, sp_el0
    .endif
    stp x30, x0, [sp, #240]
    mov x0, #\number
    b trap_entry
    .cfi_endproc
.size exception_\number, . - exception_\number
.endm

.section .text.exception_vectors, "ax", %progbits
.balign 2048
.global exception_vectors
exception_vectors:
.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vector \number
.endr

// There is no room, or the stack pointer is anywhere: so neither this program counter nor the other is lost by a store. An
// exception that was interrupted on the overflow stack itself keeps what is there: its room is as large as theirs. sp moves
// only after the frame has the interrupted one, so that there is always a rule that leads to it.
.macro overflow number:req
.type exception_overflow_\number, %function
exception_overflow_\number:
    .cfi_startproc simple
    .cfi_signal_frame
    interrupted_is_in_sp
    .cfi_def_cfa_offset 304
    msr tpidr_el0, x1
"#,
            $overflow_stack,
            r#"
    mov x1, sp
    sub x1, x0, x1
    lsr x1, x1, #{overflow_shift}
    sub x0, x0, #304
    cbnz x1, 1f
    mov x0, sp
1:  add x1, sp, #304
    str x1, [x0, #248]
    mov sp, x0
    .cfi_offset sp, 248 - 304
    mrs x0, tpidrro_el0
    mrs x1, tpidr_el0
    stp x0, x1, [sp]
    str x30, [sp, #240]
    mov x0, #\number + 16
    b trap_entry
    .cfi_endproc
.size exception_overflow_\number, . - exception_overflow_\number
.endm

.irp number, 4, 5, 6, 7
    overflow \number
.endr

// All that was interrupted, but sp, from the frame at sp.
.macro restore_interrupted
    ldp x2, x3, [sp, #256]
    msr elr_el1, x2
    msr spsr_el1, x3
    ldp x2, x3, [sp, #16]
    ldp x4, x5, [sp, #32]
    ldp x6, x7, [sp, #48]
    ldp x8, x9, [sp, #64]
    ldp x10, x11, [sp, #80]
    ldp x12, x13, [sp, #96]
    ldp x14, x15, [sp, #112]
    ldp x16, x17, [sp, #128]
    ldp x18, x19, [sp, #144]
    ldp x20, x21, [sp, #160]
    ldp x22, x23, [sp, #176]
    ldp x24, x25, [sp, #192]
    ldp x26, x27, [sp, #208]
    ldp x28, x29, [sp, #224]
    ldr x30, [sp, #240]
    ldp x0, x1, [sp]
.endm

// sp is where the frame will be, with x0, x1, x30 and the interrupted stack pointer in it; x0 is the vector, plus 16 when the
// stack of exceptions was full.
.type trap_entry, %function
trap_entry:
    .cfi_startproc simple
    .cfi_signal_frame
    .cfi_def_cfa sp, 304
    .cfi_offset sp, 248 - 304
    .cfi_register x30, {elr}
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    stp x8, x9, [sp, #64]
    stp x10, x11, [sp, #80]
    stp x12, x13, [sp, #96]
    stp x14, x15, [sp, #112]
    stp x16, x17, [sp, #128]
    stp x18, x19, [sp, #144]
    stp x20, x21, [sp, #160]
    stp x22, x23, [sp, #176]
    stp x24, x25, [sp, #192]
    stp x26, x27, [sp, #208]
    stp x28, x29, [sp, #224]
    mrs x2, elr_el1
    mrs x3, spsr_el1
    stp x2, x3, [sp, #256]
    mrs x2, esr_el1
    mrs x3, far_el1
    stp x2, x3, [sp, #272]
    stp x0, xzr, [sp, #288]
    frame_is_at_sp
    mov x0, sp
    bl {handler}
    // The interrupted stack pointer is where it was: SP_EL0 untouched, SP_EL1 above this frame. That is not so of what comes
    // to the overflow stack from another one, so nothing returns there. There is a way out for each of the two, because the
    // rules behind them differ.
    ldr x2, [sp, #288]
    and x2, x2, #12
    cmp x2, #4
    b.eq trap_return_above
    restore_interrupted
    add sp, sp, #304
    frame_is_gone
    interrupted_is_in_sp_el0
    eret
    .cfi_endproc
.size trap_entry, . - trap_entry

// The way back to what was interrupted on this stack, right above the frame.
.type trap_return_above, %function
.global trap_return_above
trap_return_above:
    .cfi_startproc simple
    .cfi_signal_frame
    frame_is_at_sp
    restore_interrupted
    add sp, sp, #304
    frame_is_gone
    interrupted_is_in_sp
    eret
    .cfi_endproc
.size trap_return_above, . - trap_return_above
"#
        )
    };
}
