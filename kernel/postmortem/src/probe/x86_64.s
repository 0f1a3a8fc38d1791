# Reads the word at rdi. Returns 1 in rdx, or 0 if the load raised an exception: the handler returns to postmortem_read_failed
# then.
.section .text.postmortem_read, "ax", @progbits
.global postmortem_read
.global postmortem_read_failed
.type postmortem_read, @function
postmortem_read:
    .cfi_startproc
    mov rax, [rdi]
    mov edx, 1
    ret
    .cfi_endproc
# Directives of its own: it is entered with the stack of a call, through its address.
postmortem_read_failed:
    .cfi_startproc
    xor edx, edx
    ret
    .cfi_endproc
.size postmortem_read, . - postmortem_read
