// The firmware jumps here at EL2, with the MMU off, on every processor that nobody has parked.
.section .text.start, "ax"
.global start
start:
    mrs x0, mpidr_el1
    tst x0, #3
    b.ne park
    // EL1 is for AArch64; there all interrupts are masked.
    mov x0, #1 << 31
    msr hcr_el2, x0
    mov x0, #0x3c5
    msr spsr_el2, x0
    adr x0, at_el1
    msr elr_el2, x0
    eret
park:
    wfe
    b park

at_el1:
    adrp x0, bss_start
    add x0, x0, :lo12:bss_start
    ldr x1, =bss_end
1:  stp xzr, xzr, [x0], #16
    cmp x0, x1
    b.lo 1b
    // The first gigabyte by blocks of 2 MiB: RAM, and from 0x3f000000 on devices.
    ldr x0, =level1
    ldr x1, =level2 + 3
    str x1, [x0]
    ldr x1, =level2
    mov x2, #0x705
    mov x3, #504
2:  str x2, [x1], #8
    add x2, x2, #0x200000
    subs x3, x3, #1
    b.ne 2b
    ldr x2, =0x006000003f000401
    mov x3, #8
3:  str x2, [x1], #8
    add x2, x2, #0x200000
    subs x3, x3, #1
    b.ne 3b
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
    ldr x0, =0x30d0180d
    msr sctlr_el1, x0
    isb
    b with_mmu

with_mmu:
    ldr x0, =stack_end
    mov sp, x0
    bl main
    brk #0

.section .bss
.balign 4096
level1: .skip 4096
level2: .skip 4096
.balign 16
stack_start: .skip 65536
stack_end:
