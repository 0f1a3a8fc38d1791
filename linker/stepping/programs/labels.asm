; Assembly for NASM: labels without types and sizes; those that begin with a dot become symbols of their own.
bits 64
default rel
global _start
section .text
_start:
	xor ebp, ebp
	call main
	mov edi, eax
	mov eax, 60
	syscall
	hlt

leaf:
	lea rax, [rdi + 1]
	ret

copy:
	push rbx
	mov rbx, rdi
	xor eax, eax
.loop:
	add rax, rbx
	call leaf
	dec rbx
	jnz .loop
.done:
	pop rbx
	ret

frame:
	push rbp
	mov rbp, rsp
	push r12
	mov r12, rdi
.again:
	lea rax, [r12 * 8 + 15]
	and rax, -16
	sub rsp, rax
	mov rdi, r12
	call copy
	dec r12
	jnz .again
	mov r12, [rbp - 8]
	leave
	ret

choose:
	push rbx
	mov rbx, rdi
	cmp rdi, 3
	ja .other
	lea rax, [.table]
	jmp [rax + rdi * 8]
.zero:
	call leaf
	jmp .out
.one:
	push rbx
	push 7
	call leaf
	add rsp, 16
	jmp .out
.two:
	mov edi, 2
	call frame
.other:
	mov rax, rbx
.out:
	pop rbx
	ret
align 8
.table:
	dq .zero, .one, .two, .other

enters:
	enter 32, 0
	mov [rbp - 8], rdi
	call copy
	mov rax, [rbp - 8]
	leave
	ret

falls:
	inc rdi
next:
	push rdi
	call leaf
	pop rdi
	ret

main:
	push rbx
	push r12
	sub rsp, 24
	mov ebx, 5
.loop:
	xor r12d, r12d
.functions:
	mov rdi, rbx
	lea rax, [functions]
	call [rax + r12 * 8]
	inc r12
	cmp r12, 7
	jb .functions
	dec rbx
	jnz .loop
	add rsp, 24
	pop r12
	pop rbx
	xor eax, eax
	ret

section .data
align 8
functions:
	dq leaf, copy, frame, choose, enters, falls, next
section .note.GNU-stack noalloc noexec nowrite progbits
