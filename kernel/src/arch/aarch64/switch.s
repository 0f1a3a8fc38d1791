// Switching from one task to another. Both stacks have the same layout where the stack pointer changes, so that the unwind
// rules hold at every instruction, before and after the change.

// x0: where to store the stack pointer of this task; x1: the stack pointer of the other task. The callee-saved registers are on
// the stack, as `Context` in switch.rs has them.
.section .text.task_switch, "ax", %progbits
.global task_switch
.type task_switch, %function
task_switch:
    .cfi_startproc
    sub sp, sp, #96
    .cfi_def_cfa_offset 96
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x9, sp
    str x9, [x0]
    mov sp, x1
.global task_resume
task_resume:
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    .cfi_restore x29
    .cfi_restore x30
    add sp, sp, #96
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
.size task_switch, . - task_switch

// The offset of `task_resume` in `task_switch`. If data contained its address, a jump through a pointer could lead there, and its row would
// be unproven.
.section .rodata.task_resume_offset, "a", %progbits
.balign 8
.global task_resume_offset
task_resume_offset:
    .quad task_resume - task_switch

// The first code of a task, and the last frame of its traces, because it has no caller. The call is never executed: a new task
// returns from task_switch to the instruction after it, and a walk believes a return address only if a call of that function is
// before it.
.section .text.task_begin, "ax", %progbits
.type task_begin, %function
task_begin:
    .cfi_startproc
    .cfi_undefined x30
    bl task_switch
    .cfi_endproc
// Directives of its own: it has no caller, although data contains its address.
.global task_start
task_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x19
    mov x1, x20
    blr x21
    brk #0
    .cfi_endproc
.size task_begin, . - task_begin
