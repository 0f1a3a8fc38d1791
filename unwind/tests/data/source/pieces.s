# Small functions in sections of their own, for linking side by side: in any architecture's assembly.
	.macro	function name
	.type	\name, %function
\name:
	.cfi_startproc
	.skip	4
	.cfi_def_cfa_offset 176
	.skip	8
	.cfi_def_cfa_offset 336
	.skip	4
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.section .text.first, "ax", %progbits
function first_piece
	.section .text.second, "ax", %progbits
function second_piece
function third_piece
	.section .text.third, "ax", %progbits
	.skip	16
function fourth_piece
