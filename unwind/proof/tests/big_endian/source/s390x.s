# Sets up a stack of our own, of which a walk is told, and ends by Linux' call `exit`.
	.text
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined 14
	# A caller leaves 160 bytes to its callee, the first one too.
	larl %r15, stack_end
	aghi %r15, -160
	lghi %r11, 0
	lghi %r14, 0
	.globl stack_is_set
stack_is_set:
	brasl %r14, start
	svc 1
	.cfi_endproc
	.size _start, . - _start

	.bss
	.balign 16
	.globl stack_start
stack_start:
	.skip 16384
	.globl stack_end
stack_end:

	.section .note.GNU-stack, "", @progbits
