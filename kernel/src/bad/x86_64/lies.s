# Functions whose CFI directives contradict their code, each with a breakpoint at an instruction where they do. Compilers emit
# such directives too. The code itself is right: every function returns to its caller.
#
# `int3` reports the address behind itself, so the directives must still be wrong there.

# The rule of a saved register stands before the instruction that saves it.
function lie_early_save
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbx, 0
    int3
    push rbx
    mov rbx, rdi
    pop rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbx
    ret
finish lie_early_save

# The rule of a frame stands before the instruction that makes it.
function lie_early_frame
    .cfi_adjust_cfa_offset 24
    int3
    sub rsp, 24
    mov [rsp + 8], rdi
    add rsp, 24
    .cfi_adjust_cfa_offset -24
    ret
finish lie_early_frame

# Pushed and popped without a directive, as `pushfq; pop rax` is in inline assembly.
function lie_push
    pushfq
    int3
    pop rax
    ret
finish lie_push

# The same with a constant.
function lie_push_constant
    push 7
    int3
    pop rax
    ret
finish lie_push_constant

# A call with a word on the stack that no directive mentions.
function lie_call
    push rdi
    call lie_callee
    pop rdi
    ret
finish lie_call

function lie_callee
    int3
    ret
finish lie_callee

# An epilogue without directives, as in synchronous tables, which are for return addresses only.
function lie_epilogue
    push_frame
    mov rbp, rsp
    mov rax, rbp
    pop rbp
    int3
    ret
finish lie_epilogue

# A far return to its own next instruction, which sets cs. What is on top of the stack looks like a return address.
function lie_far_return
    mov rax, cs
    push rax
    lea rax, [rip + 1f]
    push rax
    int3
    retfq
1:  ret
finish lie_far_return

# The first directives come one instruction late.
function lie_late_prologue
    push rbp
    int3
    nop
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    mov rbp, rsp
    pop_frame
    ret
finish lie_late_prologue

# The directives are wrong after the first push, so they prove nothing; and once rsp has moved by a number from memory, the code
# alone does not tell where the return address is. At the place that the last directive gives, there is a return address of
# another call.
function lie_beyond_proof
    push rbx
    sub rsp, [rip + lie_size]
    lea rax, [rip + lie_other_return]
    mov [rsp + 8], rax
    .cfi_def_cfa_offset 16
    int3
    nop
    add rsp, [rip + lie_size]
    pop rbx
    .cfi_def_cfa_offset 8
    ret
finish lie_beyond_proof

function lie_other_caller
    push_frame
    call lie_callee
lie_other_return:
    pop_frame
    ret
finish lie_other_caller

# The return address is in a register that a stack walk does not know, and the directives say that it is on the stack.
function lie_register
    pop rcx
    int3
    push rcx
    ret
finish lie_register

.section .data.lie_size, "aw", @progbits
.balign 8
lie_size:
    .quad 32
