# Breakpoint (3), invalid opcode (6) and page fault (14) save all registers and call `exception` with them.
.macro save register
    push \register
.endm

.macro entry vector, has_code
entry_\vector:
    .if \has_code == 0
    push 0
    .endif
    push \vector
    jmp exception_entry
.endm

.text
.global entry_3, entry_6, entry_14
    entry 3, 0
    entry 6, 0
    entry 14, 1

exception_entry:
    save rax
    save rbx
    save rcx
    save rdx
    save rsi
    save rdi
    save rbp
    save r8
    save r9
    save r10
    save r11
    save r12
    save r13
    save r14
    save r15
    mov rdi, rsp
    call exception
    ud2
