/* Start of the programs without a C library: a thread pointer for stack protectors, main, exit. */
	.text
	.globl _start
	.type _start, %function
_start:
	.cfi_startproc
#if defined(__x86_64__)
	.cfi_undefined rip
	xorl %ebp, %ebp
	movl $158, %eax
	movl $0x1002, %edi
	leaq thread+256(%rip), %rsi
	syscall
	andq $-16, %rsp
	call main
	movl %eax, %edi
	movl $60, %eax
	syscall
	hlt
#elif defined(__aarch64__)
	.cfi_undefined x30
	mov x29, #0
	mov x30, #0
	adrp x0, thread
	add x0, x0, :lo12:thread
	msr tpidr_el0, x0
	adrp x18, shadow
	add x18, x18, :lo12:shadow
	bl main
	mov x8, #94
	svc #0
	brk #1
#elif defined(__arm__)
	.cfi_undefined lr
	mov r11, #0
	mov lr, #0
	bl main
	mov r7, #1
	svc #0
	udf #0
#endif
	.cfi_endproc
	.size _start, . - _start
	.bss
	.balign 16
thread:
	.skip 512
shadow:
	.skip 4096
	.section .note.GNU-stack, "", %progbits
