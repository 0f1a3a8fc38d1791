// Entry from QEMU's -kernel: supervisor mode, MMU off. The image runs where it is loaded. For an ELF image, QEMU's `virt` puts the device
// tree at the start of RAM, below the image, and passes nothing. Only one core comes here. The others are started later, by PSCI, and come
// to start_entry with their number in r0.
.arm
.cfi_sections .debug_frame
.section .boot.text, "ax", %progbits
.balign 4
.global boot_entry
.type boot_entry, %function
boot_entry:
    .cfi_startproc
    .cfi_undefined lr
    ldr r4, =kernel_entry
    b boot_common
    .cfi_endproc
.size boot_entry, . - boot_entry

.global start_entry
.type start_entry, %function
start_entry:
    .cfi_startproc
    .cfi_undefined lr
    mov r5, r0
    ldr r4, =start_outermost
    b boot_common
    .cfi_endproc
.size start_entry, . - start_entry

// r4: where to go. r5 is passed on.
.type boot_common, %function
boot_common:
    .cfi_startproc
    .cfi_undefined lr
    cpsid aif
    mrc p15, 0, r0, c1, c0, 1           // ACTLR.SMP: this core's caches take part in what the others' say
    orr r0, r0, #(1 << 6)
    mcr p15, 0, r0, c1, c0, 1
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
    bx r4
    .cfi_endproc
.size boot_common, . - boot_common
.ltorg

// The first gigabyte is devices, the second one RAM. mmu.rs replaces them by tables with permissions.
.balign 32
boot_level1:
    .long 0x00000c01, 0x00600000        // block, not global, accessed, memory type 0 (device), no code
    .long 0x40000f05, 0x00000000        // the same, inner shareable, memory type 1 (normal), with code
    .long 0, 0, 0, 0

// The last frame of every trace of the boot stack: its rows tell that it has no caller, and to exception tables its section does.
.section .text.outermost, "ax", %progbits
.balign 4
.global kernel_entry
.type kernel_entry, %function
kernel_entry:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
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
    .cfi_endproc
    .fnend
.size kernel_entry, . - kernel_entry
.ltorg

// The same as kernel_entry, for the CPU whose number is in r5. Its stacks are elements of arrays.
.section .text.outermost.start, "ax", %progbits
.balign 4
.type start_outermost, %function
start_outermost:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    ldr r0, ={trap_stack} + {trap_stack_end}
    ldr r1, ={trap_stack_size}
    mla r0, r5, r1, r0
    mov sp, r0
    cps #0x1f
    ldr r0, ={stack} + {stack_end}
    ldr r1, ={stack_size}
    mla r0, r5, r1, r0
    mov sp, r0
    mov r11, #0
    mov lr, #0
    mov r0, r5
    bl {start_main}
    udf #0
    .cfi_endproc
    .fnend
.size start_outermost, . - start_outermost
.ltorg
