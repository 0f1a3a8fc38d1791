#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#define BREAKPOINT "int3"

/* What trap.S leaves on the stack. */
struct trap_frame {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
	uint64_t rbp, rdi, rsi, rdx, rcx, rbx, rax;
	uint64_t vector, code;
	uint64_t rip, cs, rflags, rsp, ss;
};

#endif
