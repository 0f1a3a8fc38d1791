# Entry by PVH (Xen's "x86/HVM direct boot ABI"): 32-bit protected mode, flat segments, paging off, ebx = start info. Linux
# images, multiboot and UEFI were rejected: QEMU's -kernel takes no 64-bit ELF file by multiboot, and the others need a header
# or a firmware that this kernel has no use for. Other CPUs start at start_page_begin.

.section .note.Xen, "a", @note
.balign 4
    .long 4                             # bytes of the name
    .long 8                             # bytes of the description
    .long 18                            # XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .quad pvh_entry

# Runs at its physical address.
.section .boot.text, "ax", @progbits
.code32
.global pvh_entry
.type pvh_entry, @function
pvh_entry:
    cli
    cld
    # NMIs wait for interrupts.rs: before there are handlers, one would be a triple fault. Firmware has let them through at the
    # local APIC's LINT1; a CPU that is started has them masked.
    mov dword ptr ds:[0xfee00360], 1 << 16
    mov edi, ebx                        # kernel_main's argument
    mov esi, offset boot_to_kernel

# Here esi points to the address to go to.
.global boot_paging
boot_paging:
    mov eax, cr4
    or eax, 1 << 5                      # PAE
    mov cr4, eax
    mov eax, offset boot_pml4
    mov cr3, eax
    mov ecx, 0xc0000080                 # EFER
    rdmsr
    or eax, (1 << 8) | (1 << 11)        # LME: long mode, NXE: pages without code
    wrmsr
    mov eax, cr0
    and eax, ~(3 << 29)                 # CD, NW: caches on; they are off after a reset
    or eax, (1 << 31) | (1 << 16)       # PG: paging, WP: read-only pages for the kernel too
    mov cr0, eax

    lgdt [boot_gdt_pointer]
    .byte 0xea                          # jmp 8:long_mode, as bytes: assemblers spell it differently
    .long long_mode
    .word 8
.size pvh_entry, . - pvh_entry

.code64
.type long_mode, @function
long_mode:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov fs, eax
    mov gs, eax
    mov ss, eax
    mov edi, edi                        # the upper half is undefined after the switch
    mov esi, esi
    jmp [rsi]
.size long_mode, . - long_mode

# Maps the first gigabyte twice, at 0 and at HIGH, in 2 MiB pages; mmu.rs replaces these tables by ones with permissions.
.section .boot.data, "a", @progbits
.balign 4096
boot_pml4:
    .quad boot_pdpt_low + 3             # present, writable
    .fill 510, 8, 0
    .quad boot_pdpt_high + 3
boot_pdpt_low:
    .quad boot_pd + 3
    .fill 511, 8, 0
boot_pdpt_high:
    .fill 510, 8, 0
    .quad boot_pd + 3
    .quad 0
boot_pd:
    .set boot_page, 0
    .rept 512
    .quad boot_page + 0x83              # present, writable, 2 MiB
    .set boot_page, boot_page + 0x200000
    .endr

.balign 8
boot_to_kernel:
    .quad kernel_entry
boot_to_start:
    .quad start_entry
boot_gdt:
    .quad 0
    .quad 0x00af9b000000ffff            # code, 64-bit
    .quad 0x00cf9b000000ffff            # code, 32-bit
    .quad 0x00cf93000000ffff            # data
boot_gdt_pointer:
    .word 31
    .long boot_gdt

# The first function in the high half, and the last frame of every trace of the boot stack: it has no caller, as its undefined
# return address says.
.section .text.kernel_entry, "ax", @progbits
.global kernel_entry
.type kernel_entry, @function
kernel_entry:
    .cfi_startproc
    .cfi_undefined rip
    # Clears .bss: after a reset it has the values from before, because QEMU loads only what is in the image file.
    mov rdx, rdi
    lea rdi, [rip + __bss_start]
    lea rcx, [rip + __bss_end]
    sub rcx, rdi
    shr rcx, 3
    xor eax, eax
    rep stosq
    # GS base: this CPU's `Cpu` (percpu.rs), so that its number is known from the first instruction of Rust on.
    lea rax, [rip + {cpus}]
    mov rdi, rdx
    mov rdx, rax
    shr rdx, 32
    mov ecx, 0xc0000101
    wrmsr
    # The stack of CPU 0, the first in the array.
    lea rsp, [rip + {stack} + {stack_end}]
    xor ebp, ebp
    call {main}
    ud2
    .cfi_endproc
.size kernel_entry, . - kernel_entry

# The code where other CPUs start, in real mode. start.rs copies it to a page below 1 MiB, to which cs points.
.section .rodata.start_page, "a", @progbits
.global start_page_begin
.global start_page_end
start_page_begin:
.code16
    jmp 1f
.balign 8
    .word 31                            # offset 8: operand of lgdt
    .long boot_gdt
1:  cli
    cld
    mov ax, cs
    mov ds, ax
    lgdt [8]
    mov eax, cr0
    or eax, 1                           # PE: protected mode
    mov cr0, eax
    .byte 0x66, 0xea                    # jmp 16:start_protected
    .long start_protected
    .word 16
start_page_end:

.section .boot.text, "ax", @progbits
.code32
.type start_protected, @function
start_protected:
    mov eax, 24
    mov ds, eax
    mov esi, offset boot_to_start
    jmp boot_paging
.size start_protected, . - start_protected

# The same as kernel_entry, for other CPUs. Several may come at once: each looks for its APIC ID among those that were started, and
# takes the stack of the number that it finds.
.code64
.section .text.start_entry, "ax", @progbits
.global start_entry
.type start_entry, @function
start_entry:
    .cfi_startproc
    .cfi_undefined rip
    # Leaf 0xb, where there is one, because leaf 1 has only eight bits of the ID.
    xor eax, eax
    cpuid
    cmp eax, 0xb
    jb 1f
    mov eax, 0xb
    xor ecx, ecx
    cpuid
    test ebx, ebx
    jnz 2f
1:  mov eax, 1
    cpuid
    shr ebx, 24
    mov edx, ebx
2:  mov edx, edx                        # rdx: the ID
    lea rsi, [rip + {cpus}]
    xor edi, edi                        # rdi: the number
3:  inc rdi
    cmp rdi, [rip + {started}]
    jae 4f
    add rsi, {cpu_size}
    cmp rdx, [rsi + {cpu_id}]
    jne 3b
    imul rcx, rdi, {stack_size}
    lea rax, [rip + {stack} + {stack_end}]
    add rax, rcx
    mov rsp, rax
    xor ebp, ebp
    call {start_main}
4:  cli
    hlt
    jmp 4b
    .cfi_endproc
.size start_entry, . - start_entry
