/* QEMU's board `virt`. */
#include "kernel.h"
#include "machine.h"

void put_char(char c)
{
	*(volatile uint32_t *)0x09000000 = c;
}

/* Ends the machine with status 101, as a debugger is asked to by semihosting. */
_Noreturn void leave(void)
{
	static const uint64_t block[] = { 0x20026, 101 };
	register uint64_t call __asm__("x0") = 0x18;
	register const uint64_t *argument __asm__("x1") = block;

	__asm__ volatile("hlt #0xf000" : : "r"(call), "r"(argument) : "memory");
	for (;;)
		__asm__ volatile("wfi");
}

extern char vectors[];

void install_traps(void)
{
	__asm__ volatile("msr vbar_el1, %0\n\tisb" : : "r"(vectors));
}

void trap(struct trap_frame *frame)
{
	print("trap, ESR_EL1 ");
	print_address(frame->esr);
	print(", at ");
	print_address(frame->elr);
	print("\n");
	if (frame->esr >> 26 != 0x3c)
		leave();
	/* A breakpoint goes on behind its instruction. */
	frame->elr += 4;
}
