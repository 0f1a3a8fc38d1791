// Functions that fail at a place of interest, for scenarios.

.macro function name:req
.section .text.\name, "ax", %progbits
.global \name
.type \name, %function
\name:
    .cfi_startproc
.endm

.macro finish name:req
    .cfi_endproc
.size \name, . - \name
.endm

.macro push_frame
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
.endm

.macro pop_frame
    ldp x29, x30, [sp], #16
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
.endm

function bad_jump
    br x0
finish bad_jump

function bad_first
    udf #0
    ret
finish bad_first

function bad_leaf
    mov x1, x0
    udf #0
    push_frame
    mov x29, sp
    pop_frame
    ret
finish bad_leaf

function bad_prologue
    sub sp, sp, #32
    .cfi_def_cfa_offset 32
    udf #0
    stp x29, x30, [sp, #16]
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    ldp x29, x30, [sp, #16]
    add sp, sp, #32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
finish bad_prologue

function bad_epilogue
    push_frame
    mov x29, sp
    .cfi_def_cfa_register x29
    pop_frame
    udf #0
    ret
finish bad_epilogue

function bad_tail_call
    sub sp, sp, #16
    .cfi_def_cfa_offset 16
    mov x1, x0
    add sp, sp, #16
    .cfi_def_cfa_offset 0
    b bad_first
finish bad_tail_call

function bad_last_call
    push_frame
    bl bad_first
finish bad_last_call
// Right behind, with other rules.
.type bad_next, %function
bad_next:
    .cfi_startproc
    ret
finish bad_next

function bad_variable_frame
    push_frame
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, x0
    bl bad_first
    mov sp, x29
    pop_frame
    ret
finish bad_variable_frame

function bad_return_address
    push_frame
    str x0, [sp, #8]
    bl bad_first
    pop_frame
    ret
finish bad_return_address

function bad_frame_pointer
    push_frame
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x29, x0
    bl bad_first
    pop_frame
    ret
finish bad_frame_pointer

function bad_stack_pointer
    push_frame
    mov x29, sp
    .cfi_def_cfa_register x29
    mov sp, x0
    udf #0
    mov sp, x29
    pop_frame
    ret
finish bad_stack_pointer

// Goes round and round until the word is not zero.
function bad_loop
    ldr w1, [x0]
    cbz w1, bad_loop
    ret
finish bad_loop

function with_rules
    push_frame
    blr x0
    pop_frame
    ret
finish with_rules

.section .text.without_rules, "ax", %progbits
.global without_rules
.type without_rules, %function
without_rules:
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    blr x0
    ldp x29, x30, [sp], #16
    ret
.size without_rules, . - without_rules
