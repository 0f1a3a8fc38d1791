// Functions for scenarios, which fail or wait where a stack walk is hard.

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

// What a function does at the instruction of interest: it fails, or it loops there.
.macro fail
    udf #0
.endm

.macro stay
    b .
.endm

.macro places prefix:req, place:req
function \prefix\()_first
    \place
    ret
finish \prefix\()_first

function \prefix\()_leaf
    mov x1, x0
    \place
    push_frame
    mov x29, sp
    pop_frame
    ret
finish \prefix\()_leaf

function \prefix\()_prologue
    sub sp, sp, #32
    .cfi_def_cfa_offset 32
    \place
    stp x29, x30, [sp, #16]
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    ldp x29, x30, [sp, #16]
    add sp, sp, #32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
finish \prefix\()_prologue

function \prefix\()_epilogue
    push_frame
    mov x29, sp
    .cfi_def_cfa_register x29
    pop_frame
    \place
    ret
finish \prefix\()_epilogue

function \prefix\()_tail_call
    sub sp, sp, #16
    .cfi_def_cfa_offset 16
    mov x1, x0
    add sp, sp, #16
    .cfi_def_cfa_offset 0
    b \prefix\()_first
finish \prefix\()_tail_call

function \prefix\()_last_call
    push_frame
    bl \prefix\()_first
finish \prefix\()_last_call
// The next function, right after the call, with other unwind rules.
.type \prefix\()_next, %function
\prefix\()_next:
    .cfi_startproc
    ret
finish \prefix\()_next

function \prefix\()_variable_frame
    push_frame
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, x0
    bl \prefix\()_first
    mov sp, x29
    pop_frame
    ret
finish \prefix\()_variable_frame
.endm

places bad, fail
places stay, stay

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

// Sets its stack pointer to the address, and stays.
function stay_stack_pointer
    push_frame
    mov x29, sp
    .cfi_def_cfa_register x29
    mov sp, x0
    stay
    mov sp, x29
    pop_frame
    ret
finish stay_stack_pointer

// Returns to the address instead of to its caller.
function stray_return
    mov x30, x0
    ret
finish stray_return

// Overwrites its frame, and its caller's if that is small, with zeros, and stays.
function lie_overwritten
    push_frame
    stp xzr, xzr, [sp]
    stp xzr, xzr, [sp, #16]
    stp xzr, xzr, [sp, #32]
    stp xzr, xzr, [sp, #48]
    mov x30, xzr
    stay
    pop_frame
    ret
finish lie_overwritten

// Loops until the first word is not zero, and sets the second one.
function bad_loop
    mov w2, #1
    str w2, [x1]
    ldr w2, [x0]
    cbz w2, bad_loop
    ret
finish bad_loop

// Has a frame, because gdb does not find the caller of a leaf function that an exception has interrupted.
function bad_busy
    push_frame
1:  mov w1, #1
    str w1, [x0]
    ldr w1, [x0, #4]
    cbz w1, 1b
    pop_frame
    ret
finish bad_busy

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

// The caller passes the same address in x1 and x2, which the code alone does not tell.
.section .text.stack_from_memory, "ax", %progbits
.global stack_from_memory
.type stack_from_memory, %function
stack_from_memory:
    stp x29, x30, [sp, #-16]!
    mov x9, sp
    str x9, [x1]
    ldr x29, [x2]
    ldr x9, [x2]
    mov sp, x9
    blr x0
    ldp x29, x30, [sp], #16
    ret
.size stack_from_memory, . - stack_from_memory
