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
    # The first gigabyte as it is, by pages of 2 MiB.
    mov dword ptr [pml4], offset pdpt + 3
    mov dword ptr [pdpt], offset pd + 3
    mov ecx, 512
    mov edi, offset pd
    mov eax, 0x83
1:  mov [edi], eax
    add eax, 0x200000
    add edi, 8
    loop 1b
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
    .cfi_startproc
    .cfi_undefined rip
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov esp, offset stack_end
    call main
    ud2
    .cfi_endproc

.data
.balign 8
.global gdt
gdt:
    .quad 0, 0x00af9b000000ffff
    # The task state segment, which `interrupts.rs` describes.
    .quad 0, 0
gdt_pointer:
    .word 31
    .long gdt

.section .bss
.balign 4096
pml4: .skip 4096
pdpt: .skip 4096
pd:   .skip 4096
.global stack_start, stack_end, spare_start, spare_end
stack_start: .skip 65536
stack_end:
# For double faults.
.balign 16
spare_start: .skip 65536
spare_end:
