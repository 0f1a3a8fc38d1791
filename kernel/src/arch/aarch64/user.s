// User code, and the way there.

// x0: its pc; x1: its sp. The kernel runs on SP_EL0, and what it has there is given up. SP_EL1 is at the base of its stack.
.section .text.enter_user, "ax", %progbits
.global enter_user
.type enter_user, %function
enter_user:
    .cfi_startproc
    msr daifset, #15
    msr elr_el1, x0
    msr spsr_el1, xzr
    mov sp, x1
    eret
    .cfi_endproc
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
    mov x0, #0
    ldr x0, [x0]
    b user_loop
.global user_loop
user_loop:
    yield
    b user_loop
.balign 4096
