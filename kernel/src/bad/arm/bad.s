// Functions for scenarios, which fail or wait where a stack walk is hard.
.arm

.macro function name:req
.section .text.\name, "ax", %progbits
.balign 4
.global \name
.type \name, %function
\name:
    .fnstart
.endm

.macro finish name:req
    .fnend
.size \name, . - \name
.endm

// With a frame pointer, and two words of frame.
.macro push_frame
    .save {r11, lr}
    push {r11, lr}
.endm

.macro set_frame_pointer
    .setfp r11, sp
    mov r11, sp
.endm

function bad_jump
    bx r0
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
    bx lr
finish \prefix\()_first

function \prefix\()_leaf
    mov r2, r0
    \place
    push_frame
    set_frame_pointer
    pop {r11, pc}
finish \prefix\()_leaf

function \prefix\()_prologue
    .pad #8
    sub sp, sp, #8
    \place
    .save {r11, lr}
    push {r11, lr}
    pop {r11, lr}
    add sp, sp, #8
    bx lr
finish \prefix\()_prologue

function \prefix\()_epilogue
    push_frame
    set_frame_pointer
    pop {r11, lr}
    \place
    bx lr
finish \prefix\()_epilogue

function \prefix\()_tail_call
    .pad #16
    sub sp, sp, #16
    mov r2, r0
    add sp, sp, #16
    b \prefix\()_first
finish \prefix\()_tail_call

function \prefix\()_last_call
    push_frame
    bl \prefix\()_first
finish \prefix\()_last_call
// The next function, right after the call, with other unwind rules.
.type \prefix\()_next, %function
\prefix\()_next:
    .fnstart
    bx lr
    .fnend
.size \prefix\()_next, . - \prefix\()_next

function \prefix\()_variable_frame
    push_frame
    set_frame_pointer
    sub sp, sp, r0
    bl \prefix\()_first
    mov sp, r11
    pop {r11, pc}
finish \prefix\()_variable_frame
.endm

places bad, fail
places stay, stay

function bad_return_address
    push_frame
    str r0, [sp, #4]
    bl bad_first
    pop {r11, pc}
finish bad_return_address

function bad_frame_pointer
    push_frame
    set_frame_pointer
    mov r11, r0
    bl bad_first
    pop {r11, pc}
finish bad_frame_pointer

function bad_stack_pointer
    push_frame
    set_frame_pointer
    mov sp, r0
    udf #0
    mov sp, r11
    pop {r11, pc}
finish bad_stack_pointer

// Sets its stack pointer to the address, and stays.
function stay_stack_pointer
    push_frame
    set_frame_pointer
    mov sp, r0
    stay
    mov sp, r11
    pop {r11, pc}
finish stay_stack_pointer

// Returns to the address instead of to its caller.
function stray_return
    mov lr, r0
    bx lr
finish stray_return

// Overwrites its frame, and its caller's if that is small, with zeros, and stays.
function lie_overwritten
    push_frame
    mov r2, #0
    mov r3, #0
    strd r2, r3, [sp]
    strd r2, r3, [sp, #8]
    strd r2, r3, [sp, #16]
    strd r2, r3, [sp, #24]
    mov lr, #0
    stay
    pop {r11, pc}
finish lie_overwritten

// Loops until the first word is not zero, and sets the second one.
function bad_loop
    mov r2, #1
    str r2, [r1]
1:  ldr r2, [r0]
    cmp r2, #0
    beq 1b
    bx lr
finish bad_loop

// Writes 1 to the first word in a loop, as long as the second one is zero.
function bad_busy
    push_frame
1:  mov r1, #1
    str r1, [r0]
    ldr r1, [r0, #4]
    cmp r1, #0
    beq 1b
    pop {r11, pc}
finish bad_busy

function with_rules
    push_frame
    blx r0
    pop {r11, pc}
finish with_rules

.section .text.without_rules, "ax", %progbits
.balign 4
.global without_rules
.type without_rules, %function
without_rules:
    push {r11, lr}
    mov r11, sp
    blx r0
    pop {r11, pc}
.size without_rules, . - without_rules

// The caller passes the same address in r1 and r2, which the code alone does not tell.
.section .text.stack_from_memory, "ax", %progbits
.balign 4
.global stack_from_memory
.type stack_from_memory, %function
stack_from_memory:
    push {r11, lr}
    str sp, [r1]
    ldr r11, [r2]
    ldr r3, [r2]
    mov sp, r3
    blx r0
    pop {r11, pc}
.size stack_from_memory, . - stack_from_memory
