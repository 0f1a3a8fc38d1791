/* A kernel that keeps shop, and is not good at it. */
#include "kernel.h"
#include "machine.h"

void kernel_main(void)
{
	install_traps();
	print("open for business\n");
	serve(3);
	leave();
}

_Noreturn void panic(const char *why)
{
	print("panic: ");
	print(why);
	print("\n");
	leave();
}
