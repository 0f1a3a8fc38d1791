/* Assembly in the styles that people write. STYLE 1: directives, types and sizes. 2: types and sizes. 3: types. 4: global labels only.
   5: as 4, and inner labels are symbols, too. 6: types and sizes, and inner labels are symbols. */
	.text
#if STYLE == 1
#define CFI(...) __VA_ARGS__
#else
#define CFI(...)
#endif
#if STYLE == 1 || STYLE == 2 || STYLE == 6
#define FUNCTION(name) .globl name; .type name, @function; name: CFI(.cfi_startproc)
#define END(name) CFI(.cfi_endproc;) .size name, . - name
#elif STYLE == 3
#define FUNCTION(name) .globl name; .type name, @function; name:
#define END(name)
#else
#define FUNCTION(name) .globl name; name:
#define END(name)
#endif
#if STYLE >= 5
#define L(name) name
#else
#define L(name) .L##name
#endif

FUNCTION(leaf)
	lea 1(%rdi), %rax
	ret
END(leaf)

/* A loop behind a push. */
FUNCTION(copy)
	push %rbx
	CFI(.cfi_adjust_cfa_offset 8)
	mov %rdi, %rbx
	xor %eax, %eax
L(copy_loop):
	add %rbx, %rax
	call leaf
	dec %rbx
	jnz L(copy_loop)
L(copy_done):
	pop %rbx
	CFI(.cfi_adjust_cfa_offset -8)
	ret
END(copy)

/* A frame pointer, and a stack that grows by an unknown number. */
FUNCTION(frame)
	push %rbp
	CFI(.cfi_def_cfa_offset 16; .cfi_offset %rbp, -16)
	mov %rsp, %rbp
	CFI(.cfi_def_cfa_register %rbp)
	push %r12
	CFI(.cfi_offset %r12, -24)
	mov %rdi, %r12
L(frame_again):
	lea 15(,%r12,8), %rax
	and $-16, %rax
	sub %rax, %rsp
	mov %r12, %rdi
	call copy
	dec %r12
	jnz L(frame_again)
	mov -8(%rbp), %r12
	leave
	CFI(.cfi_def_cfa %rsp, 8)
	ret
END(frame)

/* Early return, two epilogues, and a tail jump. */
FUNCTION(early)
	test %rdi, %rdi
	jz L(early_out)
	sub $24, %rsp
	CFI(.cfi_adjust_cfa_offset 24)
	mov %rdi, 8(%rsp)
	call leaf
	mov 8(%rsp), %rdi
	cmp $3, %rdi
	jb L(early_small)
	add $24, %rsp
	CFI(.cfi_remember_state; .cfi_adjust_cfa_offset -24)
	jmp copy
L(early_small):
	CFI(.cfi_restore_state)
	add $24, %rsp
	CFI(.cfi_adjust_cfa_offset -24)
L(early_out):
	xor %eax, %eax
	ret
END(early)

/* A jump table. */
FUNCTION(choose)
	push %rbx
	CFI(.cfi_adjust_cfa_offset 8)
	mov %rdi, %rbx
	cmp $3, %rdi
	ja L(choose_other)
	lea L(choose_table)(%rip), %rax
	movslq (%rax,%rdi,4), %rdx
	add %rdx, %rax
	jmp *%rax
L(choose_zero):
	call leaf
	jmp L(choose_out)
L(choose_one):
	push %rbx
	CFI(.cfi_adjust_cfa_offset 8)
	push $7
	CFI(.cfi_adjust_cfa_offset 8)
	call leaf
	add $16, %rsp
	CFI(.cfi_adjust_cfa_offset -16)
	jmp L(choose_out)
L(choose_two):
	mov $2, %edi
	call frame
L(choose_other):
	mov %rbx, %rax
L(choose_out):
	pop %rbx
	CFI(.cfi_adjust_cfa_offset -8)
	ret
END(choose)

/* A function that falls into the next one. */
FUNCTION(falls)
	inc %rdi
END(falls)
FUNCTION(next)
	push %rdi
	CFI(.cfi_adjust_cfa_offset 8)
	call leaf
	pop %rdi
	CFI(.cfi_adjust_cfa_offset -8)
	ret
