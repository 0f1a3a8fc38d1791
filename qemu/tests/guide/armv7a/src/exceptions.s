// Every exception saves all registers on the stack of supervisor mode, and calls `exception` with them.
.arm
.macro entry number, behind
entry_\number:
    sub lr, lr, #\behind
    srsdb sp!, #0x13
    cps #0x13
    push {r0-r12, lr}
    mov r1, #\number
    b save
.endm

.section .text.vectors, "ax", %progbits
.balign 32
.global vectors
vectors:
    b .
    b entry_1
    b entry_2
    b entry_3
    b entry_4
    b .
    b entry_6
    b entry_7

entry 1, 4
entry 2, 4
entry 3, 4
entry 4, 8
entry 6, 4
entry 7, 4

save:
    mov r0, sp
    bl exception
    pop {r0-r12, lr}
    rfeia sp!
