// QEMU's board `virt` jumps here in supervisor mode, with the MMU off.
.arm
.section .text.start, "ax", %progbits
.global start
.type start, %function
start:
    ldr r0, =bss_start
    ldr r1, =bss_end
    mov r2, #0
1:  str r2, [r0], #4
    cmp r0, r1
    blo 1b
    // By sections of 1 MiB: nothing at the first one, then devices up to 1 GiB, then 1 GiB of RAM.
    ldr r0, =level1
    mov r2, #1
2:  lsl r3, r2, #20
    cmp r2, #1024
    ldrlo r1, =0x416
    ldrhs r1, =0x140e
    orr r3, r3, r1
    str r3, [r0, r2, lsl #2]
    add r2, r2, #1
    cmp r2, #2048
    blo 2b
    mov r1, #0
    mcr p15, 0, r1, c2, c0, 2
    mcr p15, 0, r0, c2, c0, 0
    mov r1, #1
    mcr p15, 0, r1, c3, c0, 0
    mcr p15, 0, r1, c8, c7, 0
    dsb
    isb
    mrc p15, 0, r1, c1, c0, 0
    orr r1, r1, #1
    orr r1, r1, #4
    mcr p15, 0, r1, c1, c0, 0
    isb
    b with_mmu
.size start, . - start

.type with_mmu, %function
with_mmu:
    ldr sp, =stack_end
    mov r11, #0
    mov lr, #0
    bl main
    udf #0
.size with_mmu, . - with_mmu
.ltorg

.section .bss
.balign 16384
level1: .skip 16384
.global stack_start, stack_end
stack_start: .skip 65536
stack_end:
