// User code, and the way there.

// r0: its pc; r1: its sp. The kernel runs in system mode, whose stack pointer is that of user mode, and what it has there is given up.
// Supervisor mode's is at the base of its stack.
.arm
.section .text.enter_user, "ax", %progbits
.balign 4
.global enter_user
.type enter_user, %function
enter_user:
    .fnstart
    .cantunwind
    cpsid aif
    mov sp, r1
    cps #0x13
    mov r2, #0x10
    msr spsr_cxsf, r2
    movs pc, r0
    .fnend
.size enter_user, . - enter_user

// A page of constants for the kernel, which never runs it: it is mapped at another address, for user code.
.section .rodata.user_program, "a", %progbits
.balign 4096
.global user_program
user_program:
.global user_call
user_call:
    svc #0
    b user_call
.global user_read
user_read:
    mov r0, #0
    ldr r0, [r0]
    b user_loop
.global user_loop
user_loop:
    nop
    b user_loop
.balign 4096
