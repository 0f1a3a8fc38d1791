/* A user program, in ring 3. */
#include "kernel.h"
#include "machine.h"

extern char stack_end[];

/* Where boot.S maps the kernel's memory once more, for user code. */
#define ALIAS 0x40000000

/* The kernel's code, user data and code, and the task state segment, which says where an exception's stack begins. */
static uint64_t gdt[6] = { 0, 0x00af9b000000ffff, 0x00cff3000000ffff, 0x00affb000000ffff };
static struct __attribute__((packed)) {
	uint32_t reserved;
	uint64_t rsp0;
	uint32_t rest[23];
} task;

/* Reads where nothing is, or raises an exception that the kernel panics at. */
extern char user_read[], user_stop[];
__asm__(".text\nuser_read: movl 0x10, %eax\nuser_stop: ud2\n");

void run_user(int reads)
{
	struct __attribute__((packed)) {
		uint16_t limit;
		uint64_t base;
	} pointer = { sizeof(gdt) - 1, (uint64_t)gdt };
	uint64_t at = (uint64_t)&task, pc = (uint64_t)(reads ? user_read : user_stop) + ALIAS;

	task.rsp0 = (uint64_t)stack_end;
	gdt[4] = 103 | (at & 0xffffff) << 16 | 0x89ULL << 40 | (at >> 24 & 0xff) << 56;
	gdt[5] = at >> 32;
	__asm__ volatile("lgdt %0\n\tltr %w1" : : "m"(pointer), "r"(0x20) : "memory");
	__asm__ volatile("pushq $0x13\n\tpushq $0\n\tpushq $2\n\tpushq $0x1b\n\tpushq %0\n\tiretq" : : "r"(pc));
	__builtin_unreachable();
}
