// Reads the word at x0. x1 says whether there was one: when the load raises an exception, its handler goes on at
// postmortem_read_failed.
.section .text.postmortem_read, "ax", %progbits
.global postmortem_read
.global postmortem_read_failed
.type postmortem_read, %function
postmortem_read:
    .cfi_startproc
    ldr x0, [x0]
    mov x1, #1
    ret
postmortem_read_failed:
    mov x1, #0
    ret
    .cfi_endproc
.size postmortem_read, . - postmortem_read
