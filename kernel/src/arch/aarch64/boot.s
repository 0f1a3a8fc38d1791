// Entry from QEMU's -kernel, from a Raspberry Pi's firmware or from another boot loader: EL2 or EL1, MMU off, x0 = the device
// tree's address if started as Linux is, zero otherwise. Runs at its physical address: the linker script's, or any multiple of
// 2 MiB in the first gigabyte. Only one core comes here. The others are started later: by PSCI, and come to start_entry with
// their number in x0; or from a spin table, as on a Raspberry Pi, and come to spin_entry.

.section .boot.text, "ax", @progbits
// The header by which firmware knows a flat image (Linux, Documentation/arch/arm64/booting.rst).
boot_header:
    b boot_entry
    .long 0
    .quad 0                             // offset from a multiple of 2 MiB
    .quad __image_size
    .quad 0xa                           // little-endian, pages of 4 KiB, anywhere in memory
    .quad 0, 0, 0
    .ascii "ARM\x64"
    .long 0

.global boot_entry
.type boot_entry, @function
boot_entry:
    adr x20, boot_header                // where the image is
    ldr x1, =boot_header                // where the linker script has it
    // No device tree was passed: for an ELF image, QEMU's `virt` puts it at the start of RAM, below the image. Whether there is
    // one is checked when it is read.
    cbnz x0, 1f
    sub x0, x20, #0x200000

