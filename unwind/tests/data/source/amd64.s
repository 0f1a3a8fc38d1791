# Every CFI directive that an assembler can turn into SFrame, and those it cannot: such a function is left out of the
# table, or (signal frames of version 3) has no rows. The symbol TABLE is the version: 1, 2, 21 (version 2 errata 1
# by LLVM) or 3. The code does nothing useful; only where the directives stand matters.

	.macro	function name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm
	.macro	finish name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text

function leaf				# no directive: one row
	ret
finish leaf

function no_code				# of 0 bytes: contains no address
finish no_code

function frame_pointer			# the usual prologue and epilogue
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	nop
	pop	%rbp
	.cfi_def_cfa rsp, 8
	ret
finish frame_pointer

function adjusted			# relative forms
	push	%rbx
	.cfi_adjust_cfa_offset 8
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	nop
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
finish adjusted

function remembered			# one level: every generation has it right
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	test	%edi, %edi
	.cfi_remember_state
	je	1f
	pop	%rbp
	.cfi_restore rbp
	.cfi_def_cfa_offset 8
	ret
1:
	.cfi_restore_state
	nop
	pop	%rbp
	.cfi_restore rbp
	.cfi_def_cfa_offset 8
	ret
finish remembered

function remembered_twice		# two levels: GNU as keeps one; the table is what counts here
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	nop
	.cfi_remember_state
	sub	$16, %rsp
	.cfi_def_cfa_offset 32
	nop
	.cfi_remember_state
	sub	$32, %rsp
	.cfi_def_cfa_offset 64
	nop
	.cfi_restore_state
	nop
	.cfi_restore_state
	pop	%rbp
	.cfi_def_cfa_offset 8
	ret
finish remembered_twice

function same_value			# the frame pointer is what it was
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	nop
	.cfi_same_value rbp
	pop	%rax
	.cfi_def_cfa_offset 8
	ret
finish same_value

function untracked			# registers of which SFrame knows nothing
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	push	%r15
	.cfi_def_cfa_offset 24
	.cfi_offset r15, -24
	.cfi_undefined r10
	.cfi_same_value r12
	.cfi_register r13, r11
	.cfi_val_offset r14, -8
	pop	%r15
	.cfi_restore r15
	.cfi_def_cfa_offset 16
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
finish untracked

function words_of_1_byte		# the greatest that fits and the first that does not
	sub	$112, %rsp
	.cfi_def_cfa_offset 120
	nop
	.cfi_def_cfa_offset 127
	nop
	.cfi_def_cfa_offset 128
	nop
	.cfi_def_cfa_offset 8
	ret
finish words_of_1_byte

function words_of_2_bytes
	sub	$4088, %rsp
	.cfi_def_cfa_offset 4096
	mov	%rbp, (%rsp)
	.cfi_offset rbp, -4096
	nop
	.cfi_def_cfa_offset 32767
	nop
	.cfi_def_cfa_offset 32768
	nop
	.cfi_offset rbp, -32768
	nop
	.cfi_offset rbp, -32776
	nop
	.cfi_restore rbp
	.cfi_def_cfa_offset 8
	ret
finish words_of_2_bytes

function words_of_4_bytes
	sub	$0x100000, %rsp
	.cfi_def_cfa_offset 0x100008
	mov	%rbp, (%rsp)
	.cfi_offset rbp, -0x100008
	nop
	.cfi_def_cfa_offset 0x7fffffff
	nop
	.cfi_restore rbp
	.cfi_def_cfa_offset 8
	ret
finish words_of_4_bytes

function bytes_255			# the longest with row starts of 1 byte
	push	%rbp
	.cfi_def_cfa_offset 16
	.skip	252, 0x90
	pop	%rbp
	.cfi_def_cfa_offset 8
	ret
finish bytes_255

function bytes_256			# the shortest with row starts of 2 bytes
	push	%rbp
	.cfi_def_cfa_offset 16
	.skip	253, 0x90
	pop	%rbp
	.cfi_def_cfa_offset 8
	ret
finish bytes_256

function bytes_65535			# the longest with 2
	push	%rbp
	.cfi_def_cfa_offset 16
	.skip	300, 0x90
	.cfi_offset rbp, -16
	.skip	65232, 0x90
	pop	%rbp
	.cfi_def_cfa_offset 8
	ret
finish bytes_65535

function bytes_65536			# the shortest with 4
	push	%rbp
	.cfi_def_cfa_offset 16
	.skip	65533, 0x90
	pop	%rbp
	.cfi_def_cfa_offset 8
	ret
finish bytes_65536

function bytes_200000
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	.skip	70000, 0x90
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	.skip	129993, 0x90
	leave
	.cfi_def_cfa rsp, 8
	ret
finish bytes_200000

function outermost			# no return address: the end of every stack
	.cfi_undefined rip
	nop
	hlt
finish outermost

function outermost_later		# entered by a call, then the stack is changed for a new one
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	nop
	.cfi_undefined rip
	xor	%ebp, %ebp
	hlt
finish outermost_later

function undefined_frame_pointer	# cannot be said
	.cfi_undefined rbp
	nop
	ret
finish undefined_frame_pointer

function signal_frame			# rows that can be said
	.cfi_signal_frame
	.cfi_def_cfa rsp, 160
	.cfi_offset rbp, -40
	nop
	push	%rax
	.cfi_adjust_cfa_offset 8
	nop
	ret
