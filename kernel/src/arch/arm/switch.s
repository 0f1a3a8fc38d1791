// Switching from one task to another.

// r0: where to store the stack pointer of this task, in 64 bits; r2: the stack pointer of the other task, in 64 bits with r3. The
// callee-saved registers are on the stack, as `Context` in switch.rs has them.
.arm
.cfi_sections .debug_frame
.section .text.task_switch, "ax", %progbits
.balign 4
.global task_switch
.type task_switch, %function
task_switch:
    .fnstart
    .save {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}
    push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}
    mov r4, sp
    mov r5, #0
    stm r0, {r4, r5}
    mov sp, r2
.global task_resume
task_resume:
    pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}
    bx lr
    .fnend
.size task_switch, . - task_switch

// The first code of a task, and the last frame of its traces, because it has no caller: its rows and the section tell that. The call is never executed:
// a new task returns from task_switch to the instruction after it, and a walk believes a return address only if a call of that function is
// before it.
.section .text.outermost.task, "ax", %progbits
.balign 4
.type task_begin, %function
task_begin:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    bl task_switch
    .cfi_endproc
// Directives of its own: it has no caller, although data contains its address.
.global task_start
task_start:
    .cfi_startproc
    .cfi_undefined lr
    mov r0, r4
    mov r1, r5
    blx r6
    udf #0
    .cfi_endproc
    .fnend
.size task_begin, . - task_begin
