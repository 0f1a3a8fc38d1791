/* What goes wrong. */
#include "kernel.h"
#include "machine.h"

static unsigned apples = 2;

static unsigned take(unsigned wanted)
{
	if (wanted > apples)
		panic("no apples left");
	apples -= wanted;
	return wanted * 3;
}

static __attribute__((noinline)) void sell(unsigned customer)
{
	unsigned price = take(customer / 2 + 1);

	print("that is ");
	print_number(price);
	print("\n");
}

void serve(unsigned customers)
{
	for (unsigned customer = 1; customer <= customers; customer++) {
		print("customer ");
		print_number(customer);
		print("\n");
		if (customer == 2)
			__asm__ volatile(BREAKPOINT);
		sell(customer);
	}
}
