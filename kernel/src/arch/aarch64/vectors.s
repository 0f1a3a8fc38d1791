// The vector table (D1.3.1 "Exception vectors": four groups of four, 128 bytes each) and the one way all of them go.
// TrapFrame in trap.rs is what they save on SP_EL1.

.macro vector number:req
.balign 128
.type exception_\number, %function
exception_\number:
    .cfi_startproc simple
    .cfi_signal_frame
    sub sp, sp, #304
    stp x0, x1, [sp]
    mov x0, #\number
    b trap_entry
    .cfi_endproc
.size exception_\number, . - exception_\number
.endm

// Saved at sp + offset, whatever the CFA is. The bytes: DW_CFA_expression, register, length, DW_OP_breg31, offset as a
// signed LEB128 of two bytes.
.macro saved register:req, low:req, high:req
    .cfi_escape 0x10, \register, 3, 0x8f, \low, \high
.endm

.section .text.exception_vectors, "ax", %progbits
.balign 2048
.global exception_vectors
exception_vectors:
.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vector \number
.endr

.type trap_entry, %function
trap_entry:
    .cfi_startproc simple
    .cfi_signal_frame
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
    // The interrupted stack pointer: SP_EL0, but SP_EL1 for the group of those that interrupted an exception.
    mrs x1, sp_el0
    add x2, sp, #304
    and x3, x0, #12
    cmp x3, #4
    csel x1, x2, x1, eq
    stp x30, x1, [sp, #240]
    mrs x1, elr_el1
    mrs x2, spsr_el1
    stp x1, x2, [sp, #256]
    mrs x1, esr_el1
    mrs x2, far_el1
    stp x1, x2, [sp, #272]
    str x0, [sp, #288]
    // The CFA is the interrupted stack pointer, on whichever stack: DW_CFA_def_cfa_expression, 4 bytes, sp + 248, deref.
    .cfi_escape 0x0f, 4, 0x8f, 0xf8, 0x01, 0x06
    // What unwinders know as the return address is where the exception came.
    saved 30, 0x80, 0x02                // 256
    saved 29, 0xe8, 0x01                // 232
    mov x0, sp
    bl {handler}
    brk #0
    .cfi_endproc
.size trap_entry, . - trap_entry
