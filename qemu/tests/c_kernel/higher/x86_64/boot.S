# A PVH loader jumps to `start`, in protected mode without paging. The image is linked from BASE + 1 MiB on, and lies at 1 MiB until then.
.set BASE, 0xffffffff80000000

.section .note.pvh, "a", @note
	.long 4, 4, 18
	.asciz "Xen"
	.long start - BASE

.text
.code32
.global start
start:
	# The first gigabyte, by pages of 2 MiB: as it is, from 0xffff800000000000 on, and from BASE on.
	movl $level3 - BASE + 3, level4 - BASE
	movl $level3 - BASE + 3, level4 - BASE + 256 * 8
	movl $high - BASE + 3, level4 - BASE + 511 * 8
	movl $level2 - BASE + 3, level3 - BASE
	movl $level2 - BASE + 3, high - BASE + 510 * 8
	movl $level2 - BASE, %edi
	movl $0x83, %eax
	movl $512, %ecx
1:	movl %eax, (%edi)
	addl $0x200000, %eax
	addl $8, %edi
	loop 1b
	movl $level4 - BASE, %eax
	movl %eax, %cr3
	movl %cr4, %eax
	orl $0x20, %eax
	movl %eax, %cr4
	movl $0xc0000080, %ecx
	rdmsr
	orl $0x100, %eax
	wrmsr
	movl %cr0, %eax
	orl $0x80000000, %eax
	movl %eax, %cr0
	lgdt low_pointer - BASE
	ljmp $8, $low - BASE

.code64
low:
	movabsq $long_mode, %rax
	jmp *%rax

long_mode:
	lgdt high_pointer
	xorl %eax, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movq $stack_end, %rsp
	xorl %ebp, %ebp
	# Low addresses are no longer needed.
	movq %rax, level4
	movq %cr3, %rax
	movq %rax, %cr3
	call kernel_main

.section .rodata
.balign 8
gdt:
	.quad 0, 0x00af9b000000ffff
low_pointer:
	.word 15
	.long gdt - BASE
high_pointer:
	.word 15
	.quad gdt

.bss
.balign 4096
level4: .skip 4096
level3: .skip 4096
level2: .skip 4096
high: .skip 4096
.global stack_start, stack_end
stack_start: .skip 16384
stack_end:
