// Calls the function at x1 with x0, on the empty stack that ends at x2. x29 keeps the caller's stack pointer.
.section .text.postmortem_call_on_stack, "ax", %progbits
.global postmortem_call_on_stack
.type postmortem_call_on_stack, %function
postmortem_call_on_stack:
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov sp, x2
    blr x1
    mov sp, x29
    .cfi_def_cfa_register sp
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size postmortem_call_on_stack, . - postmortem_call_on_stack
