// Reads the word at r0. Returns 1 in r1, or 0 if the load raised an exception: the handler returns to postmortem_read_failed
// then.
.arm
.section .text.postmortem_read, "ax", %progbits
.balign 4
.global postmortem_read
.global postmortem_read_failed
.type postmortem_read, %function
postmortem_read:
    .fnstart
    ldr r0, [r0]
    mov r1, #1
    bx lr
postmortem_read_failed:
    mov r1, #0
    bx lr
    .fnend
.size postmortem_read, . - postmortem_read
