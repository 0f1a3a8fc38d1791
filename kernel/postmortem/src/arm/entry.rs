//! Trap code: the code that the CPU enters at an exception or interrupt. Manual: B1.8 "Exception handling".
//!
//! Until the trap frame contains the registers that a walk reads, there is no row: the interrupted stack pointer may belong to another mode,
//! which no row can express, and FIQs are masked from the first instruction on. From there to the last instruction but one, each
//! instruction has a row, and an entry of the exception tables describes the locations of all sixteen registers at calls.

use core::cell::UnsafeCell;

use super::SCRATCH;

/// Defines the eight vectors of exceptions and interrupts, the table `exception_vectors`, for a kernel in supervisor or system mode.
///
/// Each vector saves a [`TrapFrame`](crate::arm::TrapFrame) on the stack of supervisor mode and calls `handler`, an `extern "C" fn(&mut
/// TrapFrame)`, in supervisor mode. When the handler returns, the interrupted code continues.
///
/// In a kernel in supervisor mode, the frame is on the stack of the interrupted code; a kernel in system mode has a stack for exceptions.
/// If the MMU shows that this stack has no space, the frame is written to an overflow stack, from which no handler can return.
///
/// `overflow_stack` are instructions that load into `r1` the end address of the CPU's overflow stack, which has
/// [`OVERFLOW_STACK`](crate::arm::OVERFLOW_STACK) bytes. They must use only `r1` and `r2`, and no stack. Operands of these instructions
/// follow at the end, as in [`global_asm!`](core::arch::global_asm).
///
/// Before it has checked the stack, trap code keeps three registers in memory that each CPU provides: see
/// [`Scratch::load`](crate::arm::Scratch::load).
///
/// The frame has no floating-point or SIMD registers. Therefore the kernel must be compiled without them, as for the target
/// `armv7a-none-eabi`.
///
/// The code overwrites `PAR` and `TPIDRURO`. An `svc` in supervisor mode overwrites its link register, as on every ARM processor.
///
/// Assembly may jump to `trap_return_above`, with interrupts masked and a frame at `sp` whose field `above` is the interrupted stack
/// pointer. That code restores all registers from the frame, and continues at the frame's `pc`, on this stack.
#[macro_export]
macro_rules! exception_entries {
    ($handler:path, overflow_stack: $overflow_stack:literal $(, $($operands:tt)*)?) => {
        ::core::arch::global_asm!(
            $crate::exception_entries_text!($overflow_stack),
            handler = sym $handler,
            overflow_shift = const $crate::arm::OVERFLOW_STACK.ilog2(),
            $($($operands)*)?
        );
    };
}

