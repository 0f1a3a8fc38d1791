# Functions for scenarios, which fail or wait where a stack walk is hard.

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

# What a function does at the instruction of interest: it fails, or it loops there.
.macro fail
    ud2
.endm

.macro stay
77: jmp 77b
.endm

.macro places prefix:req, place:req
function \prefix\()_first
    \place
    ret
finish \prefix\()_first

function \prefix\()_leaf
    mov rax, rdi
    \place
    push_frame
    mov rbp, rsp
    pop_frame
    ret
finish \prefix\()_leaf

function \prefix\()_prologue
    push_frame
    \place
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    pop_frame
    ret
finish \prefix\()_prologue

function \prefix\()_epilogue
    push_frame
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    pop_frame
    \place
    ret
finish \prefix\()_epilogue

function \prefix\()_tail_call
    sub rsp, 24
    .cfi_adjust_cfa_offset 24
    mov rax, rdi
    add rsp, 24
    .cfi_adjust_cfa_offset -24
    jmp \prefix\()_first
finish \prefix\()_tail_call

function \prefix\()_last_call
    sub rsp, 24
    .cfi_adjust_cfa_offset 24
    call \prefix\()_first
finish \prefix\()_last_call
# The next function, right after the call, with other unwind rules.
.type \prefix\()_next, @function
\prefix\()_next:
    .cfi_startproc
    ret
finish \prefix\()_next

function \prefix\()_variable_frame
    push_frame
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, rdi
    call \prefix\()_first
    mov rsp, rbp
    pop_frame
    ret
finish \prefix\()_variable_frame
.endm

places bad, fail
places stay, stay

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

# Sets its stack pointer to the address, and stays.
function stay_stack_pointer
    push_frame
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    mov rsp, rdi
    stay
    mov rsp, rbp
    pop_frame
    ret
finish stay_stack_pointer

# Returns to the address instead of to its caller.
function stray_return
    mov [rsp], rdi
    ret
finish stray_return

# Overwrites its frame, and its caller's if that is small, with zeros, and stays.
function lie_overwritten
    push_frame
    mov rdi, rsp
    mov ecx, 8
    xor eax, eax
    rep stosq
    stay
    pop_frame
    ret
finish lie_overwritten

# Loops until the first word is not zero, and sets the second one.
function bad_loop
    mov dword ptr [rsi], 1
    cmp dword ptr [rdi], 0
    je bad_loop
    ret
finish bad_loop

function bad_busy
    mov dword ptr [rdi], 1
    cmp dword ptr [rdi + 4], 0
    je bad_busy
    ret
finish bad_busy

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

# The caller passes the same address in rsi and rdx, which the code alone does not tell.
.section .text.stack_from_memory, "ax", @progbits
.global stack_from_memory
.type stack_from_memory, @function
stack_from_memory:
    push rbp
    mov [rsi], rsp
    mov rsp, [rdx]
    mov rbp, [rdx]
    call rdi
    pop rbp
    ret
.size stack_from_memory, . - stack_from_memory
