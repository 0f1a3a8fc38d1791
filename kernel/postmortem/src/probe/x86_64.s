# Reads the word at rdi. rdx says whether there was one: when the load raises an exception, its handler goes on at
# postmortem_read_failed.
.section .text.postmortem_read, "ax", @progbits
.global postmortem_read
.global postmortem_read_failed
.type postmortem_read, @function
postmortem_read:
    .cfi_startproc
    mov rax, [rdi]
    mov edx, 1
    ret
postmortem_read_failed:
    xor edx, edx
    ret
    .cfi_endproc
.size postmortem_read, . - postmortem_read
