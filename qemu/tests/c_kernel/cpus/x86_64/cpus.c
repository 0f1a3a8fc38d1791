/* Another processor, which the local APIC starts. */
#include "kernel.h"
#include "machine.h"

extern uint64_t level3[];
extern char page[], page_end[];

__asm__(".section .rodata\n"
	"page: .code16\n"
	"	cli\n"
	"	jmp 1f\n"
	".org page + 8\n"
	"	.word 15\n"
	"	.long gdt\n"
	"1:	movw %cs, %ax\n"
	"	movw %ax, %ds\n"
	"	lgdtl 8\n"
	"	movl $0x20, %eax\n"
	"	movl %eax, %cr4\n"
	"	movl $level4, %eax\n"
	"	movl %eax, %cr3\n"
	"	movl $0xc0000080, %ecx\n"
	"	rdmsr\n"
	"	orl $0x100, %eax\n"
	"	wrmsr\n"
	"	movl $0x80000011, %eax\n"
	"	movl %eax, %cr0\n"
	"	.byte 0x66, 0xea\n"
	"	.long other\n"
	"	.word 8\n"
	"page_end: .code64\n"
	".text\n"
	".type other, @function\n"
	"other: xorl %eax, %eax\n"
	"	movl %eax, %ds\n"
	"	movl %eax, %es\n"
	"	movl %eax, %ss\n"
	"	movl $other_stack + 0x4000, %esp\n"
	"	xorl %ebp, %ebp\n"
	"	call work\n");

static uint64_t devices[512] __attribute__((aligned(4096)));

static void command(uint32_t value)
{
	volatile uint32_t *icr = (uint32_t *)0xfee00300;

	*icr = value;
	while (*icr & 1 << 12)
		;
}

void start_other(void)
{
	/* The APIC, not cached. */
	devices[0x1f7] = 0xfee0009b;
	level3[3] = (uint64_t)devices + 3;
	for (char *from = page; from < page_end; from++)
		((volatile char *)0x8000)[from - page] = *from;
	command(0xc4500);
	command(0xc4608);
}

/* Sends an NMI to all others. */
void stop_other(void)
{
	command(0xc4400);
}
