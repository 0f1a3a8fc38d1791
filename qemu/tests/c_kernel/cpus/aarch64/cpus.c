/* Another processor, which the firmware starts, and the interrupt controller, a GICv2. */
#include "kernel.h"
#include "machine.h"

extern char other[];

__asm__(".text\n"
	".balign 4\n"
	".type other, %function\n"
	"other: ldr x0, =level1\n"
	"	msr ttbr0_el1, x0\n"
	"	ldr x0, =0xff04\n"
	"	msr mair_el1, x0\n"
	"	ldr x0, =0x200803519\n"
	"	msr tcr_el1, x0\n"
	"	isb\n"
	"	ldr x0, =0x30d0180d\n"
	"	msr sctlr_el1, x0\n"
	"	isb\n"
	"	ldr x0, =other_stack + 0x4000\n"
	"	mov sp, x0\n"
	"	mov x29, xzr\n"
	"	mov x30, xzr\n"
	"	bl work\n"
	"	.ltorg\n");

static volatile uint32_t *const distributor = (uint32_t *)0x08000000, *const interface = (uint32_t *)0x08010000;

void start_other(void)
{
	register uint64_t call __asm__("x0") = 0xc4000003, number __asm__("x1") = 1, entry __asm__("x2") = (uint64_t)other;

	distributor[0] = 1;
	__asm__ volatile("hvc #0" : "+r"(call), "+r"(number), "+r"(entry) : : "x3", "memory");
}

/* Sends an FIQ to all others. */
void stop_other(void)
{
	distributor[0xf00 / 4] = 1 << 24;
}

void accept_interrupts(void)
{
	interface[1] = 0xff;
	interface[0] = 1 | 1 << 3;
	__asm__ volatile("msr daifclr, #1");
}

int is_interrupt(void)
{
	uint32_t interrupt = interface[3];

	interface[4] = interrupt;
	return (interrupt & 0x3ff) < 16;
}
