# As amd64.s, for s390x: every CFI directive that an assembler can turn into SFrame, and those it cannot. Offsets of
# the CFA are stored less 160 and divided by 8.

	.macro	function name
	.align	2
	.type	\name, @function
\name:
	.cfi_startproc
	.endm
	.macro	finish name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text

function leaf				# the return address stays in its register
	br	%r14
finish leaf

function no_code			# of 0 bytes: contains no address
finish no_code

function frame				# the usual prologue and epilogue
	stmg	%r11, %r15, 88(%r15)
	.cfi_offset 11, -72
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	lgr	%r11, %r15
	.cfi_def_cfa_register 11
	nopr
	lmg	%r11, %r15, 248(%r11)
	.cfi_restore 15
	.cfi_restore 14
	.cfi_restore 11
	.cfi_def_cfa 15, 160
	br	%r14
finish frame

function return_address_only
	stg	%r14, 112(%r15)
	.cfi_rel_offset 14, 112
	aghi	%r15, -176
	.cfi_adjust_cfa_offset 176
	nopr
	aghi	%r15, 176
	.cfi_adjust_cfa_offset -176
	lg	%r14, 112(%r15)
	.cfi_restore 14
	br	%r14
finish return_address_only

function frame_pointer_only		# a padding word stands for the return address
	stg	%r11, 88(%r15)
	.cfi_offset 11, -72
	nopr
	lg	%r11, 88(%r15)
	.cfi_restore 11
	br	%r14
finish frame_pointer_only

function in_registers			# what gcc does in leaf functions: kept in floating-point registers
	ldgr	%f2, %r11
	.cfi_register 11, 17
	ldgr	%f0, %r14
	.cfi_register 14, 16
	lgr	%r11, %r15
	.cfi_def_cfa_register 11
	nopr
	lgdr	%r14, %f0
	.cfi_restore 14
	lgdr	%r11, %f2
	.cfi_restore 11
	.cfi_def_cfa_register 15
	br	%r14
finish in_registers

function frame_pointer_in_register	# alone, so that the padding word is used
	ldgr	%f2, %r11
	.cfi_register 11, 17
	nopr
	lgdr	%r11, %f2
	.cfi_restore 11
	br	%r14
finish frame_pointer_in_register

function far_register			# a number beyond the 5 bits of a control word of 1 byte
	.cfi_register 11, 33
	nopr
	.cfi_register 14, 32
	br	%r14
finish far_register

function cfa_in_register
	lgr	%r1, %r15
	.cfi_def_cfa 1, 160
	nopr
	.cfi_def_cfa 1, 4096
	.cfi_offset 14, -48
	br	%r14
finish cfa_in_register

function remembered
	stmg	%r11, %r15, 88(%r15)
	.cfi_offset 11, -72
	.cfi_offset 14, -48
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	.cfi_remember_state
	lmg	%r11, %r15, 248(%r15)
	.cfi_restore 14
	.cfi_restore 11
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_restore_state
	nopr
	lmg	%r11, %r15, 248(%r15)
	.cfi_restore 14
	.cfi_restore 11
	.cfi_def_cfa_offset 160
	br	%r14
finish remembered

function same_value
	stmg	%r11, %r15, 88(%r15)
	.cfi_offset 11, -72
	.cfi_offset 14, -48
	nopr
	.cfi_same_value 11
	.cfi_same_value 14
	br	%r14
finish same_value

function untracked			# registers of which SFrame knows nothing
	stmg	%r6, %r15, 48(%r15)
	.cfi_offset 6, -112
	.cfi_offset 7, -104
	.cfi_offset 15, -40
	ldgr	%f4, %r9
	.cfi_register 9, 18
	.cfi_undefined 1
	br	%r14
finish untracked

