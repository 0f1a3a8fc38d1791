//! A kernel on the host, for the tests of this crate.

use unwind::ImageTables;
use unwind::Range;

use crate::{Image, Owner, Platform, Section, Stack, Task};

/// A kernel with a stack of CPU 0, from 0x2000 to 0x3000, and one of a task, from 0x6000 to 0x7000, both with a guard page
/// below. There is no memory, so the stacks have names, but cannot be read.
#[derive(Debug)]
pub struct Kernel;

impl Kernel {
    pub const GUARD: u64 = 0x1000;
    pub const GUARD_OF_TASK: u64 = 0x5000;
}

// SAFETY: there is one CPU, number 0; the words are never read, because no trace starts in these stacks.
unsafe impl Platform for Kernel {
    fn write(&self, _: &[u8]) {}

    fn leave(&self) -> ! {
        unreachable!("nobody dies here")
    }

    fn image(&self) -> Image {
        let nothing = Section {
            bytes: &[],
            address: 0,
        };
        Image {
            code: nothing,
            tables: ImageTables::new(&[], 0),
            symbols: nothing,
            build_id: &[],
        }
    }

    fn stack(&self, index: usize) -> Option<Stack> {
        let stack = |owner, guard: u64| Stack {
            owner,
            guard: Range::new(guard, guard + 0x1000),
            words: Range::new(guard + 0x1000, guard + 0x2000),
        };
        match index {
            0 => Some(stack(Owner::Cpu("boot", 0), Self::GUARD)),
            1 => Some(stack(Owner::Cpu("irq", 1), 0x3000)),
            2 => Some(stack(Owner::Task(9), Self::GUARD_OF_TASK)),
            _ => None,
        }
    }

    fn task(&self, number: usize) -> Option<Task<'_>> {
        (number == 9).then_some(Task {
            name: &"worker",
            state: &"works",
            waits_for: None,
            blocked_by: None,
            registers: None,
            cpu: None,
        })
    }

    fn interrupt_name(&self, number: u64) -> Option<&'static str> {
        (number == 32).then_some("timer interrupt")
    }
}

mod cpus;
mod dump;
mod ladder;
mod machine;
mod report;
#[cfg(target_arch = "x86_64")]
mod tasks;

mod stacks {
    use super::Kernel;
    use crate::Stacks;

    #[test]
    fn a_stack_pointer_is_in_the_stack_that_it_empties_or_overflows() {
        let place = |sp| Stacks::of(&Kernel).place(sp).to_string();
        assert_eq!(place(0x2000), "stack boot");
        assert_eq!(place(0x3000), "stack boot", "empty");
        assert_eq!(place(0x1ff8), "stack boot overflowed");
        assert_eq!(place(0x4ff8), "stack irq of cpu 1");
        assert_eq!(place(0x6008), "stack task worker");
        assert_eq!(place(0xfff), "no stack");
        assert_eq!(place(u64::MAX), "no stack");
    }

    #[test]
    fn an_address_in_a_guard_page_names_the_stack() {
        let guard = |address| Stacks::of(&Kernel).guard(address).to_string();
        assert_eq!(guard(0x1000), ", guard page of stack boot");
        assert_eq!(guard(0x1fff), ", guard page of stack boot");
        assert_eq!(guard(0x2000), "");
        assert_eq!(guard(0x5800), ", guard page of stack task worker");
    }

    #[test]
    fn nothing_is_read_outside_the_words_or_misaligned() {
        let stacks = Stacks::of(&Kernel);
        for address in [0, 0x1000, 0x1ff8, 0x1ffc, 0x2004, 0x2ffc, 0x7000, u64::MAX] {
            assert_eq!(stacks.read_u64(address), None, "{address:#x}");
        }
        assert!(stacks.holds_words(0x2ff8, 8));
        assert!(!stacks.holds_words(0x2ff8, 9));
        assert_eq!(stacks.find(0x1000).map(|stack| stack.end()), Some(0x3000));
    }
}
