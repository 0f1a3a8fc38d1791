# User code, and the way there.

# rdi: its rip; rsi: its rsp; rdx and rcx: the selectors of its code and data; r8: its flags.
.section .text.enter_user, "ax", @progbits
.global enter_user
.type enter_user, @function
enter_user:
    .cfi_startproc
    push rcx
    .cfi_adjust_cfa_offset 8
    push rsi
    .cfi_adjust_cfa_offset 8
    push r8
    .cfi_adjust_cfa_offset 8
    push rdx
    .cfi_adjust_cfa_offset 8
    push rdi
    .cfi_adjust_cfa_offset 8
    iretq
    .cfi_endproc
.size enter_user, . - enter_user

# A page of constants for the kernel, which never runs it: it is mapped at another address, for user code.
.section .rodata.user_program, "a", @progbits
.balign 4096
.global user_program
user_program:
.global user_call
user_call:
    int 64
    jmp user_call
.global user_read
user_read:
    xor eax, eax
    mov rax, [rax]
    ud2
.global user_loop
user_loop:
    pause
    jmp user_loop
.balign 4096