/// The text of [`exception_entries!`].
#[doc(hidden)]
#[macro_export]
macro_rules! exception_entries_text {
    ($overflow_stack:literal) => {
        concat!(
            r#"
.arm
.cfi_sections .debug_frame
.section .text.exception_vectors, "ax", %progbits
.balign 32
.global exception_vectors
.type exception_vectors, %function
exception_vectors:
    // Without an entry of its own, the exception tables would count this code to the previous function.
    .fnstart
    .cantunwind
.irp number, 0, 1, 2, 3, 4, 5, 6, 7
    b exception_\number
.endr
    .fnend
.size exception_vectors, . - exception_vectors

// sp points to the scratch words of this mode; r0 is the vector; r0, the program counter and the state are there already.
.macro postmortem_enter number:req
    mov r0, #\number
    str r0, [sp, #12]
    mov r0, sp
    cps #0x13
    b exception_save
.endm

// The trap frame is at sp; its return address is the interrupted program counter.
.macro postmortem_frame_is_at_sp
    .cfi_def_cfa sp, 96
    .cfi_offset sp, 52 - 96
    .cfi_offset lr, 60 - 96
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
    .cfi_offset r\number, 4 * \number - 96
    .endr
.endm

// lr is `behind` bytes after the interrupted program counter.
.macro postmortem_vector number:req, behind:req
.type exception_\number, %function
exception_\number:
    .fnstart
    .cantunwind
    cpsid f
    sub lr, lr, #\behind
    stmia sp, {{r0, lr}}
    mrs r0, spsr
    str r0, [sp, #8]
    postmortem_enter \number
    .fnend
.size exception_\number, . - exception_\number
.endm

// Code has jumped here. No state is saved, and the fault belongs to the current mode.
.macro postmortem_unused number:req
.type exception_\number, %function
exception_\number:
    .fnstart
    .cantunwind
    udf #\number
    .fnend
.size exception_\number, . - exception_\number
.endm

postmortem_unused 0

.type exception_1, %function
exception_1:
    .fnstart
    .cantunwind
    cpsid f
    stmia sp, {{r0, lr}}
    mrs r0, spsr
    str r0, [sp, #8]
    tst r0, #0x20
    subeq r0, lr, #4
    subne r0, lr, #2
    str r0, [sp, #4]
    postmortem_enter 1
    .fnend
.size exception_1, . - exception_1

// The stack of this mode may have no space, so the code uses the scratch words for undefined instructions.
.type exception_2, %function
exception_2:
    .fnstart
    .cantunwind
    cpsid f
    mcr p15, 0, r0, c13, c0, 3
    mrs r0, spsr
    cps #0x1b
    str r0, [sp, #8]
    cps #0x13
    mov r0, lr
    cps #0x1b
    str r0, [sp, #4]
    mrc p15, 0, r0, c13, c0, 3
    str r0, [sp]
    postmortem_enter 2
    .fnend
.size exception_2, . - exception_2

postmortem_vector 3, 4
postmortem_vector 4, 8
postmortem_unused 5
postmortem_vector 6, 4
postmortem_vector 7, 4

// r0 points to the scratch words: r0, program counter, state and vector, then space for r1 and r2. Saves all that a walk reads of
// the frame, and goes to trap_entry with the frame at sp.
.type exception_save, %function
exception_save:
    .fnstart
    .cantunwind
    str r1, [r0, #16]
    str r2, [r0, #20]
    sub r1, sp, #96
    bic r1, r1, #7
    // Can its first word be written, and the last one?
    mcr p15, 0, r1, c7, c8, 1
    isb
    mrc p15, 0, r2, c7, c4, 0
    tst r2, #1
    bne 3f
    add r2, r1, #92
    mcr p15, 0, r2, c7, c8, 1
    isb
    mrc p15, 0, r2, c7, c4, 0
    tst r2, #1
    bne 3f
1:  str sp, [r1, #84]
    ldr r2, [r0, #8]
    str r2, [r1, #64]
    and r2, r2, #0x1f
    cmp r2, #0x13
    streq sp, [r1, #52]
    streq lr, [r1, #56]
    addne r2, r1, #52
    stmiane r2, {{sp, lr}}^
    nop
    ldr r2, [r0, #4]
    str r2, [r1, #60]
    add r2, r1, #12
    stmia r2, {{r3-r12}}
    mov sp, r1
    b trap_entry
    // There is no space, or the stack pointer is wrong. If the overflow stack itself was interrupted, the frame goes below what is in
    // use there.
3:  ldr r2, [r0, #12]
    orr r2, r2, #16
    str r2, [r0, #12]
"#,
            $overflow_stack,
            r#"
    sub r2, r1, sp
    lsrs r2, r2, #{overflow_shift}
    moveq r1, sp
    sub r1, r1, #96
    bic r1, r1, #7
    b 1b
    .fnend
.size exception_save, . - exception_save

// The frame is at sp, and lacks r0 to r2, which are in the scratch words still, to which r0 points, and why it was entered.
.type trap_entry, %function
trap_entry:
    .fnstart
    // At the call below: r0 to r3 are popped, then r4 to r15.
    .unwind_raw 96, 0xb1, 0x0f, 0x8f, 0xff
    .cfi_startproc simple
    .cfi_signal_frame
    postmortem_frame_is_at_sp
    ldmia r0, {{r1-r6}}
    stmia sp, {{r1, r5, r6}}
    str r4, [sp, #68]
    mov r6, #0
    mov r7, #0
    and r5, r4, #15
    cmp r5, #3
    mrceq p15, 0, r6, c5, c0, 1
    mrceq p15, 0, r7, c6, c0, 2
    cmp r5, #4
    mrceq p15, 0, r6, c5, c0, 0
    mrceq p15, 0, r7, c6, c0, 0
    str r6, [sp, #72]
    str r7, [sp, #76]
    mov r6, #0
    str r6, [sp, #80]
    str r6, [sp, #88]
    str r6, [sp, #92]
    // What was interrupted between a load and a store that belong together begins again.
    clrex
    mov r0, sp
    bl {handler}
    cpsid if
    ldr r0, [sp, #64]
    and r0, r0, #0x1f
    cmp r0, #0x13
    beq trap_return_above
    add r0, sp, #52
    ldmia r0, {{sp, lr}}^
    nop
    b trap_return_above
    .cfi_endproc
    .fnend
.size trap_entry, . - trap_entry

// The program counter and the state go right below the stack pointer that the interrupted code had here, into words of the frame that
// are not needed any more. The last instruction takes them from there: at it the frame is given up, and there is no row.
.global trap_return_above
.type trap_return_above, %function
trap_return_above:
    .fnstart
    .unwind_raw 96, 0xb1, 0x0f, 0x8f, 0xff
    .cfi_startproc simple
    .cfi_signal_frame
    postmortem_frame_is_at_sp
    ldr r0, [sp, #60]
    ldr r1, [sp, #64]
    ldr r2, [sp, #84]
    stmdb r2!, {{r0, r1}}
    str r2, [sp, #80]
    ldr lr, [sp, #56]
    ldmia sp, {{r0-r12}}
    ldr sp, [sp, #80]
    .cfi_endproc
    .fnend
    .fnstart
    .cantunwind
    rfeia sp!
    .fnend
.size trap_return_above, . - trap_return_above
"#
        )
    };
}

/// Memory for trap code, outside of all stacks: words for a CPU's undefined instructions, aborts, IRQs and FIQs.
///
/// The first words are unused: a stack may end where the memory begins, and a stack pointer there would belong to that stack.
#[derive(Debug)]
pub struct Scratch(UnsafeCell<[[u32; SCRATCH]; 5]>);

// SAFETY: nothing but the trap code of one CPU uses the words.
unsafe impl Sync for Scratch {}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// Creates unused words.
    #[must_use]
    pub const fn new() -> Self {
        Self(UnsafeCell::new([[0; SCRATCH]; 5]))
    }

    /// Makes the trap code of this CPU use the words, by setting the stack pointers of the four exception modes to them.
    ///
    /// # Safety
    /// The caller must guarantee that each CPU has words of its own, which stay mapped at this address, that the CPU is in supervisor or
    /// system mode, and that nothing else uses these stack pointers.
    #[cfg(target_os = "none")]
    pub unsafe fn load(&'static self) {
        let [undefined, abort, irq, fiq] =
            [1, 2, 3, 4].map(|place| self.0.get().cast::<[u32; SCRATCH]>().wrapping_add(place));
        // SAFETY: the code changes the four stack pointers, which nothing else uses, and comes back to the mode that it began in. No
        // interrupt comes meanwhile.
        unsafe {
            core::arch::asm!(
                "mrs r4, cpsr",
                "cpsid if, #0x1b",
                "mov sp, r0",
                "cps #0x17",
                "mov sp, r1",
                "cps #0x12",
                "mov sp, r2",
                "cps #0x11",
                "mov sp, r3",
                "msr cpsr_c, r4",
                in("r0") undefined,
                in("r1") abort,
                in("r2") irq,
                in("r3") fiq,
                out("r4") _,
                options(nostack, preserves_flags)
            );
        }
    }
}
