# Switching from one task to another. Both stacks have the same layout where the stack pointer changes, so that the unwind rules
# hold at every instruction, before and after the change.

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

# rdi: where to store the stack pointer of this task; rsi: the stack pointer of the other task. The callee-saved registers are
# on the stack, as `Context` in switch.rs has them.
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

# The offset of `task_resume` in `task_switch`. If data contained its address, a jump through a pointer could lead there, and its row would
# be unproven.
.section .rodata.task_resume_offset, "a", @progbits
.balign 8
.global task_resume_offset
task_resume_offset:
    .quad task_resume - task_switch

# The first code of a task, and the last frame of its traces, because it has no caller. The call is never executed: a new task
# returns from task_switch to the instruction after it, and a walk believes a return address only if a call of that function is
# before it.
.section .text.task_begin, "ax", @progbits
.type task_begin, @function
task_begin:
    .cfi_startproc
    .cfi_undefined rip
    call task_switch
    .cfi_endproc
# Directives of its own: it has no caller, although data contains its address.
.global task_start
task_start:
    .cfi_startproc
    .cfi_undefined rip
    mov rdi, rbx
    mov rsi, r12
    call r13
    ud2
    .cfi_endproc
.size task_begin, . - task_begin
