// Entry from QEMU's -kernel: supervisor mode, MMU off. The image runs where it is loaded. For an ELF image, QEMU's `virt` puts the device
// tree at the start of RAM, below the image, and passes nothing.
.arm
.section .boot.text, "ax", %progbits
.global boot_entry
.type boot_entry, %function
boot_entry:
    cpsid aif
    ldr r0, ={mair}
    mcr p15, 0, r0, c10, c2, 0          // MAIR0
    ldr r0, ={ttbcr}
    mcr p15, 0, r0, c2, c0, 2           // TTBCR
    adr r0, boot_level1
    mov r1, #0
    mcrr p15, 0, r0, r1, c2             // TTBR0, of 64 bits
    isb
    mcr p15, 0, r1, c8, c7, 0           // TLBIALL
    mcr p15, 0, r1, c7, c5, 0           // ICIALLU
    dsb
    isb
    mrc p15, 0, r0, c1, c0, 0           // SCTLR: caches, branch prediction, MMU; exceptions in ARM state
    ldr r1, =0x1805
    orr r0, r0, r1
    bic r0, r0, #(1 << 30)
    bic r0, r0, #2                      // no alignment check
    mcr p15, 0, r0, c1, c0, 0
    isb
    ldr pc, =kernel_entry
.size boot_entry, . - boot_entry
.ltorg

// The first gigabyte is devices, the second one RAM. mmu.rs replaces them by tables with permissions.
.balign 32
boot_level1:
    .long 0x00000c01, 0x00600000        // block, not global, accessed, memory type 0 (device), no code
    .long 0x40000f05, 0x00000000        // the same, inner shareable, memory type 1 (normal), with code
    .long 0, 0, 0, 0

// The last frame of every trace of the boot stack: the section tells that it has no caller.
.section .text.outermost, "ax", %progbits
.global kernel_entry
.type kernel_entry, %function
kernel_entry:
    .fnstart
    .cantunwind
    // Clears .bss: after a reset it has the values from before, because QEMU loads only what is in the image file.
    ldr r0, =__bss_start
    ldr r1, =__bss_end
    mov r2, #0
    mov r3, #0
1:  stmia r0!, {{r2, r3}}
    cmp r0, r1
    blo 1b
    // This CPU's `Cpu` (percpu.rs), so that its number is known from the first instruction of Rust on: TPIDRPRW.
    ldr r0, ={cpus}
    mcr p15, 0, r0, c13, c0, 4
    // Exceptions run in supervisor mode, everything else in system mode.
    ldr sp, ={trap_stack} + {trap_stack_end}
    cps #0x1f
    ldr sp, ={stack} + {stack_end}
    mov r11, #0
    mov lr, #0
    // The device tree's address, of 64 bits.
    mov r0, #0x40000000
    mov r1, #0
    bl {main}
    udf #0
    .fnend
.size kernel_entry, . - kernel_entry
.ltorg