END(next)

/* A subroutine inside a function. */
FUNCTION(outer)
	push %rbx
	CFI(.cfi_adjust_cfa_offset 8)
	mov %rdi, %rbx
	call L(outer_sub)
	call L(outer_sub)
	pop %rbx
	CFI(.cfi_adjust_cfa_offset -8)
	ret
L(outer_sub):
	CFI(.cfi_adjust_cfa_offset -8; .cfi_def_cfa %rsp, 8)
	add %rbx, %rax
	push %rax
	CFI(.cfi_adjust_cfa_offset 8)
	call leaf
	pop %rdx
	CFI(.cfi_adjust_cfa_offset -8)
	ret
END(outer)

/* Two functions with a shared tail. */
FUNCTION(first)
	push %rbx
	CFI(.cfi_adjust_cfa_offset 8)
	mov $1, %ebx
	jmp shared
END(first)
FUNCTION(second)
	push %rbx
	CFI(.cfi_adjust_cfa_offset 8)
	mov $2, %ebx
	call leaf
END(second)
	.globl shared
#if STYLE == 1
	.cfi_startproc
	.cfi_def_cfa_offset 16
#endif
shared:
	add %rbx, %rax
	call leaf
	pop %rbx
	CFI(.cfi_adjust_cfa_offset -8)
	ret
	CFI(.cfi_endproc)

/* Arguments on the stack, which the function takes off. */
FUNCTION(takes)
	mov 8(%rsp), %rax
	add 16(%rsp), %rax
	ret $16
END(takes)
FUNCTION(gives)
	push %rbp
	CFI(.cfi_def_cfa_offset 16; .cfi_offset %rbp, -16)
	mov %rsp, %rbp
	CFI(.cfi_def_cfa_register %rbp)
	push %rdi
	push %rdi
	call takes
	call leaf
	pop %rbp
	CFI(.cfi_def_cfa %rsp, 8)
	ret
END(gives)

/* Another stack for one call. */
FUNCTION(on_other_stack)
	push %rbp
	CFI(.cfi_def_cfa_offset 16; .cfi_offset %rbp, -16)
	mov %rsp, %rbp
	CFI(.cfi_def_cfa_register %rbp)
	lea other_stack_end(%rip), %rsp
	call frame
	mov %rbp, %rsp
	pop %rbp
	CFI(.cfi_def_cfa %rsp, 8)
	ret
END(on_other_stack)

/* A call through a table of functions, the address of a label, and string instructions. */
FUNCTION(main)
	push %rbx
	CFI(.cfi_adjust_cfa_offset 8)
	push %r12
	CFI(.cfi_adjust_cfa_offset 8)
	sub $24, %rsp
	CFI(.cfi_adjust_cfa_offset 24)
	mov $5, %ebx
L(main_loop):
	xor %r12d, %r12d
L(main_functions):
	mov %rbx, %rdi
	lea functions(%rip), %rax
	call *(%rax,%r12,8)
	inc %r12
	cmp $12, %r12
	jb L(main_functions)
	lea buffer(%rip), %rdi
	mov $64, %ecx
	xor %eax, %eax
	rep stosb
	lea L(main_after)(%rip), %rax
	push %rax
	CFI(.cfi_adjust_cfa_offset 8)
	jmp leaf
L(main_after):
	CFI(.cfi_adjust_cfa_offset -8)
	dec %rbx
	jnz L(main_loop)
	add $24, %rsp
	CFI(.cfi_adjust_cfa_offset -24)
	pop %r12
	CFI(.cfi_adjust_cfa_offset -8)
	pop %rbx
	CFI(.cfi_adjust_cfa_offset -8)
	xor %eax, %eax
	ret
END(main)

	.section .rodata
	.balign 8
functions:
	.quad leaf, copy, frame, early, choose, falls, next, outer, first, second, gives
	.quad on_other_stack
L(choose_table):
	.long L(choose_zero) - L(choose_table), L(choose_one) - L(choose_table), L(choose_two) - L(choose_table), L(choose_other) - L(choose_table)
	.bss
buffer:
	.skip 64
	.balign 16
	.skip 8192
other_stack_end:
	.skip 16
	.section .note.GNU-stack, "", @progbits
