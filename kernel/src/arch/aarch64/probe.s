// Reads the word at x0. x1 says whether there was one: when the load raises an exception, its handler goes on at
// probe_failed.
.section .text.probe_read, "ax", %progbits
.global probe_read
.global probe_failed
.type probe_read, %function
probe_read:
    .cfi_startproc
    ldr x0, [x0]
    mov x1, #1
    ret
probe_failed:
    mov x1, #0
    ret
    .cfi_endproc
.size probe_read, . - probe_read
