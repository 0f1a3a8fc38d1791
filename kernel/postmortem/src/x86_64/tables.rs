//! GDT, TSS and IDT of all CPUs, for kernels that have none yet. Manual: volume 3, 7.10 "Interrupt Descriptor Table", 7.14.5 "Interrupt
//! Stack Table", 8.7 "Task Management in 64-bit Mode".

use core::cell::UnsafeCell;

use crate::guarded_stack::GuardedStack;
use crate::stack::Stack;

/// Bytes of a stack of the interrupt stack table (IST).
const STACK: usize = 32 * 1024;

/// The exceptions with a stack of their own in the IST, because they cannot rely on the current one: vector, and the stack's
/// name.
const STACKS: [(usize, &str); 3] = [(2, "nmi"), (8, "double fault"), (18, "machine check")];

/// The number of exceptions.
pub const EXCEPTIONS: usize = 32;

/// The selector of the code segment.
const CODE: u16 = 8;
/// The selector of the task state segment (TSS).
#[cfg(target_os = "none")]
const TASK: u16 = 16;

/// A 64-bit code segment of the kernel: present, execute and read (table 3-1 "Code- and Data-Segment Types").
const CODE_SEGMENT: u64 = 0x00af_9b00_0000_ffff;
/// A gate: present, 64-bit interrupt gate (figure 7-8 "64-Bit IDT Gate Descriptors").
const INTERRUPT_GATE: u64 = 0x8e << 40;
/// A TSS: present, available 64-bit (figure 8-4 "Format of TSS and LDT Descriptors in 64-bit Mode").
const TASK_STATE: u64 = 0x89 << 40;

/// The descriptor tables of all CPUs, each with stacks for NMIs, double faults and machine checks. [`exceptions!`](crate::exceptions)
/// defines it as a static.
///
/// Each CPU has an IDT of its own, although all are the same, so that no CPU has to wait until another CPU has filled it in.
///
/// ```text
/// // For four CPUs. The macro exists on bare metal only, so that tests on the host cannot compile this.
/// postmortem::exceptions!(TABLES, POSTMORTEM, 4);
/// // On each CPU at its start. SAFETY: the conditions of `Tables::load` hold.
/// unsafe { TABLES.load(0) };
/// ```
#[derive(Debug)]
pub struct Tables<const CPUS: usize> {
    entries: *const [u64; EXCEPTIONS],
    contents: [UnsafeCell<CpuTables>; CPUS],
    stacks: [[GuardedStack<0, STACK>; STACKS.len()]; CPUS],
}

#[repr(C, align(16))]
#[derive(Debug)]
struct CpuTables {
    descriptors: [[u64; 2]; EXCEPTIONS],
    segments: [u64; 4],
    /// In units of 4 bytes: figure 8-11 "64-Bit TSS Format".
    task_state: [u32; TASK_STATE_WORDS],
}

/// Units of a TSS.
const TASK_STATE_WORDS: usize = 26;
/// The index of the IST in a TSS, in these units.
const STACK_TABLE: usize = 9;

// SAFETY: the entries are constants. A CPU's tables are written only by its own `load`, whose caller guarantees one call for each CPU. The
// stacks are `Sync`.
unsafe impl<const CPUS: usize> Sync for Tables<CPUS> {}

impl<const CPUS: usize> Tables<CPUS> {
    /// Creates the tables of a kernel with these entries, by vector. [`exceptions!`](crate::exceptions) calls it. [`Self::load`] reads the
    /// entries.
    #[must_use]
    pub const fn new(entries: *const [u64; EXCEPTIONS]) -> Self {
        Self {
            entries,
            contents: [const { UnsafeCell::new(CpuTables::EMPTY) }; CPUS],
            stacks: [const { [const { GuardedStack::new() }; STACKS.len()] }; CPUS],
        }
    }

    /// Returns the stack with this index, for [`Platform::stack`](crate::Platform::stack). The stacks have no guard pages.
    pub fn stack(&self, index: usize) -> Option<Stack> {
        let mut stacks = self.stacks.iter().enumerate().flat_map(|(cpu, stacks)| {
            let named = stacks.iter().zip(STACKS);
            named.map(move |(stack, (_, name))| stack.of_cpu(name, cpu))
        });
        stacks.nth(index)
    }

    /// The CPU whose GDT is at this address; `usize::MAX` if there is none.
    fn owner(&self, segments: u64) -> usize {
        let is_there = |content: &UnsafeCell<CpuTables>| {
            let offset = core::mem::offset_of!(CpuTables, segments) as u64;
            (content.get() as u64).wrapping_add(offset) == segments
        };
        self.contents
            .iter()
            .position(is_there)
            .unwrap_or(usize::MAX)
    }

