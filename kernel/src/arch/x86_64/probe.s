# Reads the word at rdi. rdx says whether there was one: when the load raises an exception, its handler goes on at
# probe_failed.
.section .text.probe_read, "ax", @progbits
.global probe_read
.global probe_failed
.type probe_read, @function
probe_read:
    .cfi_startproc
    mov rax, [rdi]
    mov edx, 1
    ret
probe_failed:
    xor edx, edx
    ret
    .cfi_endproc
.size probe_read, . - probe_read
