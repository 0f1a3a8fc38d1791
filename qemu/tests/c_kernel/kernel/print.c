#include "kernel.h"

void print(const char *text)
{
	while (*text)
		put_char(*text++);
}

void print_number(uint64_t number)
{
	if (number >= 10)
		print_number(number / 10);
	put_char('0' + number % 10);
}

void print_address(uint64_t address)
{
	print("0x");
	for (int shift = 60; shift >= 0; shift -= 4)
		put_char("0123456789abcdef"[address >> shift & 15]);
}
