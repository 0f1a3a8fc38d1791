# Entry by PVH (Xen's "x86/HVM direct boot ABI"): 32-bit protected mode, flat segments, paging off, ebx = start info.
# Linux images, multiboot and UEFI were rejected: QEMU's -kernel takes no 64-bit ELF file by multiboot, and the others
# need a header or a firmware that has nothing to do with this kernel.

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
    mov edi, ebx                        # kernel_main's argument

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
    or eax, (1 << 31) | (1 << 16)       # PG: paging, WP: read-only pages for the kernel too
    mov cr0, eax

    lgdt [boot_gdt_pointer]
    .byte 0xea                          # jmp 8:long_mode, for which assemblers have different spellings
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
    movabs rax, offset kernel_entry
    jmp rax
.size long_mode, . - long_mode

# The first gigabyte twice, at 0 and at HIGH, by 2 MiB pages; mmu.rs replaces it by a map with permissions.
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
boot_gdt:
    .quad 0
    .quad 0x00af9b000000ffff            # code, 64-bit
boot_gdt_pointer:
    .word 15
    .long boot_gdt

# The first function in the high half, and the last frame of every trace of the boot stack: nobody called it, which is
# what the undefined return address says.
.section .text.kernel_entry, "ax", @progbits
.global kernel_entry
.type kernel_entry, @function
kernel_entry:
    .cfi_startproc
    .cfi_undefined rip
    lea rsp, [rip + {stack} + {stack_end}]
    xor ebp, ebp
    call {main}
    ud2
    .cfi_endproc
.size kernel_entry, . - kernel_entry