1:  adr x2, boot_level0
    adr x3, boot_level1 + 3             // + 3: a table
    str x3, [x2]
    adr x2, boot_level1
    adr x3, boot_level2_low + 3
    str x3, [x2]
    adr x3, boot_level2_image + 3
    str x3, [x2, #8]
    adr x3, boot_level2_tree + 3
    str x3, [x2, #16]

    mov x6, #0xf05                      // block, not global, accessed, inner shareable, memory type 1 (normal)
    orr x3, x20, x6
    cmp x1, x20
    b.eq 2f
    // This code, until it jumps to the high half.
    adr x2, boot_level2_low
    lsr x4, x20, #21
    str x3, [x2, x4, lsl #3]
2:  adr x2, boot_level2_image + 8
    mov x4, #8
3:  str x3, [x2], #8
    add x3, x3, #0x200000
    subs x4, x4, #1
    b.ne 3b
    // Two blocks, because the tree may lie across a boundary.
    and x3, x0, #~0x1fffff
    orr x3, x3, x6
    mov x4, #(3 << 53)                  // no code
    orr x3, x3, x4
    adr x2, boot_level2_tree
    str x3, [x2]
    add x3, x3, #0x200000
    str x3, [x2, #8]
    dsb sy
    ldr x19, =kernel_entry
    b boot_common
.size boot_entry, . - boot_entry

.global start_entry
.type start_entry, @function
start_entry:
    ldr x19, =start_high
    b boot_common
.size start_entry, . - start_entry

// Those that a spin table starts, which passes nothing: the entry of number n is 8 n bytes behind the first one.
.global spin_entry
.type spin_entry, @function
spin_entry:
    .set number, 0
    .rept {max_cpus}
    mov x0, #number
    b start_entry
    .set number, number + 1
    .endr
.size spin_entry, . - spin_entry

// x19: where to go, in the high half. x0 is passed on.
.type boot_common, @function
boot_common:
    msr daifset, #15
    mrs x1, CurrentEL
    cmp x1, #(2 << 2)
    b.ne 1f

    // EL2: let EL1 be AArch64 with timers and without traps to here, and drop to it.
    mov x1, #(1 << 31)                  // HCR_EL2.RW
    .if {signs}
    orr x1, x1, #(3 << 40)              // API, APK: the CPU may have no such bits, unless the code signs
    .endif
    msr hcr_el2, x1
    mov x1, #3                          // CNTHCTL_EL2.EL1PCEN, EL1PCTEN
    msr cnthctl_el2, x1
    msr cntvoff_el2, xzr
    mov x1, #0x33ff                     // CPTR_EL2, RES1 only: nothing trapped
    msr cptr_el2, x1
    msr hstr_el2, xzr
    mrs x1, id_aa64pfr0_el1
    ubfx x1, x1, #24, #4
    cbz x1, 2f
    mrs x1, S3_4_C12_C9_5               // ICC_SRE_EL2.SRE, Enable: EL1 has the registers of a GICv3's CPU interface
    mov x2, #9
    orr x1, x1, x2
    msr S3_4_C12_C9_5, x1
    isb
    msr S3_4_C12_C11_0, xzr             // ICH_HCR_EL2
2:  mrs x1, midr_el1                    // what EL1 sees of these two is unknown after a reset
    msr vpidr_el2, x1
    mrs x1, mpidr_el1
    msr vmpidr_el2, x1
    mov x1, #0x3c5                      // EL1h, all exceptions masked
    msr spsr_el2, x1
    adr x1, 1f
    msr elr_el2, x1
    eret

1:  ldr x1, ={mair}
    msr mair_el1, x1
    ldr x1, ={tcr}
    msr tcr_el1, x1
    // One table for both halves of the address space.
    adrp x1, boot_level0
    msr ttbr0_el1, x1
    msr ttbr1_el1, x1
    isb
    tlbi vmalle1
    ic iallu
    dsb nsh
    isb
    .if {signs}
    // APIAKey_EL1, by its number, which assemblers take for every CPU. The same on all CPUs, because tasks move between them.
    ldr x1, =0x0123456789abcdef
    msr s3_0_c2_c1_0, x1
    msr s3_0_c2_c1_1, x1
    .endif
    // SCTLR_EL1: MMU, data cache, sp alignment check, instruction cache, and what is RES1 in Armv8.0; EnIA, if the code signs.
    ldr x1, =0x30d0180d + ({signs} << 31)
    msr sctlr_el1, x1
    isb
    br x19
.size boot_common, . - boot_common
.ltorg

// The first four gigabytes: devices, the image, the device tree, devices; and number 65, with the devices of a Raspberry Pi 5. RAM in the
// gigabytes of devices is not accessed through these blocks. mmu.rs replaces them by tables with permissions. Those have another ASID
// and these blocks are not global, so that TLB entries of both for the same address do not conflict.
.section .boot.data, "a", @progbits
.balign 4096
boot_level0:
    .fill 512, 8, 0
boot_level1:
    .quad 0, 0, 0
    .quad 0xc0000000 + 0x0060000000000c01   // block, not global, accessed, memory type 0 (device), no code
    .fill 61, 8, 0
    .quad 65 * 0x40000000 + 0x0060000000000c01
    .fill 446, 8, 0
boot_level2_low:
    .set address, 0
    .rept 512
    .quad address + 0x0060000000000c01
    .set address, address + 0x200000
    .endr
boot_level2_image:
    .fill 512, 8, 0
boot_level2_tree:
    .fill 512, 8, 0

// The first function in the high half, and the last frame of every trace of the boot stack: it has no caller, as its undefined
// return address says.
.section .text.kernel_entry, "ax", @progbits
.global kernel_entry
.type kernel_entry, @function
kernel_entry:
    .cfi_startproc
    .cfi_undefined x30
    // Clears .bss: after a reset it has the values from before, because QEMU loads only what is in the image file.
    ldr x1, =__bss_start
    ldr x2, =__bss_end
1:  stp xzr, xzr, [x1], #16
    cmp x1, x2
    b.lo 1b
    // This CPU's `Cpu` (percpu.rs), so that its number is known from the first instruction of Rust on.
    ldr x1, ={cpus}
    msr tpidr_el1, x1
    // Exceptions run on SP_EL1, everything else on SP_EL0, so that exceptions have a stack also when the other one is full.
    msr spsel, #1
    ldr x1, ={trap_stack} + {trap_stack_end}
    mov sp, x1
    msr spsel, #0
    ldr x1, ={stack} + {stack_end}
    mov sp, x1
    mov x29, xzr
    mov x30, xzr
    bl {main}
    brk #0
    .cfi_endproc
.size kernel_entry, . - kernel_entry
.ltorg

// The link addresses of these entries, for start.rs.
.section .rodata.start_address, "a", @progbits
.balign 8
.global start_address
start_address:
    .quad start_entry
.global spin_address
spin_address:
    .quad spin_entry

// The same as kernel_entry, for the CPU whose number is in x0. Its stacks are elements of arrays.
.section .text.start_high, "ax", @progbits
.type start_high, @function
start_high:
    .cfi_startproc
    .cfi_undefined x30
    msr spsel, #1
    ldr x1, ={trap_stack} + {trap_stack_end}
    ldr x2, ={trap_stack_size}
    madd x1, x0, x2, x1
    mov sp, x1
    msr spsel, #0
    ldr x1, ={stack} + {stack_end}
    ldr x2, ={stack_size}
    madd x1, x0, x2, x1
    mov sp, x1
    mov x29, xzr
    mov x30, xzr
    bl {start_main}
    brk #0
    .cfi_endproc
.size start_high, . - start_high
.ltorg
