//! Trap code: the code that the CPU enters at an exception or interrupt, with unwind rules for every instruction. Manual: D1.3
//! "Exceptions".
//!
//! Before anything is written, the MMU shows whether the stack has space. A comparison with a range of addresses, and a test of a bit of
//! the stack pointer, were rejected: a kernel with a stack for each task would have to keep the range up to date, or to give all stacks the
//! same size and alignment.

/// Defines the 16 vectors of exceptions and interrupts, the table `exception_vectors`, for a kernel at EL1.
///
/// Each vector saves a [`TrapFrame`](crate::aarch64::TrapFrame) and calls `handler`, an `extern "C" fn(&mut TrapFrame)`. When the handler
/// returns, the interrupted code continues. A handler that has unmasked exceptions, which overwrite `ELR_EL1`, must mask them before it
/// returns.
///
/// The frame is written to the stack of `sp`: the stack of the interrupted code or, in a kernel that runs on `SP_EL0`, a stack for
/// exceptions. If that stack has no space, the frame is written to an overflow stack, from which no handler can return; see
/// [`TrapFrame::is_on_overflow_stack`](crate::aarch64::TrapFrame::is_on_overflow_stack).
///
/// `overflow_stack` are instructions that load into `x0` the end address of the CPU's overflow stack, which has
/// [`OVERFLOW_STACK`](crate::aarch64::OVERFLOW_STACK) bytes. They must use no other register and no stack.
///
/// `room` is optional: instructions that check whether the stack has space. They begin with the address of the frame in `x0`, and end with
/// zero in `x0` if the frame can be written there. They must keep all other registers. At most 22 instructions fit into a vector; more do
/// not assemble: `invalid .org offset`. Without `room`, the MMU is queried; then a lost stack pointer that happens to contain the address
/// of writable memory is used as it is. Operands of these instructions follow at the end, as in [`global_asm!`](core::arch::global_asm).
///
/// The frame has no floating-point or SIMD registers. Therefore the kernel must be compiled without them, as for the target
/// `aarch64-unknown-none-softfloat`, or its handler must save them.
///
/// The code overwrites `TPIDRRO_EL0` and `PAR_EL1`, and on the path to the overflow stack `TPIDR_EL0`. It does not save `SP_EL0`: a kernel
/// with threads at EL0 switches `SP_EL0` with the threads.
///
/// Assembly may jump to `trap_return_above`, with all exceptions masked and a frame at `sp`. That code restores all registers from the
/// frame, removes the frame, and continues at the frame's `elr`, on this stack. With it, a task can continue later on a stack to which a
/// handler has copied the task's frame.
///
/// ```no_run
/// # #[cfg(all(target_arch = "aarch64", target_os = "none"))]
/// postmortem::exception_entries!(exception, overflow_stack: "ldr x0, =0x40080000");
///
/// extern "C" fn exception(frame: &mut postmortem::TrapFrame) {
///     if postmortem::probe::recover(frame) {
///         return;
///     }
///     // Interrupts, and exceptions that the kernel can handle; for all others `POSTMORTEM.fault(frame)`.
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
            // Whether the first word is aligned, and whether the first and the last word can be written.
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

/// Defines vectors and overflow stacks for a kernel without exception handlers: `exceptions!(TABLES, POSTMORTEM)` defines the
/// `aarch64::Tables` `TABLES`, and vectors that call `Postmortem::exception` of `POSTMORTEM`. A third argument is the
/// number of CPUs; the default is one.
///
/// The kernel must be at EL1, have no interrupts, and not use `TPIDR_EL1`. Each CPU calls `TABLES.load(cpu)` at its start.
///
/// With several CPUs, the other CPUs continue while a CPU reports: these vectors treat every interrupt as an exception that ends the
/// kernel, so no interrupt can stop a CPU. A kernel that must stop them has interrupts, and uses
/// [`exception_entries!`](crate::exception_entries): [`Platform::send_nmi`](crate::Platform::send_nmi) sends an interrupt, whose handler
/// calls [`Postmortem::nmi`](crate::Postmortem::nmi).
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
            /// The vectors of `exception_entries!`; has no value, only an address.
            static exception_vectors: u8;
        }

        static $tables: $crate::aarch64::Tables<$cpus> =
            $crate::aarch64::Tables::new(&raw const exception_vectors);
    };
}

