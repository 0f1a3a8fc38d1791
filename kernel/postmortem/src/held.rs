//! The right to look at other CPUs' stacks, for as long as they are held.

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use core::time::Duration;

use crate::arch::TrapFrame;
use crate::cause::Cause;
use crate::postmortem::Postmortem;
use crate::rendezvous::{Shown, Side};

/// How long a CPU is waited for, while its answer takes a few instructions. Long, because an emulator may run its CPUs one
/// after another.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often it is looked whether they have answered, in a kernel without a clock.
const POLLS: u32 = 100_000_000;

/// This CPU holds the others: those that it has [stopped](Self::stop) stand still until this is dropped. What is known of them
/// cannot be kept longer.
///
/// Stays on its CPU: not `Send`.
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

/// What another CPU was doing.
#[derive(Clone, Copy, Debug)]
pub enum Other<'h> {
    /// It was interrupted here.
    Interrupted(&'h TrapFrame),
    /// It has met an error too, and waits for its turn to report it.
    Failed(&'h Cause<'h>),
    /// It did not answer in time.
    Silent,
}

impl<'p> Held<'p> {
    /// Holds the others if no other CPU does that.
    pub(crate) fn begin(postmortem: &'p Postmortem) -> Option<Self> {
        let cpu = postmortem.platform.cpu();
        let holds = postmortem.rendezvous.hold(cpu, postmortem.side(cpu));
        holds.then(|| Self::new(postmortem, cpu))
    }

    /// Holds the others as soon as no other CPU does that, and meanwhile shows why. Does not return when another one reports
    /// the end of the kernel.
    pub(crate) fn begin_for(postmortem: &'p Postmortem, cause: &Cause<'_>) -> Self {
        let cpu = postmortem.platform.cpu();
        let shown = NonNull::from(cause).cast();
        postmortem
            .rendezvous
            .hold_for(cpu, postmortem.side(cpu), shown);
        Self::new(postmortem, cpu)
    }

    const fn new(postmortem: &'p Postmortem, cpu: usize) -> Self {
        Self {
            postmortem,
            cpu,
            not_send: PhantomData,
        }
    }

    /// The CPU that holds the others: this one.
    #[must_use]
    pub const fn cpu(&self) -> usize {
        self.cpu
    }

    /// Whether it held them already when this began: the report that is being written was interrupted.
    pub(crate) fn is_nested(&self) -> bool {
        self.side().depth.load(Ordering::Relaxed) > 1
    }

    fn side(&self) -> &Side {
        self.postmortem.side(self.cpu)
    }

    /// All other CPUs that run, by number.
    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        self.postmortem.online().filter(|cpu| *cpu != self.cpu)
    }

    /// Sends each of the others an NMI, and waits until they have stopped, or for so long that they will not.
    pub fn stop(&self) {
        for cpu in self.others() {
            if matches!(self.shown(cpu), Shown::Silent) {
                self.postmortem
                    .side(cpu)
                    .is_asked
                    .store(true, Ordering::Release);
                self.postmortem.platform.send_nmi(cpu);
            }
        }
        self.wait();
    }

    /// Waits until the others have answered an NMI that reached them all, without sending any: a second NMI, kept back while
    /// the first is being handled, would hide the next one from outside.
    pub(crate) fn wait(&self) {
        let platform = self.postmortem.platform;
        let begin = platform.now();
        let mut polls = 0_u32;
        let mut is_over = || {
            polls = polls.saturating_add(1);
            match (begin, platform.now()) {
                (Some(begin), Some(now)) => now.saturating_sub(begin) >= PATIENCE,
                _ => polls > POLLS,
            }
        };
        let all_answered = || (self.others()).all(|cpu| !matches!(self.shown(cpu), Shown::Silent));
        while !all_answered() && !is_over() {
            core::hint::spin_loop();
        }
    }

    fn shown(&self, cpu: usize) -> Shown {
        self.postmortem.rendezvous.shown(self.postmortem.side(cpu))
    }

    /// What another CPU was doing. To be asked after [`Self::stop`].
    #[must_use]
    pub fn other(&self, cpu: usize) -> Other<'_> {
        match self.shown(cpu) {
            Shown::Silent => Other::Silent,
            // SAFETY: `Postmortem::nmi` gave a `TrapFrame` to `answer`, and that does not return before the others are
            // released: by dropping the last `Held` of this CPU, and so not as long as this one is borrowed.
            Shown::Stopped(frame) => Other::Interrupted(unsafe { frame.cast().as_ref() }),
            // SAFETY: `begin_for` gave a `Cause` to `hold_for`, and that does not return before the others are released, as
            // above. What the cause itself borrows lives longer than it, and the result claims no more than the borrow of
            // this.
            Shown::Failed(cause) => Other::Failed(unsafe { cause.cast().as_ref() }),
        }
    }
}

impl Postmortem {
    /// Holds the other CPUs, if no other CPU does that: what they do can be looked at once they have
    /// [stopped](Held::stop). They go on when the result is dropped.
    pub fn hold(&'static self) -> Option<Held<'static>> {
        Held::begin(self)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.postmortem.rendezvous.release(self.side());
    }
}
