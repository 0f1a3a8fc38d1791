# From one task to another. Both stacks look the same where the stack pointer changes, so that the rules for unwinders hold
# at every instruction, whichever of the two it is on.

.macro keep register:req
    push \register
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset \register, 0
.endm

.macro give_back register:req
    pop \register
    .cfi_adjust_cfa_offset -8
    .cfi_restore \register
.endm

# rdi: where to store the stack pointer of this task; rsi: that of the other. What a callee must keep lies on the stack:
# Context in switch.rs.
.section .text.task_switch, "ax", @progbits
.global task_switch
.type task_switch, @function
task_switch:
    .cfi_startproc
    keep rbp
    keep rbx
    keep r12
    keep r13
    keep r14
    keep r15
    mov [rdi], rsp
    mov rsp, rsi
.global task_resume
task_resume:
    give_back r15
    give_back r14
    give_back r13
    give_back r12
    give_back rbx
    give_back rbp
    ret
    .cfi_endproc
.size task_switch, . - task_switch

# Where a task begins, and the last frame of its every trace: nobody called it. The call is never run. A new task returns from
# task_switch to the place behind it, and a walk believes a return address only if a call of that function stands before it.
.section .text.task_begin, "ax", @progbits
.type task_begin, @function
task_begin:
    .cfi_startproc
    .cfi_undefined rip
    call task_switch
.global task_start
task_start:
    mov rdi, rbx
    mov rsi, r12
    call r13
    ud2
    .cfi_endproc
.size task_begin, . - task_begin
