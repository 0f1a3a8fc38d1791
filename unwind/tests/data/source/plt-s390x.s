# Calls through the procedure linkage table of s390x, for which GNU ld writes the rows itself (PC-mask).
	.text
	.globl	caller
	.type	caller, @function
caller:
	.cfi_startproc
	stmg	%r14, %r15, 112(%r15)
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	brasl	%r14, first@PLT
	brasl	%r14, second@PLT
	lmg	%r14, %r15, 272(%r15)
	.cfi_restore 15
	.cfi_restore 14
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	.size	caller, . - caller
