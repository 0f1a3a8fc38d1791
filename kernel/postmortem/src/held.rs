//! Access to other CPUs' stacks while these CPUs are held.

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use core::time::Duration;

use crate::arch::TrapFrame;
use crate::cause::Cause;
use crate::cpu;
use crate::patience::Patience;
use crate::postmortem::Postmortem;
use crate::rendezvous::{Shown, Side};

/// How long to wait for a CPU's answer. Far longer than the few instructions it takes, because an emulator may run its CPUs one
/// after another.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A guard: while it exists, this CPU holds the other CPUs. The CPUs that it has [stopped](Self::stop) continue when it is dropped, so what
/// it shows of them cannot be kept longer.
///
/// The guard is not `Send`, because it belongs to one CPU.
///
/// ```no_run
/// # fn list(POSTMORTEM: &'static postmortem::Postmortem) {
/// if let Some(held) = POSTMORTEM.hold() {
///     held.stop();
///     for cpu in held.others() {
///         if let postmortem::Other::Interrupted(frame) = held.other(cpu) {
///             let _ = POSTMORTEM.write_callers(&mut POSTMORTEM.out(), cpu, frame.registers());
///         }
///     }
/// }
/// # }
/// ```
///
/// ```compile_fail,E0515
/// fn keep(held: postmortem::Held<'_>) -> postmortem::Other<'static> {
///     held.other(1)
/// }
/// ```
#[derive(Debug)]
pub struct Held<'p> {
    postmortem: &'p Postmortem,
    cpu: usize,
    not_send: PhantomData<*const ()>,
}

/// The state of another CPU when it was stopped.
#[derive(Clone, Copy, Debug)]
pub enum Other<'h> {
    /// The CPU was interrupted, with these registers.
    Interrupted(&'h TrapFrame),
    /// The CPU failed too, and waits to report that.
    Failed(&'h Cause<'h>),
    /// The CPU did not answer in time.
    Silent,
}

impl<'p> Held<'p> {
    /// Holds the others, unless another CPU holds them.
    pub(crate) fn begin(postmortem: &'p Postmortem, cpu: usize) -> Option<Self> {
        let holds = postmortem.rendezvous.hold(cpu, postmortem.side(cpu));
        holds.then(|| Self::new(postmortem, cpu))
    }

    /// Holds the others as soon as no other CPU does, and meanwhile shows this one's cause. `poll` is called again and again
    /// meanwhile, and never returns if another CPU's report ends the kernel.
    pub(crate) fn begin_for(
        postmortem: &'p Postmortem,
        cpu: usize,
        cause: &Cause<'_>,
        poll: impl FnMut(),
    ) -> Self {
        let shown = NonNull::from(cause).cast();
        postmortem
            .rendezvous
            .hold_for(cpu, postmortem.side(cpu), shown, poll);
        Self::new(postmortem, cpu)
    }

    const fn new(postmortem: &'p Postmortem, cpu: usize) -> Self {
        Self {
            postmortem,
            cpu,
            not_send: PhantomData,
        }
    }

    /// Returns the number of this CPU, which holds the others.
    #[must_use]
    pub const fn cpu(&self) -> usize {
        self.cpu
    }

    fn side(&self) -> &Side {
        self.postmortem.side(self.cpu)
    }

    /// Returns the numbers of all other CPUs that are online.
    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        self.postmortem.online_besides(self.cpu)
    }

    /// Sends an NMI to each of the other CPUs, and waits until they have stopped, for at most about 3 seconds.
    pub fn stop(&self) {
        for cpu in self.others() {
            if matches!(self.shown(cpu), Shown::Silent) {
                self.postmortem
                    .side(cpu)
                    .is_asked
                    .store(true, Ordering::Release);
                // An interrupt may be faster than a store.
                cpu::publish();
                self.postmortem.platform.send_nmi(cpu);
            }
        }
        self.wait();
    }

    /// Waits for the others' answers to an NMI that has reached all CPUs, without sending another: that would stay pending
    /// while the first is handled, and hide the next one from outside.
    pub(crate) fn wait(&self) {
        let platform = self.postmortem.platform;
        let entry = self.postmortem.entry();
        let begin = platform.now();
        // The kernel's clock may stand still, because interrupts are masked.
        let mut patience = Patience::of(TIMEOUT);
        let mut is_over = || {
            entry.go_on();
            let now = platform.now();
            let passed = begin.zip(now).map(|(begin, now)| now.saturating_sub(begin));
            passed.is_some_and(|passed| passed >= TIMEOUT) || patience.is_over()
        };
        let all_answered = || (self.others()).all(|cpu| !matches!(self.shown(cpu), Shown::Silent));
        while !all_answered() && !is_over() {
            core::hint::spin_loop();
        }
    }

    fn shown(&self, cpu: usize) -> Shown {
        self.postmortem.rendezvous.shown(self.postmortem.side(cpu))
    }

    /// Returns the state of another CPU. Call [`Self::stop`] before.
    #[must_use]
    pub fn other(&self, cpu: usize) -> Other<'_> {
        match self.shown(cpu) {
            Shown::Silent => Other::Silent,
            // SAFETY: `Postmortem::nmi` gave `answer` a pointer to a `TrapFrame`, and `answer` does not return before the last
            // `Held` of this CPU is dropped. The result borrows this one, so the frame outlives it.
            Shown::Stopped(frame) => Other::Interrupted(unsafe { frame.cast().as_ref() }),
            // SAFETY: `begin_for` gave `hold_for` a pointer to a `Cause`, and `hold_for` does not return before the last `Held`
            // of this CPU is dropped. The result borrows this one, so the cause, and what that borrows, outlives it.
            Shown::Failed(cause) => Other::Failed(unsafe { cause.cast().as_ref() }),
        }
    }
}

impl Postmortem {
    /// Holds the other CPUs. Returns `None` if another CPU holds them, or if the number of this CPU is not known.
    ///
    /// Once the other CPUs are [stopped](Held::stop), the guard shows what they were doing. They continue when the guard is dropped.
    ///
    /// Mask interrupts from before this call until the guard is dropped. A held CPU may own a lock for which a handler or a scheduler would
    /// wait forever, and the [watchdog](Self::tick) would report that as a hang.
    pub fn hold(&'static self) -> Option<Held<'static>> {
        let cpu = self.number(self.entry())?;
        Held::begin(self, cpu)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.postmortem.rendezvous.release(self.cpu, self.side());
    }
}
