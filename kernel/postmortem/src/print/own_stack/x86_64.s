# Calls the function at rsi with rdi, on the empty stack that ends at rdx. rbp keeps the caller's stack pointer.
.section .text.postmortem_call_on_stack, "ax", @progbits
.global postmortem_call_on_stack
.type postmortem_call_on_stack, @function
postmortem_call_on_stack:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov rsp, rdx
    call rsi
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
.size postmortem_call_on_stack, . - postmortem_call_on_stack