    /// Returns the number of the CPU that this runs on, for [`Platform::cpu`](crate::Platform::cpu): the number that the CPU passed to
    /// [`Self::load`], or `usize::MAX` before that.
    #[cfg(target_os = "none")]
    pub fn cpu(&self) -> usize {
        let mut segments = Pointer { limit: 0, base: 0 };
        // SAFETY: `sgdt` writes 10 bytes, the size of this variable.
        unsafe {
            core::arch::asm!("sgdt [{}]", in(reg) &raw mut segments, options(nostack, preserves_flags));
        }
        self.owner(segments.base)
    }

    /// Makes this CPU use the tables, as the CPU with number `cpu`, counted from 0. From now on exceptions are reported.
    ///
    /// # Panics
    /// Panics if `cpu` is not less than `CPUS`.
    ///
    /// # Safety
    /// The caller must guarantee:
    ///
    /// - [`exceptions!`](crate::exceptions) defined the tables.
    /// - Each CPU calls this at most once, with a number of its own, so that no other CPU uses the content that it fills in.
    /// - The CPU is in 64-bit mode and ring 0. No interrupt or NMI arrives during the call, and no ordinary interrupt after it, because the
    ///   tables have no entries for ordinary interrupts.
    /// - As long as the kernel runs, the tables and their stacks stay mapped for writing, and the code of the entries for execution, at
    ///   their current addresses, in all page tables in use: the CPU uses these addresses at each exception, and writes to the stacks and
    ///   to the descriptor of the task state.
    /// - Nothing relies on the CPU's previous GDT, task state and IDT, or on selectors in `ss`, `ds` and `es`. The selectors in `fs` and
    ///   `gs` are kept, and so are their base addresses.
    #[cfg(target_os = "none")]
    pub unsafe fn load(&'static self, cpu: usize) {
        // SAFETY: the caller guarantees that this is called once for this number, so nothing else uses the content.
        let content = unsafe { self.fill(cpu) };
        assert!(
            content.is_some(),
            "CPU number {cpu} is too high, because `exceptions!` defined tables for {CPUS} CPUs"
        );
        let Some(content) = content else { return };
        let descriptors = Pointer::to(&content.descriptors);
        let segments = Pointer::to(&content.segments);
        // SAFETY: the segment at `CODE` has the same rights as the current one, 64-bit mode needs no data segments, and the
        // tables are static.
        unsafe {
            core::arch::asm!(
                "lgdt [{segments}]",
                "push {code}",
                "lea {scratch}, [rip + 2f]",
                "push {scratch}",
                "retfq",
                "2:",
                "xor {scratch:e}, {scratch:e}",
                "mov ss, {scratch:e}",
                "mov ds, {scratch:e}",
                "mov es, {scratch:e}",
                "ltr {task:x}",
                "lidt [{descriptors}]",
                segments = in(reg) &raw const segments,
                descriptors = in(reg) &raw const descriptors,
                code = const CODE,
                task = in(reg) TASK,
                scratch = out(reg) _,
            );
        }
    }
}

impl<const CPUS: usize> Tables<CPUS> {
    /// Fills in the tables of this CPU, if there are any.
    ///
    /// # Safety
    /// The caller must guarantee that nothing else uses the content of this CPU.
    unsafe fn fill(&self, cpu: usize) -> Option<&CpuTables> {
        let stacks = self.stacks.get(cpu)?.each_ref();
        let ends = stacks.map(|stack| stack.of_cpu("", cpu).end());
        // SAFETY: the caller guarantees that nothing else uses the content; the entries are constants of the image.
        let (content, entries) = unsafe { (&mut *self.contents.get(cpu)?.get(), &*self.entries) };
        content.fill(entries, ends);
        Some(content)
    }
}

impl CpuTables {
    /// The content before it is filled in.
    const EMPTY: Self = Self {
        descriptors: [[0; 2]; EXCEPTIONS],
        segments: [0; 4],
        task_state: [0; TASK_STATE_WORDS],
    };

    /// Fills in all tables, with the addresses of the entries and the ends of the [`STACKS`].
    fn fill(&mut self, entries: &[u64; EXCEPTIONS], ends: [u64; STACKS.len()]) {
        let descriptors = self.descriptors.iter_mut().zip(entries);
        for (vector, (descriptor, entry)) in descriptors.enumerate() {
            let stack = STACKS.iter().position(|(its, _)| *its == vector);
            // IST indices count from 1; 0 keeps the current stack.
            let stack = stack.map_or(0, |index| index.saturating_add(1)) as u64;
            let offset = entry & 0xffff | (entry >> 16 & 0xffff) << 48;
            let low = offset | u64::from(CODE) << 16 | stack << 32 | INTERRUPT_GATE;
            *descriptor = [low, entry >> 32];
        }
        let places = self.task_state.iter_mut().skip(STACK_TABLE);
        let halves = ends
            .iter()
            .flat_map(|end| [*end as u32, (*end >> 32) as u32]);
        places.zip(halves).for_each(|(place, half)| *place = half);
        let size = size_of_val(&self.task_state) as u64;
        // The offset of the I/O permission map, at the end of the TSS: there is none.
        let [.., port_map] = &mut self.task_state;
        *port_map = (size as u32) << 16;
        let base = self.task_state.as_ptr() as u64;
        let low = size.wrapping_sub(1) | (base & 0xff_ffff) << 16 | (base >> 24 & 0xff) << 56;
        self.segments = [0, CODE_SEGMENT, low | TASK_STATE, base >> 32];
    }
}

