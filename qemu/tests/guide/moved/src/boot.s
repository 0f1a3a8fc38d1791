// QEMU's board `virt` jumps here at EL1, with the MMU off. The image moves itself up by 16 MiB, as a loader would. This section is
// writable, because some of the relocations are made in it.
.section .text.start, "awx"
.global start
start:
    mov x9, #0x1000000
    adrp x0, image_start
    add x0, x0, :lo12:image_start
    adrp x1, bss_start
    add x1, x1, :lo12:bss_start
    add x2, x0, x9
1:  ldp x3, x4, [x0], #16
    stp x3, x4, [x2], #16
    cmp x0, x1
    b.lo 1b
    // Each relocation says where the address of something in the image lies, and what it is.
    adrp x0, relocations
    add x0, x0, :lo12:relocations
    adrp x1, relocations_end
    add x1, x1, :lo12:relocations_end
2:  ldr x3, [x0], #16
    ldr x4, [x0], #8
    add x4, x4, x9
    str x4, [x3, x9]
    cmp x0, x1
    b.lo 2b
    dsb sy
    ic iallu
    isb
    adr x0, moved
    add x0, x0, x9
    br x0

moved:
    adrp x0, bss_start
    add x0, x0, :lo12:bss_start
    ldr x1, =bss_end
3:  stp xzr, xzr, [x0], #16
    cmp x0, x1
    b.lo 3b
    // The first gigabyte are devices. The second one is RAM, by blocks of 2 MiB.
    ldr x0, =level1
    ldr x1, =0x0060000000000401
    str x1, [x0]
    ldr x1, =level2 + 3
    str x1, [x0, #8]
    ldr x1, =level2
    ldr x2, =0x40000705
    mov x3, #512
4:  str x2, [x1], #8
    add x2, x2, #0x200000
    subs x3, x3, #1
    b.ne 4b
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
