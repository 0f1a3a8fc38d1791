/* A user program, at EL0. */
#include "kernel.h"
#include "machine.h"

extern char stack_end[];

/* Where boot.S maps the kernel's memory once more, for user code. */
#define ALIAS 0x40000000

/* Reads where nothing is, or calls the kernel, which panics. */
extern char user_read[], user_stop[];
__asm__(".text\n.balign 4\nuser_read: mov x0, #0xc0000000\n\tldr x0, [x0]\nuser_stop: svc #0\n");

void run_user(int reads)
{
	uint64_t pc = (uint64_t)(reads ? user_read : user_stop) + ALIAS;

	__asm__ volatile("msr elr_el1, %0\n\tmsr spsr_el1, xzr\n\tmsr sp_el0, xzr\n\tmov sp, %1\n\teret" : : "r"(pc), "r"(stack_end));
	__builtin_unreachable();
}
