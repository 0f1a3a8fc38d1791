# Multiboot 1: the loader copies the file's bytes to the addresses that the header says, and jumps to `start` in 32-bit protected
# mode. The image is linked at BASE, and lies at 1 MiB until then.
.set BASE, 0xffffffff80000000

.section .multiboot, "a"
.balign 4
multiboot:
    .long 0x1badb002, 0x00010000, -(0x1badb002 + 0x00010000)
    .long multiboot - BASE, image_start - BASE, image_end - BASE, bss_end - BASE, start - BASE

.text
.code32
.global start
start:
    mov esp, offset stack_end - BASE
    # The first four gigabytes as they are, by pages of 2 MiB; the same from 0xffff800000000000 on; and the first one at BASE.
    mov eax, offset pdpt - BASE + 3
    mov [pml4 - BASE], eax
    mov [pml4 - BASE + 256 * 8], eax
    mov dword ptr [pml4 - BASE + 511 * 8], offset high - BASE + 3
    mov eax, offset pd - BASE + 3
    mov [high - BASE + 510 * 8], eax
    mov ecx, 4
    mov edi, offset pdpt - BASE
1:  mov [edi], eax
    add eax, 0x1000
    add edi, 8
    loop 1b
    mov ecx, 2048
    mov edi, offset pd - BASE
    mov eax, 0x83
2:  mov [edi], eax
    add eax, 0x200000
    add edi, 8
    loop 2b
    mov eax, offset pml4 - BASE
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
    lgdt [gdt_pointer - BASE]
    push 8
    mov eax, offset low - BASE
    push eax
    retf

.code64
low:
    movabs rax, offset long_mode
    jmp rax

long_mode:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov rsp, offset stack_end
    # Low addresses are no longer needed.
    mov [pml4], rax
    mov rax, cr3
    mov cr3, rax
    call main
    ud2

.section .rodata
.balign 8
gdt:
    .quad 0, 0x00af9b000000ffff
gdt_pointer:
    .word 15
    .long gdt - BASE

.section .bss
.balign 4096
pml4: .skip 4096
pdpt: .skip 4096
pd:   .skip 4 * 4096
high: .skip 4096
.global stack_start, stack_end
stack_start: .skip 65536
stack_end:
