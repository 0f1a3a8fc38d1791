//! The vectors and overflow stacks of all CPUs, for kernels that have none yet. Manual: D1.3.1 "Exception vectors".

use super::OVERFLOW_STACK;
use crate::guarded_stack::GuardedStack;
use crate::stack::Stack;

/// The vectors of all CPUs, and an overflow stack for each CPU, for exceptions that find no space on the current stack.
/// [`exceptions!`](crate::exceptions) defines it as a static.
#[derive(Debug)]
pub struct Tables<const CPUS: usize> {
    #[cfg_attr(
        not(target_os = "none"),
        expect(dead_code, reason = "loaded on bare metal only")
    )]
    vectors: *const u8,
    overflow: [GuardedStack<0, OVERFLOW_STACK>; CPUS],
}

// SAFETY: the pointer is that of constant code, and is only loaded into a register; the stacks are `Sync`.
unsafe impl<const CPUS: usize> Sync for Tables<CPUS> {}

impl<const CPUS: usize> Tables<CPUS> {
    /// Creates the tables of a kernel with these vectors. [`exceptions!`](crate::exceptions) calls it. [`Self::load`] makes a CPU use them.
    #[must_use]
    pub const fn new(vectors: *const u8) -> Self {
        Self {
            vectors,
            overflow: [const { GuardedStack::new() }; CPUS],
        }
    }

    /// Returns the stack with this index, for [`Platform::stack`](crate::Platform::stack). The stacks have no guard pages.
    pub fn stack(&self, index: usize) -> Option<Stack> {
        Some(self.overflow.get(index)?.of_cpu("overflow", index))
    }

    /// The CPU whose overflow stack ends at this address; `usize::MAX` if there is none.
    fn owner(&self, end: u64) -> usize {
        let ends_there = |cpu: &usize| self.stack(*cpu).is_some_and(|stack| stack.end() == end);
        (0..CPUS).find(ends_there).unwrap_or(usize::MAX)
    }

    /// Returns the number of the CPU that this runs on, for [`Platform::cpu`](crate::Platform::cpu): the number that the CPU passed to
    /// [`Self::load`], or `usize::MAX` before that.
    #[cfg(all(target_arch = "aarch64", target_os = "none"))]
    pub fn cpu(&self) -> usize {
        let end: u64;
        // SAFETY: only reads a register.
        unsafe {
            core::arch::asm!("mrs {}, tpidr_el1", out(reg) end, options(nomem, nostack, preserves_flags));
        }
        self.owner(end)
    }

    /// Makes this CPU use the tables, as the CPU with number `cpu`, counted from 0. From now on exceptions are reported, including
    /// `SError`.
    ///
    /// IRQ and FIQ stay masked. The kernel must not unmask them, because the tables treat an interrupt as an exception that ends the
    /// kernel.
    ///
    /// # Panics
    /// Panics if `cpu` is not less than `CPUS`.
    ///
    /// # Safety
    /// The caller must guarantee:
    ///
    /// - [`exceptions!`](crate::exceptions) defined the tables.
    /// - Each CPU calls this at most once, with a number of its own, so that no other CPU uses its overflow stack.
    /// - The CPU is at EL1, and nothing else uses `TPIDR_EL1`, or relies on the previous vectors of the CPU.
    /// - As long as the kernel runs, the vectors stay mapped for execution and the overflow stacks for writing, at their current addresses,
    ///   in all page tables in use: the CPU uses these addresses at each exception.
    #[cfg(all(target_arch = "aarch64", target_os = "none"))]
    pub unsafe fn load(&'static self, cpu: usize) {
        let stack = self.stack(cpu);
        assert!(
            stack.is_some(),
            "CPU number {cpu} is too high, because `exceptions!` defined tables for {CPUS} CPUs"
        );
        let end = stack.map_or(0, |stack| stack.end());
        // SAFETY: the vectors keep all registers of the code that they interrupt, and the documentation of `exceptions!` reserves
        // TPIDR_EL1. The caller guarantees that the CPU is at EL1, where these instructions are valid.
        unsafe {
            core::arch::asm!(
                "msr tpidr_el1, {end}",
                "msr vbar_el1, {vectors}",
                "isb",
                "msr daifclr, #4",
                end = in(reg) end,
                vectors = in(reg) self.vectors,
                options(nostack, preserves_flags)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_is_known_by_the_end_of_its_stack() {
        let tables: Box<Tables<3>> = Box::new(Tables::new(core::ptr::null()));
        let stacks: Vec<_> = (0..).map_while(|index| tables.stack(index)).collect();
        assert_eq!(stacks.len(), 3);
        assert!(stacks.is_sorted_by(|one, next| one.end() <= next.words.start));
        for (cpu, stack) in stacks.iter().enumerate() {
            assert_eq!(tables.owner(stack.end()), cpu);
            assert_eq!(stack.owner, crate::Owner::Cpu("overflow", cpu));
        }
        assert_eq!(tables.owner(0), usize::MAX, "before it is loaded");
    }
}