function words				# 1 byte up to a CFA offset of 160 + 8 * 127, then 2, then 4
	stmg	%r11, %r15, 88(%r15)
	.cfi_def_cfa_offset 1176
	nopr
	.cfi_def_cfa_offset 1184
	nopr
	.cfi_def_cfa_offset 262296
	nopr
	.cfi_def_cfa_offset 262304
	nopr
	.cfi_def_cfa_offset 0x7ffffff8
	nopr
	.cfi_offset 14, -1024
	nopr
	.cfi_offset 11, -0x10000
	br	%r14
finish words

function unaligned			# a CFA offset that is no multiple of 8: cannot be said
	.cfi_def_cfa_offset 164
	br	%r14
finish unaligned

function bytes_254			# the longest with row starts of 1 byte
	aghi	%r15, -8
	.cfi_def_cfa_offset 168
	.skip	244, 0x07
	aghi	%r15, 8
	.cfi_def_cfa_offset 160
	br	%r14
finish bytes_254

function bytes_256			# the shortest with row starts of 2 bytes
	aghi	%r15, -8
	.cfi_def_cfa_offset 168
	.skip	246, 0x07
	aghi	%r15, 8
	.cfi_def_cfa_offset 160
	br	%r14
finish bytes_256

function bytes_65536			# the shortest with row starts of 4 bytes
	aghi	%r15, -8
	.cfi_def_cfa_offset 168
	.skip	65526, 0x07
	aghi	%r15, 8
	.cfi_def_cfa_offset 160
	br	%r14
finish bytes_65536

function outermost			# no return address: the end of every stack
	.cfi_undefined 14
	nopr
	br	%r14
finish outermost

function outermost_later		# in a flexible function
	ldgr	%f2, %r11
	.cfi_register 11, 17
	nopr
	.cfi_undefined 14
	br	%r14
finish outermost_later

function undefined_frame_pointer	# cannot be said
	.cfi_undefined 11
	br	%r14
finish undefined_frame_pointer

function signal_frame			# rows that can be said
	.cfi_signal_frame
	.cfi_def_cfa 15, 640
	.cfi_offset 11, -200
	.cfi_offset 14, -176
	nopr
	br	%r14
finish signal_frame

function signal_frame_without_rows	# an expression
	.cfi_signal_frame
	.cfi_escape 0x16, 0x0e, 0x02, 0x7f, 0x10	# DW_CFA_val_expression r14: r15 + 16
	nopr
	br	%r14
finish signal_frame_without_rows

function val_offset			# cannot be said
	.cfi_val_offset 11, -16
	br	%r14
finish val_offset

function val_offset_of_stack_pointer	# -160: what the ABI says anyway
	.cfi_val_offset 15, -160
	br	%r14
finish val_offset_of_stack_pointer

function stack_pointer_in_register
	lgr	%r5, %r15
	.cfi_register 15, 5
	br	%r14
finish stack_pointer_in_register

function other_return_column
	.cfi_return_column 13
	br	%r14
finish other_return_column

	.type	simple, @function
simple:					# without the rows that every function starts with
	.cfi_startproc simple
	nopr
	.cfi_def_cfa 15, 160
	br	%r14
finish simple

function row_at_the_end
	aghi	%r15, -8
	.cfi_def_cfa_offset 168
	br	%r14
	.cfi_def_cfa_offset 160
finish row_at_the_end

	# Pieces in sections of their own, as a compiler makes of cold code.
	.section .text.unlikely, "ax", @progbits
function cold
	.cfi_def_cfa 11, 320
	.cfi_offset 11, -72
	.cfi_offset 14, -48
	br	%r14
finish cold

	.section .text.startup, "ax", @progbits
function startup
	aghi	%r15, -8
	.cfi_def_cfa_offset 168
	aghi	%r15, 8
	.cfi_def_cfa_offset 160
	br	%r14
finish startup

	# As gcc leaves it of a path that cannot be taken. GNU ld puts it right before .text, but in the table behind the
	# first function there, which starts at the same address and was seen first.
function empty_startup
finish empty_startup
