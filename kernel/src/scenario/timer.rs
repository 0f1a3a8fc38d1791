//! Timer interrupts at instructions where a stack walk is hard, in the functions of `bad/*/bad.s`.

use core::fmt::Write;
use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use postmortem::{TrapFrame, capture};

use crate::arch::{cpu, exit};
use crate::bad;
use crate::platform::POSTMORTEM;
use crate::verdict::Verdict;
use crate::{cpus, image, timer};

/// Words of `bad_busy`, which the timer interrupts.
static BUSY: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// A timer handler panics.
#[inline(never)]
pub fn panic_in_handler() {
    timer::handle_with(|_| {
        if BUSY[0].load(Ordering::Acquire) != 0 {
            black_box(index(black_box(&[1, 2, 3]), black_box(3)));
        }
    });
    timer::start();
    work(&BUSY);
    black_box(());
}

#[inline(never)]
fn index(values: &[u8], index: usize) -> u8 {
    black_box(values[index])
}

/// Works for ever.
#[inline(never)]
fn work(words: &'static [AtomicU32; 2]) {
    // SAFETY: the function accesses two words, which are atomics in a static.
    unsafe { bad::bad_busy(words.as_ptr().cast_mut().cast()) };
    black_box(());
}

/// A timer handler unmasks interrupts and is interrupted; the second handler panics.
#[inline(never)]
pub fn interrupt_in_interrupt() {
    static BUSY_HANDLER: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
    static IS_HANDLING: AtomicBool = AtomicBool::new(false);
    timer::handle_with(|_| {
        if BUSY_HANDLER[0].load(Ordering::Acquire) != 0 {
            black_box(index(black_box(&[1, 2, 3]), black_box(3)));
        } else if BUSY[0].load(Ordering::Acquire) != 0 && !IS_HANDLING.swap(true, Ordering::Relaxed)
        {
            cpu::unmask_interrupts();
            work(&BUSY_HANDLER);
        }
    });
    timer::start();
    work(&BUSY);
    black_box(());
}

/// Defines functions that call one of `bad.s`, which loops at an instruction until the handler moves its program counter on.
macro_rules! places {
    ($($name:ident => $function:ident($argument:expr);)*) => {
        $(
            #[inline(never)]
            fn $name() {
                // SAFETY: the functions return, but for the last one, after which the run ends.
                unsafe { bad::$function(black_box($argument)) };
                black_box(());
            }
        )*
    };
}

places! {
    first_instruction => stay_first(0);
    leaf => stay_leaf(0);
    prologue => stay_prologue(0);
    epilogue => stay_epilogue(0);
    tail_call => stay_tail_call(0);
    variable_frame => stay_variable_frame(1024);
    asm_with_rules => with_rules(stay);
    asm_without_rules => without_rules(stay);
    last_call => stay_last_call(0);
}

/// In a function whose variables are aligned more than its stack is.
#[inline(never)]
fn realigned_frame() {
    #[repr(align(256))]
    struct Aligned(u64);
    let mut variable = Aligned(0);
    black_box(&mut variable.0);
    bad::stay();
    black_box(&mut variable.0);
}

/// Called by assembly.
extern "C" fn stay() {
    bad::stay();
}

/// The functions that the timer shall interrupt. The last one does not return.
const PLACES: [fn(); 10] = [
    first_instruction,
    leaf,
    prologue,
    epilogue,
    tail_call,
    variable_frame,
    realigned_frame,
    asm_with_rules,
    asm_without_rules,
    last_call,
];

/// Reports a timer interrupt in each of [`PLACES`].
#[inline(never)]
pub fn places() {
    timer::handle_with(report_place);
    timer::start();
    for place in black_box(&PLACES) {
        place();
    }
}

/// Reports an interrupt of code that loops in one instruction, and moves its program counter on.
fn report_place(frame: &mut TrapFrame) {
    static REPORTED: AtomicUsize = AtomicUsize::new(0);
    let Some(size) = size_of_stay(frame.pc()) else {
        return;
    };
    let mut out = POSTMORTEM.out();
    let cpu = cpus::this();
    let at = frame.pc();
    // Writing never fails.
    let _ = writeln!(
        out,
        "interrupted on cpu {cpu} at {at:#018x}: {words}",
        words = POSTMORTEM.words(frame)
    );
    let _ = POSTMORTEM.write_callers(&mut out, cpu, capture());
    if REPORTED.fetch_add(1, Ordering::Relaxed) + 1 == PLACES.len() {
        exit::leave(Verdict::Success);
    }
    frame.set_pc(at + size);
}

/// Whether the instruction there jumps to itself.
pub fn stays(pc: u64) -> bool {
    size_of_stay(pc).is_some()
}

/// The bytes of the instruction there, if it jumps to itself.
fn size_of_stay(pc: u64) -> Option<u64> {
    let code = image::code();
    let at = pc.checked_sub(code.address)?;
    let rest = code.bytes.get(at as usize..)?;
    let mut forms = bad::STAY.iter();
    let form = forms.find(|form| rest.starts_with(form))?;
    Some(form.len() as u64)
}