/// The operand of `lgdt` and `lidt`: limit and address of a table.
#[cfg(target_os = "none")]
#[repr(C, packed)]
struct Pointer {
    limit: u16,
    base: u64,
}

#[cfg(target_os = "none")]
impl Pointer {
    fn to<T>(table: &T) -> Self {
        Self {
            limit: size_of::<T>().saturating_sub(1) as u16,
            base: core::ptr::from_ref(table) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use x86_64::VirtAddr;
    use x86_64::structures::gdt::Descriptor;
    use x86_64::structures::idt::InterruptDescriptorTable;
    use x86_64::structures::tss::TaskStateSegment;

    use super::*;
    use crate::Owner;

    const ENTRIES: [u64; EXCEPTIONS] = {
        let mut entries = [0xffff_8123_4567_89ab; EXCEPTIONS];
        entries[14] = 0xffff_ffff_8000_1000;
        entries
    };

    fn bytes<T>(value: &T) -> &[u8] {
        let start = core::ptr::from_ref(value).cast();
        // SAFETY: tables without padding.
        unsafe { core::slice::from_raw_parts(start, size_of::<T>()) }
    }

    #[test]
    fn tables_are_those_of_the_crate_x86_64() {
        let tables: Box<Tables<2>> = Box::new(Tables::new(&ENTRIES));
        for cpu in 0..2 {
            check(&tables, cpu);
        }
        // SAFETY: the tables are local to this test.
        assert!(unsafe { tables.fill(2) }.is_none());
    }

    fn check(tables: &Tables<2>, cpu: usize) {
        // SAFETY: the tables are local to this test.
        let content = unsafe { tables.fill(cpu) }.expect("room for this CPU");
        assert_eq!(tables.owner(content.segments.as_ptr() as u64), cpu);

        let mut descriptors = InterruptDescriptorTable::new();
        // SAFETY: nobody loads the table.
        unsafe {
            let entry = VirtAddr::new(ENTRIES[14]);
            descriptors.page_fault.set_handler_addr(entry);
            let entry = VirtAddr::new(ENTRIES[8]);
            let double_fault = descriptors.double_fault.set_handler_addr(entry);
            double_fault.set_stack_index(1);
        }
        let theirs = bytes(&descriptors);
        for vector in [8, 14] {
            let mut theirs = theirs[16 * vector..][..16].to_vec();
            // The crate takes the selector from the running program.
            theirs[2..4].copy_from_slice(&CODE.to_le_bytes());
            assert_eq!(
                bytes(&content.descriptors[vector]),
                theirs,
                "vector {vector}"
            );
        }

        let mut task_state = TaskStateSegment::new();
        let end = |index| VirtAddr::new(tables.stack(3 * cpu + index).expect("a stack").end());
        let [one, two, three] = [0, 1, 2].map(end);
        let none = VirtAddr::zero();
        task_state.interrupt_stack_table = [one, two, three, none, none, none, none];
        assert_eq!(bytes(&content.task_state), bytes(&task_state));

        let task_state = content.task_state.as_ptr().cast();
        // SAFETY: only its address is used.
        let Descriptor::SystemSegment(low, high) =
            (unsafe { Descriptor::tss_segment_unchecked(task_state) })
        else {
            panic!("no system segment");
        };
        assert_eq!(content.segments[2..], [low, high]);
        let Descriptor::UserSegment(code) = Descriptor::kernel_code_segment() else {
            panic!("no code segment");
        };
        // The CPU sets the "accessed" bit itself.
        assert_eq!(
            content.segments[1] & 0x00f0_ff00_0000_0000,
            code & 0x00f0_ff00_0000_0000 | 1 << 40
        );
    }

    #[test]
    fn the_stacks_have_names_and_do_not_overlap() {
        let tables: Box<Tables<3>> = Box::new(Tables::new(&ENTRIES));
        assert_eq!(tables.owner(0), usize::MAX, "before it is loaded");
        let stacks: Vec<_> = (0..).map_while(|index| tables.stack(index)).collect();
        assert_eq!(stacks.len(), 3 * STACKS.len());
        for (index, stack) in stacks.iter().enumerate() {
            let owner = Owner::Cpu(STACKS[index % 3].1, index / 3);
            assert_eq!(stack.owner, owner);
        }
        assert!(stacks.is_sorted_by(|one, next| one.end() <= next.words.start));
    }
}
