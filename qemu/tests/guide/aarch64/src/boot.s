// QEMU's board `virt` jumps here at EL1, with the MMU off.
.section .text.start, "ax"
.global start
start:
    adrp x0, bss_start
    add x0, x0, :lo12:bss_start
    ldr x1, =bss_end
1:  stp xzr, xzr, [x0], #16
    cmp x0, x1
    b.lo 1b
    // The first gigabyte are devices. The second one is RAM, by blocks of 2 MiB.
    ldr x0, =level1
    ldr x1, =0x0060000000000401
    str x1, [x0]
    ldr x1, =level2 + 3
    str x1, [x0, #8]
    ldr x1, =level2
    ldr x2, =0x40000705
    mov x3, #512
2:  str x2, [x1], #8
    add x2, x2, #0x200000
    subs x3, x3, #1
    b.ne 2b
    dsb sy
    msr ttbr0_el1, x0
    ldr x0, =0xff04
    msr mair_el1, x0
    // Addresses of 39 bits, tables in cached memory, nothing in the upper half.
    ldr x0, =0x200803519
    msr tcr_el1, x0
    isb
    tlbi vmalle1
    dsb nsh
    isb
    ldr x0, =0x30d0180d
    msr sctlr_el1, x0
    isb
    b with_mmu

with_mmu:
    ldr x0, =stack_end
    mov sp, x0
    mov x29, xzr
    mov x30, xzr
    bl main
    brk #0

.section .bss
.balign 4096
level1: .skip 4096
level2: .skip 4096
.balign 16
.global stack_start, stack_end
stack_start: .skip 65536
stack_end:
