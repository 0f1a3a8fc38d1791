# Multiboot 1: QEMU reads this header, copies the file's bytes, loads the kernel as a module, and jumps to `start` in 32-bit
# protected mode, with the address of the Multiboot information in `ebx`.
.section .multiboot, "a"
.balign 4
multiboot:
    .long 0x1badb002, 0x00010000, -(0x1badb002 + 0x00010000)
    .long multiboot, image_start, image_end, bss_end, start

.text
.code32
.global start
start:
    mov esp, offset stack_end
    # The first four gigabytes as they are, by pages of 2 MiB, and the same from 0xffff800000000000 on.
    mov eax, offset pdpt + 3
    mov [tables], eax
    mov [tables + 256 * 8], eax
    mov eax, offset pd + 3
    mov ecx, 4
    mov edi, offset pdpt
1:  mov [edi], eax
    add eax, 0x1000
    add edi, 8
    loop 1b
    mov ecx, 2048
    mov edi, offset pd
    mov eax, 0x83
2:  mov [edi], eax
    add eax, 0x200000
    add edi, 8
    loop 2b
    mov eax, offset tables
    mov cr3, eax
    mov eax, cr4
    or eax, 1 << 5
    mov cr4, eax
    # Long mode, and pages without execution.
    mov ecx, 0xc0000080
    rdmsr
    or eax, 1 << 8 | 1 << 11
    wrmsr
    # Paging, and pages that are written to by nobody.
    mov eax, cr0
    or eax, 1 << 31 | 1 << 16
    mov cr0, eax
    lgdt [gdt_pointer]
    push 0x28
    mov eax, offset long_mode
    push eax
    retf

.code64
long_mode:
    mov eax, 0x30
    mov ds, eax
    mov es, eax
    mov fs, eax
    mov gs, eax
    mov ss, eax
    mov esp, offset stack_end
    mov edi, ebx
    call load
    ud2

# `enter(entry, offset)` never returns: it jumps to the kernel, with this stack as it is seen from `offset` on.
.global enter
enter:
    lea rax, [rip + 3f]
    add rax, rsi
    jmp rax
3:  lea rbx, [rip + gdt_high]
    lea rcx, [rip + gdt]
    mov [rbx + 2], rcx
    lgdt [rbx]
    # Low addresses are not the kernel's.
    mov qword ptr [rip + tables], 0
    mov rax, cr3
    mov cr3, rax
    lea rsp, [rip + stack_end]
    # There is no caller.
    push 0
    push rdi
    xor eax, eax
    xor ebx, ebx
    xor ecx, ecx
    xor edx, edx
    xor esi, esi
    xor edi, edi
    xor ebp, ebp
    xor r8d, r8d
    xor r9d, r9d
    xor r10d, r10d
    xor r11d, r11d
    xor r12d, r12d
    xor r13d, r13d
    xor r14d, r14d
    xor r15d, r15d
    ret

.section .data
.balign 8
# The protocol has 16-bit and 32-bit segments before those of 64 bits, which no 64-bit kernel uses.
gdt:
    .quad 0, 0, 0, 0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff
gdt_pointer:
    .word 55
    .long gdt
.balign 8
gdt_high:
    .word 55
    .quad 0

.section .bss
.balign 4096
.global tables
tables: .skip 4096
pdpt:   .skip 4096
pd:     .skip 4 * 4096
stack_start: .skip 65536
stack_end:
