// Functions for scenarios, which fail where a stack walk is hard.
.arm

.macro function name
.section .text.\name, "ax", %progbits
.global \name
.type \name, %function
\name:
    .fnstart
.endm

.macro finish name
    .fnend
.size \name, . - \name
.endm

function bad_jump
    bx r0
finish bad_jump

// Sets its stack pointer to the address, and fails.
function bad_stack_pointer
    .save {r4, lr}
    push {r4, lr}
    mov sp, r0
    udf #0
    pop {r4, pc}
finish bad_stack_pointer

// Writes 1 to the first word in a loop, as long as the second one is zero.
function bad_busy
    .save {r4, lr}
    push {r4, lr}
1:  mov r1, #1
    str r1, [r0]
    ldr r1, [r0, #4]
    cmp r1, #0
    beq 1b
    pop {r4, pc}
finish bad_busy
