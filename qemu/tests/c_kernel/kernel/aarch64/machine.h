#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#define BREAKPOINT "brk #0"

/* What trap.S leaves on the stack. */
struct trap_frame {
	uint64_t x[31];
	uint64_t elr, spsr, esr;
};

#endif
