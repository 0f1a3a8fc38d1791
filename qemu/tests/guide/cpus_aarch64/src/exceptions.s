// Every exception saves all registers and calls `exception` with them, and whether it is an FIQ.
.macro entry is_fiq
.balign 128
    sub sp, sp, #16 * 17
    stp x0, x1, [sp, #16 * 0]
    stp x2, x3, [sp, #16 * 1]
    mov x0, #\is_fiq
    b save
.endm

.section .text.vectors, "ax"
.balign 2048
.global vectors
vectors:
.rept 4
    entry 0
    entry 0
    entry 1
    entry 0
.endr

save:
    stp x4, x5, [sp, #16 * 2]
    stp x6, x7, [sp, #16 * 3]
    stp x8, x9, [sp, #16 * 4]
    stp x10, x11, [sp, #16 * 5]
    stp x12, x13, [sp, #16 * 6]
    stp x14, x15, [sp, #16 * 7]
    stp x16, x17, [sp, #16 * 8]
    stp x18, x19, [sp, #16 * 9]
    stp x20, x21, [sp, #16 * 10]
    stp x22, x23, [sp, #16 * 11]
    stp x24, x25, [sp, #16 * 12]
    stp x26, x27, [sp, #16 * 13]
    stp x28, x29, [sp, #16 * 14]
    mrs x1, elr_el1
    mrs x2, spsr_el1
    mrs x3, esr_el1
    stp x30, x1, [sp, #16 * 15]
    stp x2, x3, [sp, #16 * 16]
    mov x1, x0
    mov x0, sp
    bl exception
    ldp x30, x1, [sp, #16 * 15]
    msr elr_el1, x1
    ldr x2, [sp, #16 * 16]
    msr spsr_el1, x2
    ldp x4, x5, [sp, #16 * 2]
    ldp x6, x7, [sp, #16 * 3]
    ldp x8, x9, [sp, #16 * 4]
    ldp x10, x11, [sp, #16 * 5]
    ldp x12, x13, [sp, #16 * 6]
    ldp x14, x15, [sp, #16 * 7]
    ldp x16, x17, [sp, #16 * 8]
    ldp x18, x19, [sp, #16 * 9]
    ldp x20, x21, [sp, #16 * 10]
    ldp x22, x23, [sp, #16 * 11]
    ldp x24, x25, [sp, #16 * 12]
    ldp x26, x27, [sp, #16 * 13]
    ldp x28, x29, [sp, #16 * 14]
    ldp x2, x3, [sp, #16 * 1]
    ldp x0, x1, [sp], #16 * 17
    eret
