// The vector table (D1.3.1 "Exception vectors": four groups of four, 128 bytes each) and the one way all of them go.
// What they save on SP_EL1 is the TrapFrame of `postmortem`: 304 bytes.
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
    // An exception interrupted another one. Is there room on a stack of exceptions? Bit 15 of the stack pointer is set in
    // their words and clear in their guard pages, and all of them are one array. Until it is known that memory can be written,
    // x0 and x1 are kept in the two registers for pointers of threads at EL0: there are none.
    interrupted_is_in_sp
    sub sp, sp, #304
    .cfi_def_cfa_offset 304
    msr tpidrro_el0, x0
    msr tpidr_el0, x1
    mov x0, sp
    tbz x0, #15, exception_overflow_\number
    adrp x1, {stacks}
    sub x0, x0, x1
    lsr x0, x0, #{stacks_shift}
    cbnz x0, exception_overflow_\number
    mrs x0, tpidrro_el0
    mrs x1, tpidr_el0
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
    mrs x0, tpidr_el1                   // this processor's Cpu: percpu.rs
    ldr x0, [x0, #8]
    mov x1, sp
    sub x1, x0, x1
    lsr x1, x1, #15
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
    // to the overflow stack from another one, so nothing returns there: trap.rs. There is a way out for each of the two,
    // because the rules behind them differ.
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

// Where an interrupted task goes on instead, when its turn is over: on its own stack, to which frame.rs has moved the frame.
// The interrupt itself is done.
.type trap_preempted, %function
.global trap_preempted
trap_preempted:
    .cfi_startproc simple
    .cfi_signal_frame
    frame_is_at_sp
    bl {preempted}
    // So that nothing overwrites the registers that the way back needs.
    msr daifset, #15
    b trap_return_above
    .cfi_endproc
.size trap_preempted, . - trap_preempted

// The way back to what was interrupted on this stack, right above the frame.
.type trap_return_above, %function
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
