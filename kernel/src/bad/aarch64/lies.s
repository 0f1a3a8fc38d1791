// Functions whose CFI directives contradict their code, each with a breakpoint at an instruction where they do. Compilers emit
// such directives too. The code itself is right: every function returns to its caller.

// The rule of the saved x30 stands before the instruction that saves it: LLVM merges two stores into the later one, and
// leaves the directive where the earlier one was. The stack still has a return address from another call there.
function lie_early_save
    sub sp, sp, #32
    .cfi_def_cfa_offset 32
    adr x9, 1f
    str x9, [sp, #16]
    .cfi_offset x30, -16
    brk #2
    stp x9, x30, [sp, #8]
    mov x30, xzr
    ldr x30, [sp, #16]
    add sp, sp, #32
    .cfi_def_cfa_offset 0
    .cfi_restore x30
    ret
finish lie_early_save

function lie_other_caller
    push_frame
    bl lie_callee
1:  pop_frame
    ret
finish lie_other_caller

// The same, with a store that also allocates the frame.
function lie_early_frame
    .cfi_def_cfa_offset 16
    .cfi_offset x30, -16
    brk #2
    stp x30, x8, [sp, #-16]!
    mov x30, xzr
    ldr x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x30
    ret
finish lie_early_frame

// sp moves without a directive, as in synchronous tables, which are for return addresses only.
function lie_push
    sub sp, sp, #32
    brk #2
    add sp, sp, #32
    ret
finish lie_push

// The same, with a store that allocates the frame.
function lie_push_constant
    str x0, [sp, #-16]!
    brk #2
    ldr x0, [sp], #16
    ret
finish lie_push_constant

// Calls an outlined piece of itself: LLVM saves x30 around the call, and emits no directive for it.
function lie_call
    str x30, [sp, #-16]!
    bl lie_callee
    ldr x30, [sp], #16
    ret
finish lie_call

function lie_callee
    brk #2
    ret
finish lie_callee

// An epilogue without directives.
function lie_epilogue
    push_frame
    mov x29, sp
    ldp x29, x30, [sp], #16
    brk #2
    ret
finish lie_epilogue

// The first directives come one instruction late.
function lie_late_prologue
    stp x29, x30, [sp, #-16]!
    brk #2
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    pop_frame
    ret
finish lie_late_prologue

// The directives are wrong after the first instruction, so they prove nothing; and once sp has moved by a number from
// memory, the code alone does not tell where the frame is.
function lie_beyond_proof
    sub sp, sp, #16
    adrp x9, lie_size
    ldr x9, [x9, :lo12:lie_size]
    sub sp, sp, x9
    .cfi_def_cfa_offset 16
    brk #2
    add sp, sp, x9
    add sp, sp, #16
    .cfi_def_cfa_offset 0
    ret
finish lie_beyond_proof

// Calls an outlined piece of itself with x30 kept in a register that a stack walk does not know.
function lie_register
    mov x15, x30
    bl lie_callee
    mov x30, x15
    ret
finish lie_register

.section .data.lie_size, "aw", %progbits
.balign 8
lie_size:
    .quad 32
