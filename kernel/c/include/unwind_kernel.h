/*
 * Reports of the callers of a failure, for a kernel in C: the functions of libunwind_kernel.a. The guide's page on kernels in C
 * (`docs/guide/c.md` in the repository) has all changes of a kernel.
 *
 * A report is lines of text, each with '\n' at its end. It takes no lock, allocates nothing, and runs with
 * put_char on a stack of 32 KiB of its own, so that it uses less than 1 KiB of the caller's stack. Other processors continue, unless unwind_stop_others is called. If the kernel reports a failure while a report is being
 * written, the second report is one line; a third report during that line is nothing. If the first report never ends, all
 * later reports, on any processor, are one line.
 *
 * The library uses neither floating-point nor vector registers, and no red zone. On AArch64 it uses x18: a kernel that is built with
 * -ffixed-x18 must link the library that the guide builds without x18. The library calls memcpy, memmove, memset, memcmp and strlen:
 * those of the kernel, if the kernel has them, otherwise its own, whose symbols are weak.
 */
#ifndef UNWIND_KERNEL_H
#define UNWIND_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes one character to the console. The function must not wait for a lock, because the code that failed may hold it. If a
 * `put_char` argument is null, nothing is written.
 */
typedef void unwind_put_char(char character);

/* Registers of interrupted code, as trap code has saved them, at the instruction that failed or is next. */
struct unwind_registers {
#if defined(__x86_64__)
	uint64_t rip, rsp, rbp;
	uint64_t is_user; /* cs & 3: not 0 for user code, at which a trace ends */
#elif defined(__aarch64__)
	uint64_t pc; /* ELR_EL1 */
	uint64_t sp; /* if spsr & 1, the address after the frame of trap code; otherwise (EL0, or EL1 with SP_EL0), SP_EL0 */
	uint64_t x29, x30;
	uint64_t is_user; /* (spsr & 15) == 0: not 0 for user code, at which a trace ends */
#else
#error "unwind_kernel.h supports only x86-64 and AArch64"
#endif
};

/* The addresses of a stack, from `start` up to, but not including, `end`. */
struct unwind_stack {
	uint64_t start, end;
};

/*
 * Writes a report: `why` as the first line (may be null), the machine and its tables, registers, and all callers of this function.
 * Then returns. Call it in panic().
 */
void unwind_print(unwind_put_char *put_char, const char *why);

/*
 * Writes a report like unwind_print that starts at interrupted code, for an exception handler whose trap code has saved registers. The
 * trap code needs no unwind rules. If `interrupted` is null, the function does the same as unwind_print.
 */
void unwind_fault(unwind_put_char *put_char, const char *why, const struct unwind_registers *interrupted);

/*
 * Writes a report like unwind_fault, without registers, for a handler with unwind rules from the compiler or from assembly:
 * `__attribute__((interrupt))` on x86-64. The frames of the handler itself are left out; a report of unwind_print would contain them.
 */
void unwind_print_interrupted(unwind_put_char *put_char, const char *why);

/*
 * Write the smallest report, instead of unwind_print and unwind_fault: `why`, registers and 4 to 8 KiB of the stack's words. The host
 * makes the trace from the log: unwind-qemu autopsy LOG --image KERNEL. A link with --gc-sections leaves out the rest of the library.
 */
void unwind_print_stack(unwind_put_char *put_char, const char *why);
void unwind_fault_stack(unwind_put_char *put_char, const char *why, const struct unwind_registers *interrupted);

/*
 * Sets the address at which all of physical memory is mapped; 0 if memory is mapped to its own addresses.
 *
 * On x86-64 a report reads the page tables there, and then reads memory that they map. Without this call, a report reads only the image, and
 * the stacks that unwind_stacks_by has registered. The caller guarantees that all page tables in use can be read there, and that cached
 * mappings are memory. A read that faults is an exception of the kernel. On AArch64 the call is not needed: reports query the MMU if it
 * is on.
 */
void unwind_physical_memory_at(uint64_t address);

/*
 * Registers a function that returns the stack of a stack pointer: of this processor or of a task, with the guard page below if reports
 * can read the page tables. It returns an empty stack, {0, 0}, if the stack is unknown. A trace that ends where such a stack begins is
 * complete. The function is called during a report: it must not take a lock, and must not fail. Null changes nothing.
 */
void unwind_stacks_by(struct unwind_stack (*stack_of)(uint64_t sp));

/*
 * Records where the current stack begins (its highest address), for stacks that a boot loader has set up. Call it once on each of these
 * stacks, on x86-64 after unwind_physical_memory_at. It follows the callers to the outermost function, as a report does. Nothing is recorded
 * without unwind tables, or if a row on the way is not proven.
 */
void unwind_note_stack(void);

#if defined(__aarch64__)
/*
 * Sets where trap code with unwind rules saves x30 and SPSR_EL1: `x30` and `spsr` are offsets in bytes from sp when the trap code calls
 * the handler, and `size` is the number of bytes that the trap code has on the stack. A trace across the trap code then ends at user
 * code, and has the callers of an interrupted function that keeps its return address in x30. On x86-64 the processor saves both.
 */
void unwind_trap_frame(uint32_t x30, uint32_t spsr, uint32_t size);
#endif

/*
 * Stops all other processors forever, so that the report that follows is the only one, and has the callers of each processor. Call it
 * before unwind_print or unwind_fault for a failure that ends the kernel, never before a report from which the kernel continues.
 *
 * `stop` sends all `others` other processors an interrupt that reaches them in any state, such as an NMI, whose handler calls
 * unwind_stop_if_asked. The function waits until they have stopped, for some seconds at most; the report contains the number of processors
 * that have not. If another processor has called it before, unwind_print and its variants never return on this processor: the
 * other processor's report has its words and callers. All processors must map stacks at the same addresses. Null changes nothing.
 */
void unwind_stop_others(void (*stop)(void), uint32_t others);

/*
 * Halts this processor forever if another processor has called unwind_stop_others; otherwise does nothing. Call it in the handler of that
 * interrupt, with the interrupted registers; or with null, in a handler with unwind rules, like unwind_print_interrupted.
 */
void unwind_stop_if_asked(const struct unwind_registers *interrupted);

#ifdef __cplusplus
}
#endif

#endif
