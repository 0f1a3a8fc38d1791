# Calls the function at rsi with rdi, on the empty stack that ends at rdx. rbp keeps the caller's stack pointer.

.section .text.call_on_stack, "ax", @progbits
.global call_on_stack
.type call_on_stack, @function
call_on_stack:
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
.size call_on_stack, . - call_on_stack
