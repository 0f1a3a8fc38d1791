/* What another processor does. */
#include "kernel.h"

char other_stack[0x4000] __attribute__((aligned(16)));
volatile int works;

static __attribute__((noinline)) void sweep(void)
{
	for (;;)
		works = 1;
}

void accept_interrupts(void);

void work(void)
{
	install_traps();
#if defined(__aarch64__)
	accept_interrupts();
#endif
	sweep();
	leave();
}
