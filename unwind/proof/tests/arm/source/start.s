@ Sets up a stack of our own, of which a walk is told, and ends by Linux' call `exit`.
	.syntax unified
	.text
	.arm
	.globl _start
	.type _start, %function
_start:
	.fnstart
	.cantunwind
	ldr sp, =stack_end
	mov r11, #0
	mov lr, #0
	.globl stack_is_set
stack_is_set:
	bl start
	mov r7, #1
	svc #0
	.ltorg
	.fnend
start_end:
	.size _start, . - _start

@ The ABI's personality routines, which entries refer to, and nobody calls.
	.globl __aeabi_unwind_cpp_pr0
	.globl __aeabi_unwind_cpp_pr1
	.globl __aeabi_unwind_cpp_pr2
__aeabi_unwind_cpp_pr0:
__aeabi_unwind_cpp_pr1:
__aeabi_unwind_cpp_pr2:
	.inst 0xe7f000f0

	.bss
	.balign 16
	.globl stack_start
stack_start:
	.skip 16384
	.globl stack_end
stack_end:

	.section .note.GNU-stack, "", %progbits
