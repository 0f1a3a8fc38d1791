// Functions whose CFI directives contradict their code, each with a breakpoint at an instruction where they do. Compilers emit
// such directives too. The code itself is right: every function returns to its caller. Exception tables know nothing of them.
.arm
.cfi_sections .debug_frame

.macro begin_lie name:req
.section .text.\name, "ax", %progbits
.balign 4
.global \name
.type \name, %function
\name:
    .cfi_startproc
.endm

.macro end_lie name:req
    .cfi_endproc
.size \name, . - \name
.endm

.macro push_frame_by_rule
    push {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
.endm

.macro pop_frame_by_rule
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore lr
    .cfi_restore r11
.endm

// The rule of the saved lr stands before the instruction that saves it. The stack still has a return address from another call there.
begin_lie lie_early_save
    sub sp, sp, #16
    .cfi_def_cfa_offset 16
    movw r12, #:lower16:lie_earlier_call
    movt r12, #:upper16:lie_earlier_call
    str r12, [sp, #8]
    .cfi_offset lr, -8
    bkpt #2
    str r12, [sp, #4]
    str lr, [sp, #8]
    mov lr, #0
    ldr lr, [sp, #8]
    add sp, sp, #16
    .cfi_def_cfa_offset 0
    .cfi_restore lr
    bx lr
end_lie lie_early_save

begin_lie lie_other_caller
    push_frame_by_rule
    bl lie_callee
lie_earlier_call:
    pop_frame_by_rule
    bx lr
end_lie lie_other_caller

// The same, with a store that also allocates the frame.
begin_lie lie_early_frame
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -8
    bkpt #2
    str lr, [sp, #-8]!
    mov lr, #0
    ldr lr, [sp], #8
    .cfi_def_cfa_offset 0
    .cfi_restore lr
    bx lr
end_lie lie_early_frame

// sp moves without a directive, as in tables which are for return addresses only.
begin_lie lie_push
    sub sp, sp, #32
    bkpt #2
    add sp, sp, #32
    bx lr
end_lie lie_push

// The same, with a store that allocates the frame.
begin_lie lie_push_constant
    str r0, [sp, #-8]!
    bkpt #2
    ldr r0, [sp], #8
    bx lr
end_lie lie_push_constant

// Calls an outlined piece of itself: lr is saved around the call, and no directive says it.
begin_lie lie_call
    str lr, [sp, #-8]!
    bl lie_callee
    ldr lr, [sp], #8
    bx lr
end_lie lie_call

begin_lie lie_callee
    bkpt #2
    bx lr
end_lie lie_callee

// An epilogue without directives.
begin_lie lie_epilogue
    push_frame_by_rule
    mov r11, sp
    pop {r11, lr}
    bkpt #2
    bx lr
end_lie lie_epilogue

// The first directives come one instruction late.
begin_lie lie_late_prologue
    push {r11, lr}
    bkpt #2
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    pop_frame_by_rule
    bx lr
end_lie lie_late_prologue

// The directives are wrong after the first instruction, so they prove nothing; and once sp has moved by a number from
// memory, the code alone does not tell where the frame is.
begin_lie lie_beyond_proof
    sub sp, sp, #16
    movw r12, #:lower16:lie_size
    movt r12, #:upper16:lie_size
    ldr r12, [r12]
    sub sp, sp, r12
    .cfi_def_cfa_offset 16
    bkpt #2
    add sp, sp, r12
    add sp, sp, #16
    .cfi_def_cfa_offset 0
    bx lr
end_lie lie_beyond_proof

// Calls an outlined piece of itself with lr kept in a register that callers do not keep.
begin_lie lie_register
    mov r12, lr
    bl lie_callee
    mov lr, r12
    bx lr
end_lie lie_register

.section .data.lie_size, "aw", %progbits
.balign 4
lie_size:
    .long 32
