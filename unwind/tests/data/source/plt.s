# Calls through every kind of procedure linkage table that GNU ld makes for x86-64: .plt for both, and .plt.got for the
# one whose address is taken as well. ld writes the rows for these tables itself (PC-mask).
	.text
	.globl	caller
	.type	caller, @function
caller:
	.cfi_startproc
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	call	first@PLT
	call	second@PLT
	call	third@PLT
	mov	fourth@GOTPCREL(%rip), %rax
	call	fourth@PLT
	add	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	caller, . - caller
