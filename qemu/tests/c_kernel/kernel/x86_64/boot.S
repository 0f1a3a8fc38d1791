# A PVH loader jumps to `start`, in protected mode without paging.
.section .note.pvh, "a", @note
	.long 4, 4, 18
	.asciz "Xen"
	.long start

.text
.code32
.global start
start:
	# The first gigabyte as it is, by pages of 2 MiB.
	movl $level3 + 3, level4
	movl $level2 + 3, level3
	movl $level2, %edi
	movl $0x83, %eax
	movl $512, %ecx
1:	movl %eax, (%edi)
	addl $0x200000, %eax
	addl $8, %edi
	loop 1b
	movl $level4, %eax
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
	lgdt gdt_pointer
	ljmp $8, $long_mode

.code64
long_mode:
	xorl %eax, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movl $stack_end, %esp
	xorl %ebp, %ebp
	call kernel_main

.section .rodata
.balign 8
gdt:
	.quad 0, 0x00af9b000000ffff
gdt_pointer:
	.word 15
	.long gdt

.bss
.balign 4096
level4: .skip 4096
level3: .skip 4096
level2: .skip 4096
.global stack_start, stack_end
stack_start: .skip 16384
stack_end:
