//! The verdict of a boot, from QEMU's exit status.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::Processor;

/// The exit statuses of QEMU by which a kernel gives its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statuses {
    /// The kernel reports success.
    pub success: u8,
    /// It has panicked.
    pub panicked: u8,
}

impl Statuses {
    /// 33 and 101: odd, and not 1, because isa-debug-exit can give nothing else.
    pub const USUAL: Self = Self {
        success: 33,
        panicked: 101,
    };
}

/// How a boot ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The kernel reported success.
    Success,
    /// The kernel reported a panic.
    Panicked,
    /// The kernel had reported nothing when its time ran out.
    TimedOut,
    /// The same, by the machine's own time.
    OutOfGuestTime,
    /// Somebody at the terminal ended the session.
    Left,
    /// Somebody has interrupted the runner.
    Interrupted,
    /// The machine ended without a verdict; the text says how.
    Failed(String),
}

impl Verdict {
    /// The verdict in QEMU's exit status; `was_reset`: the machine is known to have reset itself.
    #[must_use]
    pub fn of(
        statuses: Statuses,
        processor: Processor,
        status: ExitStatus,
        was_reset: bool,
    ) -> Self {
        if let Some(signal) = status.signal() {
            return Self::Failed(format!("QEMU was ended by signal {signal}"));
        }
        let [success, panicked] = [statuses.success, statuses.panicked].map(i32::from);
        match (processor, status.code()) {
            (Processor::Aarch64 | Processor::Armv7a, Some(0)) if was_reset => {
                Self::Failed("the machine reset itself without a verdict".into())
            }
            (_, Some(code)) if code == success && !(code == 0 && was_reset) => Self::Success,
            (_, Some(code)) if code == panicked => Self::Panicked,
            // PSCI's SYSTEM_OFF, the only way out for an image that knows no semihosting.
            (Processor::Aarch64 | Processor::Armv7a, Some(0)) => Self::Success,
            (Processor::X86_64, Some(0)) => Self::Failed(
                "the machine reset (a triple fault) or was switched off without a verdict \
                 (QEMU ended with status 0)"
                    .into(),
            ),
            (_, Some(1)) => Self::Failed(
                "QEMU could not start or run the machine (its status is 1; what it said is above)"
                    .into(),
            ),
            (_, code) => Self::Failed(format!(
                "QEMU ended with status {}, which is no verdict ({success} is success, {panicked} a panic)",
                code.unwrap_or(-1)
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    fn verdict(processor: Processor, status: ExitStatus, was_reset: bool) -> Verdict {
        Verdict::of(Statuses::USUAL, processor, status, was_reset)
    }

    #[test]
    fn all_processors_report_by_33_and_101() {
        for processor in Processor::ALL {
            assert_eq!(verdict(processor, exited(33), false), Verdict::Success);
            assert_eq!(verdict(processor, exited(101), false), Verdict::Panicked);
        }
    }

    #[test]
    fn switching_off_is_success_only_where_it_is_the_way_out() {
        assert_eq!(
            verdict(Processor::Aarch64, exited(0), false),
            Verdict::Success
        );
        let reset = verdict(Processor::Aarch64, exited(0), true);
        assert!(matches!(reset, Verdict::Failed(_)), "{reset:?}");
        let Verdict::Failed(words) = verdict(Processor::X86_64, exited(0), false) else {
            panic!("status 0 is no verdict on x86_64");
        };
        assert!(words.contains("triple fault"), "{words}");
    }

    #[test]
    fn anything_else_is_no_verdict() {
        for processor in Processor::ALL {
            for code in [1, 2, 35, 100, 102, 255] {
                assert!(matches!(
                    verdict(processor, exited(code), false),
                    Verdict::Failed(_)
                ));
            }
            let killed = ExitStatus::from_raw(9);
            assert_eq!(
                verdict(processor, killed, false),
                Verdict::Failed("QEMU was ended by signal 9".into())
            );
        }
    }

    /// A kernel that reports success by switching off, as many do on a PC.
    #[test]
    fn other_statuses_can_be_agreed_upon() {
        let statuses = Statuses {
            success: 0,
            panicked: 35,
        };
        let of = |code, reset| Verdict::of(statuses, Processor::X86_64, exited(code), reset);
        assert_eq!(of(0, false), Verdict::Success);
        assert!(matches!(of(0, true), Verdict::Failed(_)));
        assert_eq!(of(35, false), Verdict::Panicked);
        assert!(matches!(of(33, false), Verdict::Failed(_)));
    }
}
