// Calls the function at r1 with r0, on the empty stack that ends at r2, of 64 bits with r3. r11 keeps the caller's stack pointer.
.arm
.section .text.postmortem_call_on_stack, "ax", %progbits
.balign 4
.global postmortem_call_on_stack
.type postmortem_call_on_stack, %function
postmortem_call_on_stack:
    .fnstart
    .save {r11, lr}
    push {r11, lr}
    .setfp r11, sp
    mov r11, sp
    mov sp, r2
    blx r1
    mov sp, r11
    pop {r11, pc}
    .fnend
.size postmortem_call_on_stack, . - postmortem_call_on_stack
