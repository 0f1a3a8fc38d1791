# As amd64.s, for AArch64: every CFI directive that an assembler can turn into SFrame, and those it cannot. The symbol
# TABLE is the version: 1, 2 or 3. Serves both byte orders.

	.macro	function name
	.type	\name, %function
\name:
	.cfi_startproc
	.endm
	.macro	finish name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text

function leaf				// the return address stays in its register
	ret
finish leaf

function no_code			// of 0 bytes: contains no address
finish no_code

function frame_record			// the usual prologue and epilogue
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	.cfi_def_cfa_register 29
	nop
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa 31, 0
	ret
finish frame_record

function return_address_only		// two words
	str	x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -16
	nop
	ldr	x30, [sp], 16
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	ret
finish return_address_only

function one_after_the_other
	sub	sp, sp, #48
	.cfi_adjust_cfa_offset 48
	str	x30, [sp, 8]
	.cfi_rel_offset 30, 8
	str	x29, [sp]
	.cfi_rel_offset 29, 0
	nop
	ldr	x29, [sp]
	.cfi_restore 29
	ldr	x30, [sp, 8]
	.cfi_restore 30
	add	sp, sp, #48
	.cfi_adjust_cfa_offset -48
	ret
finish one_after_the_other

	// 2.40 writes the frame pointer's place as the return address's: the table is what counts here.
function frame_pointer_only		// cannot be said
	str	x29, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	nop
	ldr	x29, [sp], 16
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
finish frame_pointer_only

function remembered
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	cbz	x0, 1f
	.cfi_remember_state
	ldp	x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
1:
	.cfi_restore_state
	nop
	ldp	x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
finish remembered

function same_value
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	nop
	.cfi_same_value 29
	.cfi_same_value 30
	ldp	x29, x30, [sp], 16
	.cfi_def_cfa_offset 0
	ret
finish same_value

function untracked			// registers of which SFrame knows nothing
	stp	x19, x20, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 19, -32
	.cfi_offset 20, -24
	str	d8, [sp, 16]
	.cfi_offset 72, -16
	.cfi_undefined 9
	.cfi_register 21, 10
	nop
	ldp	x19, x20, [sp], 32
	.cfi_def_cfa_offset 0
	ret
finish untracked

function signed				// with key A
	paciasp
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	nop
	ldp	x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	autiasp
	.cfi_negate_ra_state
	ret
finish signed

function signed_with_key_b
	.cfi_b_key_frame
	pacibsp
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	.cfi_remember_state
	nop
	ldp	x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	autibsp
	.cfi_negate_ra_state
	ret
	.cfi_restore_state
	brk	#1
finish signed_with_key_b

function window_save			// the same opcode by another name
	paciasp
	.cfi_window_save
	nop
	autiasp
	.cfi_window_save
	ret
finish window_save

function words_of_1_byte
	sub	sp, sp, #112
	.cfi_def_cfa_offset 112
	stp	x29, x30, [sp]
	.cfi_offset 29, -112
	.cfi_offset 30, -104
	nop
	.cfi_def_cfa_offset 127
	nop
	.cfi_offset 29, -128
	nop
	.cfi_def_cfa_offset 128
	nop
	.cfi_offset 29, -136
	ret
finish words_of_1_byte

function words_of_2_bytes
	sub	sp, sp, #4096
	.cfi_def_cfa_offset 4096
	stp	x29, x30, [sp]
	.cfi_offset 29, -4096
	.cfi_offset 30, -4088
	nop
	.cfi_def_cfa_offset 32767
	nop
	.cfi_offset 29, -32768
	nop
	.cfi_def_cfa_offset 32768
	ret
finish words_of_2_bytes

function words_of_4_bytes
	sub	sp, sp, #1048576
	.cfi_def_cfa_offset 1048576
	stp	x29, x30, [sp]
	.cfi_offset 29, -1048576
	.cfi_offset 30, -1048568
	nop
	.cfi_def_cfa_offset 0x7fffffff
	ret
finish words_of_4_bytes

function bytes_252			// the longest with row starts of 1 byte
	str	x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -16
	.rept	60
	nop
	.endr
	ldr	x30, [sp], 16
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	ret
finish bytes_252

function bytes_256			// the shortest with row starts of 2 bytes
	str	x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -16
	.rept	61
	nop
	.endr
	ldr	x30, [sp], 16
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	ret
finish bytes_256

function bytes_65536			// the shortest with row starts of 4 bytes
	str	x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -16
	.rept	16381
	nop
	.endr
	ldr	x30, [sp], 16
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	ret
finish bytes_65536

function bytes_200000
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	.rept	17500
	nop
	.endr
	mov	x29, sp
	.cfi_def_cfa_register 29
	.rept	32498
	nop
	.endr
	ldp	x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa 31, 0
	ret
finish bytes_200000

function outermost			// no return address: the end of every stack
	.cfi_undefined 30
	nop
	brk	#1
finish outermost

function outermost_later
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	nop
	.cfi_undefined 30
	mov	x30, xzr
	brk	#1
finish outermost_later

function undefined_frame_pointer	// cannot be said
	.cfi_undefined 29
	ret
finish undefined_frame_pointer

function signal_frame			// rows that can be said
	.cfi_signal_frame
	.cfi_def_cfa 31, 272
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	nop
	.cfi_def_cfa 29, 64
	ret
finish signal_frame

function signal_frame_without_rows	// an expression
	.cfi_signal_frame
	.cfi_escape 0x16, 0x1e, 0x02, 0x8f, 0x10	// DW_CFA_val_expression x30: sp + 16
	nop
	ret
finish signal_frame_without_rows

function return_address_in_register	// cannot be said
	mov	x9, x30
	.cfi_register 30, 9
	ret	x9
finish return_address_in_register

function frame_pointer_in_register	// cannot be said
	mov	x9, x29
	.cfi_register 29, 9
	ret
finish frame_pointer_in_register

function cfa_in_register		// cannot be said
	mov	x9, sp
	.cfi_def_cfa 9, 0
	ret
finish cfa_in_register

function val_offset			// cannot be said
	.cfi_val_offset 29, -16
	ret
finish val_offset

function val_offset_of_stack_pointer	// 0: what the ABI says anyway
	.cfi_val_offset 31, 0
	ret
finish val_offset_of_stack_pointer

function other_return_column
	.cfi_return_column 17
	ret
finish other_return_column

	.type	simple, %function
simple:					// without the rows that every function starts with
	.cfi_startproc simple
	nop
	.cfi_def_cfa 31, 0
	ret
finish simple

	.type	simple_and_empty, %function
simple_and_empty:
	.cfi_startproc simple
	ret
finish simple_and_empty

	// objdump 2.40 and 2.44 stop with an assertion on a row that starts where its function ends.
	.if	TABLE > 2
function row_at_the_end
	sub	sp, sp, #16
	.cfi_def_cfa_offset 16
	brk	#1
	.cfi_def_cfa_offset 0
finish row_at_the_end
	.endif

	// Pieces in sections of their own, as a compiler makes of cold code.
	.section .text.unlikely, "ax", %progbits
function cold
	.cfi_def_cfa 29, 48
	.cfi_offset 29, -48
	.cfi_offset 30, -40
	brk	#1
finish cold

	.section .text.startup, "ax", %progbits
function startup
	sub	sp, sp, #16
	.cfi_def_cfa_offset 16
	add	sp, sp, #16
	.cfi_def_cfa_offset 0
	ret
finish startup

	// As gcc leaves it of a path that cannot be taken. GNU ld puts it right before .text, but in the table behind the
	// first function there, which starts at the same address and was seen first.
function empty_startup
finish empty_startup
