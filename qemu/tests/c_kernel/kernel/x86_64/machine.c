/* A PC, as QEMU has it. */
#include "kernel.h"
#include "machine.h"

static void out(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

void put_char(char c)
{
	out(0x3f8, c);
}

/* Ends the machine with status 101, as isa-debug-exit is asked to. */
_Noreturn void leave(void)
{
	out(0xf4, 50);
	for (;;)
		__asm__ volatile("hlt");
}

struct gate {
	uint16_t low, selector, attributes, middle;
	uint32_t high, zero;
};

static struct gate gates[15];

static void set_gate(unsigned vector, void (*entry)(void))
{
	uint64_t address = (uint64_t)entry;

	gates[vector] = (struct gate){ address, 8, 0x8e00, address >> 16, address >> 32, 0 };
}

extern void trap_3(void), trap_6(void), trap_14(void);

void install_traps(void)
{
	struct __attribute__((packed)) {
		uint16_t limit;
		uint64_t base;
	} pointer = { sizeof(gates) - 1, (uint64_t)gates };

	set_gate(3, trap_3);
	set_gate(6, trap_6);
	set_gate(14, trap_14);
	__asm__ volatile("lidt %0" : : "m"(pointer) : "memory");
}

void trap(struct trap_frame *frame)
{
	print("trap ");
	print_number(frame->vector);
	print(" at ");
	print_address(frame->rip);
	print("\n");
	if (frame->vector != 3)
		leave();
}
