# Functions that fail at a place of interest, for scenarios.

.macro function name:req
.section .text.\name, "ax", @progbits
.global \name
.type \name, @function
\name:
    .cfi_startproc
.endm

.macro finish name:req
    .cfi_endproc
.size \name, . - \name
.endm

.macro push_frame
    push rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
.endm

.macro pop_frame
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
.endm

function bad_jump
    jmp rdi
finish bad_jump

function bad_first
    ud2
    ret
finish bad_first

function bad_leaf
    mov rax, rdi
    ud2
    push_frame
    mov rbp, rsp
    pop_frame
    ret
finish bad_leaf

function bad_prologue
    push_frame
    ud2
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    pop_frame
    ret
finish bad_prologue

function bad_epilogue
    push_frame
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    pop_frame
    ud2
    ret
finish bad_epilogue

function bad_tail_call
    sub rsp, 24
    .cfi_adjust_cfa_offset 24
    mov rax, rdi
    add rsp, 24
    .cfi_adjust_cfa_offset -24
    jmp bad_first
finish bad_tail_call

function bad_last_call
    sub rsp, 24
    .cfi_adjust_cfa_offset 24
    call bad_first
finish bad_last_call
# Right behind, with other rules.
.type bad_next, @function
bad_next:
    .cfi_startproc
    ret
finish bad_next

function bad_variable_frame
    push_frame
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, rdi
    call bad_first
    mov rsp, rbp
    pop_frame
    ret
finish bad_variable_frame

function bad_return_address
    mov [rsp], rdi
    sub rsp, 8
    .cfi_adjust_cfa_offset 8
    call bad_first
    add rsp, 8
    .cfi_adjust_cfa_offset -8
    ret
finish bad_return_address

function bad_frame_pointer
    push_frame
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov rbp, rdi
    call bad_first
    pop_frame
    ret
finish bad_frame_pointer

function bad_stack_pointer
    push_frame
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov rsp, rdi
    ud2
    mov rsp, rbp
    pop_frame
    ret
finish bad_stack_pointer

# Goes round and round until the word is not zero.
function bad_loop
    cmp dword ptr [rdi], 0
    je bad_loop
    ret
finish bad_loop

function with_rules
    sub rsp, 8
    .cfi_adjust_cfa_offset 8
    call rdi
    add rsp, 8
    .cfi_adjust_cfa_offset -8
    ret
finish with_rules

.section .text.without_rules, "ax", @progbits
.global without_rules
.type without_rules, @function
without_rules:
    push rbp
    mov rbp, rsp
    call rdi
    pop rbp
    ret
.size without_rules, . - without_rules