/// The text of [`exception_entries!`].
///
/// Its macros are known to all assembly of the crate that uses it, so they have names that other assembly hardly uses.
#[doc(hidden)]
#[macro_export]
macro_rules! exception_entries_text {
    ($overflow_stack:literal, $room:literal) => {
        concat!(
            r#"
// The vector table (D1.3.1 "Exception vectors": four groups of four, 128 bytes each) and the code that all of them share. They
// save a TrapFrame, 304 bytes.
//
// The unwind rules describe, for every instruction, where the interrupted program counter and stack pointer are: at first in
// ELR_EL1, and in SP_EL0 or SP_EL1. A walk takes the registers that TrapFrame::SAVED names from themselves while the program
// counter is in ELR_EL1, and from the frame while it is there. So the rule for the program counter changes after all of them
// are saved. An exception in these instructions, which none should raise, overwrites ELR_EL1; then a walk reports that it is
// lost.

// The interrupted stack pointer is in SP_EL0. The CFA counts from sp, because gdb does not know SP_EL0.
.macro postmortem_interrupted_is_in_sp_el0
    .cfi_def_cfa sp, 0
    .cfi_register sp, {sp_el0}
    .cfi_register x30, {elr}
.endm

// The interrupted stack pointer is the stack pointer of the trap code.
.macro postmortem_interrupted_is_in_sp
    .cfi_def_cfa sp, 0
    .cfi_register x30, {elr}
.endm

// The whole trap frame is at sp; its return address is the interrupted program counter.
.macro postmortem_frame_is_at_sp
    .cfi_def_cfa sp, 304
    .cfi_offset sp, 248 - 304
    .cfi_offset x30, 256 - 304
    .cfi_offset x29, 232 - 304
.endm

// The trap frame is restored.
.macro postmortem_frame_is_gone
    .cfi_restore sp
    .cfi_restore x30
    .cfi_restore x29
.endm

.macro postmortem_vector number:req
.type exception_\number, %function
exception_\number:
    .cfi_startproc simple
    .cfi_signal_frame
    .if (\number & 12) == 4
    // Is there space for the frame? Until that is known nothing is written to memory, so x0 is kept in TPIDRRO_EL0, which EL0
    // cannot write.
    postmortem_interrupted_is_in_sp
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
    postmortem_interrupted_is_in_sp_el0
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
// To the end of the vector; an error if its code is longer.
.org exception_\number + 128
.endm

.section .text.exception_vectors, "ax", %progbits
.balign 2048
.global exception_vectors
exception_vectors:
.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    postmortem_vector \number
.endr

// There is no space, or the stack pointer is wrong: the frame is written to the overflow stack. If the overflow stack itself was
// interrupted, the frame goes below what is in use there. SP_EL0 contains the interrupted sp between the change of sp and the store to the
// frame, so that an unwind rule can always find it. The value of SP_EL0 is in the place of x2 meanwhile.
.macro postmortem_overflow number:req
.type exception_overflow_\number, %function
exception_overflow_\number:
    .cfi_startproc simple
    .cfi_signal_frame
    postmortem_interrupted_is_in_sp
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
1:  mrs x1, sp_el0
    str x1, [x0, #16]
    add x1, sp, #304
    msr sp_el0, x1
    mov sp, x0
    .cfi_register sp, {sp_el0}
    str x1, [sp, #248]
    .cfi_offset sp, 248 - 304
    ldr x1, [sp, #16]
    msr sp_el0, x1
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
    postmortem_overflow \number
.endr

// Restores all interrupted registers but sp from the frame at sp.
.macro postmortem_restore_interrupted
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

// sp points to the frame, in which x0, x1, x30 and the interrupted stack pointer are saved already; x0 is the vector, plus 16
// on the overflow stack.
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
    postmortem_frame_is_at_sp
    mov x0, sp
    bl {handler}
    // The interrupted stack pointer is in SP_EL0, or is the end of this frame. (On the overflow stack it may be neither, so
    // nothing returns from there.) The two cases have separate returns, because their unwind rules differ.
    ldr x2, [sp, #288]
    and x2, x2, #12
    cmp x2, #4
    b.eq trap_return_above
    postmortem_restore_interrupted
    add sp, sp, #304
    postmortem_frame_is_gone
    postmortem_interrupted_is_in_sp_el0
    eret
    .cfi_endproc
.size trap_entry, . - trap_entry

// The return to code that was interrupted on this stack, right above the frame.
.type trap_return_above, %function
.global trap_return_above
trap_return_above:
    .cfi_startproc simple
    .cfi_signal_frame
    postmortem_frame_is_at_sp
    postmortem_restore_interrupted
    add sp, sp, #304
    postmortem_frame_is_gone
    postmortem_interrupted_is_in_sp
    eret
    .cfi_endproc
.size trap_return_above, . - trap_return_above
"#
        )
    };
}