finish signal_frame

function signal_frame_without_rows	# a stack pointer that comes out of the frame
	.cfi_signal_frame
	.cfi_def_cfa rsp, 160
	.cfi_offset rsp, -16
	.cfi_escape 0x16, 0x06, 0x02, 0x77, 0x10	# DW_CFA_val_expression rbp: rsp + 16
	nop
	ret
finish signal_frame_without_rows

function return_address_in_register	# as a thunk's: taken off the stack
	pop	%r11
	.cfi_def_cfa_offset 0
	.cfi_register rip, r11
	nop
	jmp	*%r11
finish return_address_in_register

function return_address_elsewhere	# not right below the CFA
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	.cfi_offset rip, -16
	nop
	ret
finish return_address_elsewhere

function return_address_deeper		# flexible, with words of 2 and of 4 bytes
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	.cfi_offset rip, -1024
	nop
	.cfi_offset rbp, -2048
	nop
	.cfi_def_cfa_offset 0x20000
	nop
	ret
finish return_address_deeper

function frame_pointer_in_register
	mov	%rbp, %r12
	.cfi_register rbp, r12
	xor	%ebp, %ebp
	nop
	.cfi_restore rbp
	ret
finish frame_pointer_in_register

function frame_pointer_in_vector	# a number beyond the 5 bits of a control word of 1 byte
	movq	%rbp, %xmm15
	.cfi_register rbp, xmm15
	xor	%ebp, %ebp
	nop
	.cfi_restore rbp
	ret
finish frame_pointer_in_vector

function cfa_in_register		# neither stack nor frame pointer
	lea	8(%rsp), %r10
	.cfi_def_cfa r10, 0
	push	%rbp
	.cfi_offset rbp, -16
	nop
	.cfi_def_cfa r12, 40
	nop
	.cfi_def_cfa rsp, 16
	pop	%rbp
	.cfi_def_cfa_offset 8
	.cfi_restore rbp
	ret
finish cfa_in_register

function realigned			# what gcc writes for a stack of greater alignment (DRAP)
	lea	8(%rsp), %r10
	.cfi_def_cfa r10, 0
	and	$-32, %rsp
	push	-8(%r10)
	push	%rbp
	mov	%rsp, %rbp
	.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00	# DW_CFA_expression rbp: rbp + 0
	push	%r10
	.cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06	# DW_CFA_def_cfa_expression: *(rbp - 8)
	nop
	mov	-8(%rbp), %r10
	.cfi_def_cfa r10, 0
	leave
	lea	-8(%r10), %rsp
	.cfi_def_cfa rsp, 8
	ret
finish realigned

function escapes_of_no_matter		# nop, and an argument size of 0
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	.cfi_escape 0x00
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	.cfi_escape 0x2e, 0x00
	nop
	.cfi_escape 0x10, 0x03, 0x02, 0x76, 0x70	# DW_CFA_expression rbx: rbp - 16
	pop	%rbp
	.cfi_def_cfa rsp, 8
	ret
finish escapes_of_no_matter

function escape_of_matter		# an expression that no version can say
	.cfi_escape 0x0f, 0x05, 0x77, 0x08, 0x80, 0x00, 0x22
	nop
	ret
finish escape_of_matter

function val_offset			# the frame pointer is an address in the frame: cannot be said
	.cfi_val_offset rbp, -16
	nop
	ret
finish val_offset

function val_offset_of_stack_pointer	# 0: what the ABI says anyway
	.cfi_val_offset rsp, 0
	nop
	ret
finish val_offset_of_stack_pointer

function other_return_column
	.cfi_return_column 15
	nop
	ret
finish other_return_column

	.type	simple, @function
simple:					# without the rows that every function starts with
	.cfi_startproc simple
	nop
	.cfi_def_cfa rsp, 8
	nop
	ret
finish simple

	.type	simple_and_empty, @function
simple_and_empty:
	.cfi_startproc simple
	nop
	ret
finish simple_and_empty

function several_at_once		# directives of one address: the last word counts
	push	%rbp
	.cfi_def_cfa_offset 24
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -8
	.cfi_offset rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa rbp, 16
	nop
	leave
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	ret
finish several_at_once

function with_handler			# a personality is nothing to SFrame
	.cfi_personality 0x1b, leaf
	.cfi_lsda 0x1b, leaf
	push	%rax
	.cfi_def_cfa_offset 16
	pop	%rax
	.cfi_def_cfa_offset 8
	ret
finish with_handler

	# objdump 2.40 and 2.44 stop with an assertion on a row that starts where its function ends.
	.if	TABLE > 2
function row_at_the_end
	push	%rax
	.cfi_def_cfa_offset 16
	ud2
	.cfi_def_cfa_offset 8
finish row_at_the_end
	.endif

	# Pieces in sections of their own, as a compiler makes of cold code.
	.section .text.unlikely, "ax", @progbits
function cold
	.cfi_def_cfa rsp, 48
	.cfi_offset rbp, -24
	ud2
finish cold

	.section .text.startup, "ax", @progbits
function startup
	push	%rbp
	.cfi_def_cfa_offset 16
	pop	%rbp
	.cfi_def_cfa_offset 8
	ret
finish startup

	# As gcc leaves it of a path that cannot be taken. GNU ld puts it right before .text, but in the table behind the
	# first function there, which starts at the same address and was seen first.
function empty_startup
finish empty_startup
