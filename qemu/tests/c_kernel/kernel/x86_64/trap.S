# Each exception comes here with a code, its own or zero, and its number.
.macro TRAP vector, has_code
.global trap_\vector
trap_\vector:
	.if \has_code == 0
	pushq $0
	.endif
	pushq $\vector
	jmp all_traps
.endm

.text
TRAP 3, 0
TRAP 6, 0
TRAP 14, 1

all_traps:
	pushq %rax
	pushq %rbx
	pushq %rcx
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %rbp
	pushq %r8
	pushq %r9
	pushq %r10
	pushq %r11
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, %rdi
	call trap
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %r11
	popq %r10
	popq %r9
	popq %r8
	popq %rbp
	popq %rdi
	popq %rsi
	popq %rdx
	popq %rcx
	popq %rbx
	popq %rax
	addq $16, %rsp
	iretq
