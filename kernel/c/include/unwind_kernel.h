/*
 * Who called whom, for a kernel in C: the functions of libunwind_kernel.a. `docs/guide/c.md` has all that a kernel has to change.
 *
 * A report is lines of text, each with '\n' at its end. It takes no lock, allocates nothing, and stops no other processor, as
 * unwind_stop_others does. It takes 5 KiB of the stack it is written on. A failure while a report is written adds one line, if it is reported too, and one during that
 * line adds none. Until the first report has ended, any other, of any processor, is one line; for good, if it never ends.
 *
 * The library uses neither floating-point nor vector registers, and no red zone. On AArch64 it uses x18: a kernel that is built with
 * -ffixed-x18 links the library that the guide builds without x18. It calls memcpy, memmove, memset, memcmp and strlen:
 * your kernel's, if it has them, otherwise its own, whose symbols are weak.
 */
#ifndef UNWIND_KERNEL_H
#define UNWIND_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes one character to the console. It must not wait for a lock, since whoever holds it may be what has failed. `put_char` must not
 * be null: nothing would be written.
 */
typedef void unwind_put_char(char character);

/* The registers of code that was interrupted, as trap code has saved them: of the instruction that failed, or is next. */
struct unwind_registers {
#if defined(__x86_64__)
	uint64_t rip, rsp, rbp;
	uint64_t is_user; /* cs & 3: not 0 if it was user code, which is no part of a trace */
#elif defined(__aarch64__)
	uint64_t pc; /* ELR_EL1 */
	uint64_t sp; /* if spsr & 1: the address behind the frame that trap code has made; otherwise, from EL0 or from EL1 with SP_EL0: SP_EL0 */
	uint64_t x29, x30;
	uint64_t is_user; /* (spsr & 15) == 0: not 0 if it was user code, which is no part of a trace */
#else
#error "unwind_kernel.h knows x86-64 and AArch64"
#endif
};

/* Addresses from `start` up to, and without, `end`. */
struct unwind_stack {
	uint64_t start, end;
};

/*
 * Writes a report of what led here: `why`, which is the first line and may be null; the machine and its tables; registers, and all
 * callers of this function. It returns. For panic().
 */
void unwind_print(unwind_put_char *put_char, const char *why);

/*
 * The same of code that was interrupted, for the handler of exceptions. Trap code needs no unwind rules for it.
 * Without registers (null) it is unwind_print.
 */
void unwind_fault(unwind_put_char *put_char, const char *why, const struct unwind_registers *interrupted);

/*
 * The same of code that was interrupted, for a handler that compilers or assembly describe with unwind rules and that has no registers to
 * pass: `__attribute__((interrupt))` on x86-64. Its own frames are left out. unwind_print has them too.
 */
void unwind_print_interrupted(unwind_put_char *put_char, const char *why);

/*
 * The smallest report, in place of unwind_print and unwind_fault: `why`, registers and 4 to 8 KiB of the stack's words. The trace is
 * made on the host, of the log: unwind-qemu autopsy LOG --image KERNEL. A link with --gc-sections leaves out what else the library has.
 */
void unwind_print_stack(unwind_put_char *put_char, const char *why);
void unwind_fault_stack(unwind_put_char *put_char, const char *why, const struct unwind_registers *interrupted);

/*
 * Tells where all of physical memory is mapped: 0 if it lies at its own addresses. On x86-64 a report reads page tables there, and then
 * whatever they map as memory; without this it reads only stacks that unwind_stacks_by has told, and the image. The page tables must be
 * readable there, wherever they lie; cached mappings must be memory. A read that faults is an exception of your kernel. On AArch64 it is
 * not needed: the MMU is asked, if it is on.
 */
void unwind_physical_memory_at(uint64_t address);

/*
 * Tells which stack has a stack pointer: of this processor, of a task, with its guard page below if page tables can be asked; or an empty
 * one, {0, 0}, if it is not known. A trace that ends where such a stack begins is complete. The function is called during a
 * report, so it takes no lock and must not fail. Null changes nothing.
 */
void unwind_stacks_by(struct unwind_stack (*stack_of)(uint64_t sp));

#if defined(__aarch64__)
/*
 * Tells where trap code that has unwind rules saves x30 and SPSR_EL1, and how many bytes it has on the stack in all, from sp on when it
 * calls the handler. Then a trace across it ends at user code, and has the callers of an interrupted function that keeps its return
 * address in x30. On x86-64 the processor tells.
 */
void unwind_trap_frame(uint32_t x30, uint32_t spsr, uint32_t size);
#endif

/*
 * Stops all other processors for ever, so that the report that follows is the only one, and has the callers of each of them too. For a
 * failure that ends the kernel: before unwind_print or unwind_fault, and not before a report from which the kernel goes on. `stop` sends
 * all others an interrupt that reaches them wherever they are, such as an NMI, whose handler calls unwind_stop_if_asked; there are
 * `others` of them. This waits until they have stopped, for some seconds at most; the report says how many have not. If another
 * processor has called it before, that one's report has this one's words and callers, and unwind_print and its like never return. What one
 * processor has at an address of its stack, the others can read there. Null changes nothing.
 */
void unwind_stop_others(void (*stop)(void), uint32_t others);

/*
 * For the handler of that interrupt: never returns if another processor has stopped this one, and otherwise does nothing. It gets what
 * was interrupted; or null, from a handler that unwind rules describe, as unwind_print_interrupted is called.
 */
void unwind_stop_if_asked(const struct unwind_registers *interrupted);

/* A stack for reports: a static variable that nothing else uses, mapped and writable wherever a report begins. */
struct unwind_report_stack {
	unsigned char bytes[16384];
} __attribute__((aligned(4096)));

/*
 * Gives reports a stack of their own, for a kernel whose stacks are small: less than 1 KiB of them is used then. The first call counts;
 * null changes nothing. put_char is called on this stack too.
 */
void unwind_report_on(struct unwind_report_stack *stack);

#ifdef __cplusplus
}
#endif

#endif
