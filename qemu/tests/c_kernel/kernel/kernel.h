#ifndef KERNEL_H
#define KERNEL_H

#include <stdint.h>

/* machine.c */
struct trap_frame;
void put_char(char c);
void install_traps(void);
void trap(struct trap_frame *frame);
_Noreturn void leave(void);

/* print.c */
void print(const char *text);
void print_number(uint64_t number);
void print_address(uint64_t address);

/* main.c */
_Noreturn void panic(const char *why);

/* shop.c */
void serve(unsigned customers);

#endif
