// The vector table (D1.3.1 "Exception vectors": four groups of four, 128 bytes each) and the one way all of them go.
// TrapFrame in frame.rs is what they save on SP_EL1: 304 bytes. The rules for unwinders begin where the interrupted stack
// pointer and program counter are saved: before, they are in SP_EL0 and ELR_EL1, for which DWARF has no or no usable
// number, and an exception in those few instructions would overwrite the latter.

.macro vector number:req
.balign 128
.type exception_\number, %function
exception_\number:
    .cfi_startproc simple
    .cfi_signal_frame
    sub sp, sp, #304
    .if (\number & 12) == 4
    // An exception interrupted another one. Is there room on a stack of exceptions? Bit 15 of the stack pointer is set in
    // their words and clear in their guard pages, and all of them are one array. sp cannot be tested, so x0 takes its
    // value, by sums, and its own is kept where threads would have theirs: there are none at EL0.
    add sp, sp, x0
    sub x0, sp, x0
    msr tpidr_el0, x0
    sub x0, sp, x0
    msr tpidrro_el0, x0
    mrs x0, tpidr_el0
    tbz x0, #15, exception_overflow_\number
    adrp x0, {stacks}
    mov sp, x0
    mrs x0, tpidr_el0
    sub x0, sp, x0
    neg x0, x0
    lsr x0, x0, #{stacks_shift}
    cbnz x0, exception_overflow_\number
    mrs x0, tpidr_el0
    mov sp, x0
    mrs x0, tpidrro_el0
    .endif
    stp x0, x1, [sp]
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
// exception that was interrupted on the overflow stack itself keeps what is there: its room is as large as theirs.
.macro overflow number:req
.type exception_overflow_\number, %function
exception_overflow_\number:
    .cfi_startproc simple
    .cfi_signal_frame
    mrs x0, tpidr_el1                   // this processor's Cpu: cpus.rs
    ldr x0, [x0, #8]
    mov sp, x0
    mrs x0, tpidr_el0
    sub x0, sp, x0
    lsr x0, x0, #15
    cbz x0, 1f
    mrs x0, tpidr_el1
    ldr x0, [x0, #8]
    sub x0, x0, #304
    b 2f
1:  mrs x0, tpidr_el0
2:  mov sp, x0
    mrs x0, tpidrro_el0
    stp x0, x1, [sp]
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

// What unwinders know of trap code with its frame at sp: the return address is where the exception came.
.macro frame_is_at_sp
    .cfi_def_cfa sp, 304
    .cfi_offset sp, 248 - 304
    .cfi_offset x30, 256 - 304
    .cfi_offset x29, 232 - 304
.endm

// sp is where the frame will be, with x0 and x1 in it; x0 the vector, plus 16 when the stack of exceptions was full.
.type trap_entry, %function
trap_entry:
    .cfi_startproc simple
    .cfi_signal_frame
    stp x2, x3, [sp, #16]
    stp x28, x29, [sp, #224]
    // The interrupted stack pointer: SP_EL0, but SP_EL1 for the group of those that interrupted an exception, as it was
    // before room was made.
    mrs x1, sp_el0
    add x2, sp, #304
    and x3, x0, #12
    cmp x3, #4
    csel x1, x2, x1, eq
    mrs x2, tpidr_el0
    add x2, x2, #304
    tst x0, #16
    csel x1, x2, x1, ne
    mrs x2, elr_el1
    mrs x3, spsr_el1
    stp x30, x1, [sp, #240]
    stp x2, x3, [sp, #256]
    // From here on a frame like any other.
    frame_is_at_sp
    mrs x2, esr_el1
    mrs x3, far_el1
    stp x2, x3, [sp, #272]
    stp x0, xzr, [sp, #288]
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
    mov x0, sp
    bl {handler}
    // The interrupted stack pointer is where it was: SP_EL0 untouched, SP_EL1 above this frame. That is not so of what comes
    // to the overflow stack from another one, so nothing returns there: trap.rs.
    restore_interrupted
    b trap_leave
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
    restore_interrupted
    b trap_leave
    .cfi_endproc
.size trap_preempted, . - trap_preempted

.type trap_leave, %function
trap_leave:
    .cfi_startproc simple
    .cfi_signal_frame
    add sp, sp, #304
    eret
    .cfi_endproc
.size trap_leave, . - trap_leave
