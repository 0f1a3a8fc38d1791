# Multiboot 1: the loader reads this header, copies the file's bytes, and jumps to `start` in 32-bit protected mode.
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
    # The first four gigabytes as they are, by pages of 2 MiB; the last one, with the local APIC, is not cached.
    mov dword ptr [pml4], offset pdpt + 3
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
2:  cmp eax, 0xc0000083
    jne 3f
    or eax, 0x18
3:  mov [edi], eax
    add eax, 0x200000
    add edi, 8
    loop 2b
    mov eax, offset pml4
    mov cr3, eax
    mov eax, cr4
    or eax, 1 << 5
    mov cr4, eax
    mov ecx, 0xc0000080
    rdmsr
    or eax, 1 << 8
    wrmsr
    mov eax, cr0
    or eax, 1 << 31
    mov cr0, eax
    lgdt [gdt_pointer]
    push 8
    mov eax, offset long_mode
    push eax
    retf

.code64
long_mode:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov esp, offset stack_end
    call main
    ud2

# Where the others come from the page, with a stack for each.
other_long_mode:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov eax, 0x4000
    lock xadd [used], eax
    lea rsp, [rax + other_stacks + 0x4000]
    call come
    ud2

.section .rodata
.balign 8
gdt:
    .quad 0, 0x00af9b000000ffff
gdt_pointer:
    .word 15
    .long gdt

# What the others begin with, in real mode, copied to a page of its own.
.global page
.balign 16
page:
.code16
    cli
    jmp 1f
.balign 8
    .word 15
    .long gdt
1:  mov ax, cs
    mov ds, ax
    lgdt [8]
    mov eax, 1 << 5
    mov cr4, eax
    mov eax, offset pml4
    mov cr3, eax
    mov ecx, 0xc0000080
    rdmsr
    or eax, 1 << 8
    wrmsr
    # Paging and protection on, and caches too.
    mov eax, 0x80000011
    mov cr0, eax
    .byte 0x66, 0xea
    .long other_long_mode
    .word 8
.skip 0x1000

.section .bss
.balign 4096
pml4: .skip 4096
pdpt: .skip 4096
pd:   .skip 4 * 4096
.global stack_start, stack_end
stack_start: .skip 65536
stack_end:
other_stacks: .skip 3 * 0x4000
used: .skip 8
