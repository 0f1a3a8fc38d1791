// Sets up a stack of our own, of which a walk is told, and ends by Linux' call `exit`.
	.text
	.globl _start
	.type _start, %function
_start:
	.cfi_startproc
	.cfi_undefined x30
	adrp x0, stack_end
	add x0, x0, :lo12:stack_end
	mov sp, x0
	mov x29, #0
	mov x30, #0
	.globl stack_is_set
stack_is_set:
	bl start
	mov x8, #93
	svc #0
	.cfi_endproc
	.size _start, . - _start

	.bss
	.balign 16
	.globl stack_start
stack_start:
	.skip 16384
	.globl stack_end
stack_end:

	.section .note.GNU-stack, "", %progbits
