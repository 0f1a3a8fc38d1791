//! The verdict of a boot: QEMU's exit status, and what its monitor has said. Success is an act of the kernel, so that a command that starts
//! no machine, and a QEMU that somebody ends, never succeed.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::Processor;
use super::evidence::{Ending, Evidence};

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

/// A boot that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The exit status of the process that was started: QEMU, or a script that starts it.
    pub status: ExitStatus,
    /// That process.
    pub process: u32,
    /// What QEMU's monitor has said.
    pub evidence: Evidence,
    /// QEMU has a stub for a debugger, whose `kill` ends QEMU with status 0.
    pub is_debugged: bool,
    /// The serial line contains the begin of a report about a failure.
    pub has_report: bool,
}

impl Verdict {
    /// The verdict of a boot that has ended.
    #[must_use]
    pub fn of(statuses: Statuses, processor: Processor, ended: &Ended) -> Self {
        let code = match (ended.status.code(), ended.status.signal()) {
            (Some(code), _) => code,
            (None, Some(signal)) => {
                return Self::Failed(format!("QEMU was ended by signal {signal}"));
            }
            (None, None) => return Self::Failed("QEMU has not ended".into()),
        };
        let evidence = &ended.evidence;
        if !evidence.has_run {
            return Self::Failed(match code {
                1 => "cannot start the machine (QEMU ended with status 1; its messages are above)"
                    .into(),
                code => format!(
                    "the command ended with status {code} before QEMU's monitor reported a running machine; \
                     if the command is a script, the script must pass its arguments to QEMU"
                ),
            });
        }
        match &evidence.ending {
            Some(Ending::Panicked) => return Self::Panicked,
            Some(Ending::Reset) => {
                let cause = match processor {
                    Processor::X86_64 => " (a triple fault)",
                    _ => "",
                };
                let reported = match ended.has_report {
                    true => "after the kernel printed a panic or a report",
                    false => "without reporting success or a panic",
                };
                return Self::Failed(format!("the machine reset itself{cause} {reported}"));
            }
            Some(Ending::FromOutside(reason)) => {
                return Self::Failed(format!(
                    "QEMU ended ({reason}) before the kernel reported success or a panic"
                ));
            }
            Some(Ending::Off) | None => {}
        }
        // Of a script no status proves anything: it may hide that QEMU was killed, or have another reason for its status.
        let is_own = match evidence.process {
            Some(process) => process == ended.process,
            None => code != 0 || evidence.ending.is_some(),
        };
        if !is_own {
            return Self::Failed(format!(
                "status {code} is not from QEMU: a script must start QEMU with `exec qemu-system-...`, so that \
                 the script returns the status of QEMU"
            ));
        }
        let [success, panicked] = [statuses.success, statuses.panicked].map(i32::from);
        match code {
            0 => Self::of_zero(statuses, processor, ended),
            code if code == success => Self::Success,
            code if code == panicked => Self::Panicked,
            1 => Self::Failed(format!(
                "QEMU ended with status 1: expected {success} for success or {panicked} for a panic; see QEMU's messages \
                 above. On x86_64, status 1 can also mean that the kernel wrote 0 to isa-debug-exit"
            )),
            code => Self::no_verdict(code, statuses),
        }
    }

    /// The verdict of a QEMU that ended with status 0, which is the weakest evidence: every kernel that switches the machine off causes it.
    fn of_zero(statuses: Statuses, processor: Processor, ended: &Ended) -> Self {
        // On a PC only switching off ends QEMU so. Of Arm's semihosting with status 0 this version of QEMU's monitor says nothing.
        let is_off = processor != Processor::X86_64 || ended.evidence.ending.is_some();
        // PSCI's SYSTEM_OFF, the only way out for an image that knows no semihosting.
        let is_success = processor != Processor::X86_64 || statuses.success == 0;
        match () {
            () if ended.is_debugged => Self::Failed(
                "QEMU ended with status 0 under a debugger. This does not prove success: the gdb command `kill` causes the same status".into(),
            ),
            () if ended.evidence.has_monitor && ended.evidence.ending.is_none() => Self::Failed(
                "QEMU ended with status 0, but did not report that the machine stopped; a monitor command may be the cause: \
                 omit the options -monitor, -mon and -qmp"
                    .into(),
            ),
            () if !is_off => Self::no_verdict(0, statuses),
            () if statuses.panicked == 0 => Self::Panicked,
            // The kernel's own report outranks a status that is the same after a panic.
            () if ended.has_report => Self::Panicked,
            () if !is_success => Self::Failed(
                "the machine powered off without reporting success or a panic (QEMU ended with status 0)".into(),
            ),
            () => Self::Success,
        }
    }

    fn no_verdict(code: i32, Statuses { success, panicked }: Statuses) -> Self {
        Self::Failed(format!(
            "QEMU ended with status {code}: expected {success} for success or {panicked} for a panic"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// QEMU's process.
    const QEMU: u32 = 7;

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    fn ran(ending: Option<Ending>) -> Evidence {
        Evidence {
            has_run: true,
            ending,
            process: Some(QEMU),
            has_monitor: false,
        }
    }

    fn ended(code: i32, evidence: Evidence) -> Ended {
        Ended {
            status: exited(code),
            process: QEMU,
            evidence,
            is_debugged: false,
            has_report: false,
        }
    }

    fn usual(processor: Processor, ended: &Ended) -> Verdict {
        Verdict::of(Statuses::USUAL, processor, ended)
    }

    #[track_caller]
    fn failed(verdict: Verdict) -> String {
        match verdict {
            Verdict::Failed(words) => words,
            verdict => panic!("{verdict:?}"),
        }
    }

    #[test]
    fn all_processors_report_by_33_and_101() {
        for processor in Processor::ALL {
            // Later versions of QEMU report each end that the kernel wants as a switch-off.
            for ending in [None, Some(Ending::Off)] {
                let of = |code| usual(processor, &ended(code, ran(ending.clone())));
                assert_eq!(of(33), Verdict::Success);
                assert_eq!(of(101), Verdict::Panicked);
            }
        }
    }

    #[test]
    fn without_a_machine_there_is_no_verdict() {
        for processor in Processor::ALL {
            for code in [0, 1, 33, 101] {
                failed(usual(processor, &ended(code, Evidence::default())));
            }
        }
    }

    #[test]
    fn whoever_ends_qemu_from_outside_gives_no_verdict() {
        let outside = || ran(Some(Ending::FromOutside("host-signal".into())));
        for processor in Processor::ALL {
            for code in [0, 1, 33, 101] {
                let words = failed(usual(processor, &ended(code, outside())));
                assert!(words.contains("host-signal"), "{words}");
            }
        }
    }

    #[test]
    fn switching_off_is_success_only_where_it_is_the_way_out() {
        let of = |processor, ending| usual(processor, &ended(0, ran(Some(ending))));
        assert_eq!(of(Processor::Aarch64, Ending::Off), Verdict::Success);
        assert_eq!(of(Processor::Armv7a, Ending::Off), Verdict::Success);
        failed(of(Processor::X86_64, Ending::Off));
        for processor in Processor::ALL {
            failed(of(processor, Ending::Reset));
            assert_eq!(of(processor, Ending::Panicked), Verdict::Panicked);
        }
        let words = failed(of(Processor::X86_64, Ending::Reset));
        assert!(words.contains("triple fault"), "{words}");
        let reported = Ended {
            has_report: true,
            ..ended(0, ran(Some(Ending::Reset)))
        };
        let words = failed(usual(Processor::X86_64, &reported));
        assert!(
            words.contains("after the kernel printed a panic"),
            "{words}"
        );
    }

    /// Of an end by semihosting the monitor says nothing; nor does it if a script hides that QEMU was killed.
    #[test]
    fn status_0_without_an_event_counts_only_if_it_is_that_of_qemu() {
        let of = |process, ending| {
            let evidence = Evidence {
                process,
                ..ran(ending)
            };
            usual(Processor::Aarch64, &ended(0, evidence))
        };
        assert_eq!(of(Some(QEMU), None), Verdict::Success);
        assert_eq!(of(Some(QEMU), Some(Ending::Off)), Verdict::Success);
        // As later versions of QEMU report a panic by semihosting, whose status the script does not pass on.
        for ending in [None, Some(Ending::Off)] {
            failed(of(Some(QEMU + 1), ending));
        }
        // Where the host does not tell which process QEMU is.
        assert_eq!(of(None, Some(Ending::Off)), Verdict::Success);
        failed(of(None, None));
    }

    /// A script that ends with a verdict's status may have started a QEMU that was killed.
    #[test]
    fn no_status_of_another_program_is_a_verdict() {
        for processor in Processor::ALL {
            for code in [0, 1, 33, 101] {
                for ending in [None, Some(Ending::Off)] {
                    let evidence = Evidence {
                        process: Some(QEMU + 1),
                        ..ran(ending)
                    };
                    let words = failed(usual(processor, &ended(code, evidence)));
                    assert!(words.contains("is not from QEMU"), "{words}");
                }
            }
        }
    }

    /// Of a debugger's `kill` QEMU's monitor says nothing, or that the machine was switched off.
    #[test]
    fn status_0_under_a_debugger_is_no_verdict() {
        for statuses in [
            Statuses::USUAL,
            Statuses {
                success: 0,
                panicked: 35,
            },
        ] {
            for processor in Processor::ALL {
                for ending in [None, Some(Ending::Off)] {
                    let debugged = Ended {
                        is_debugged: true,
                        ..ended(0, ran(ending))
                    };
                    let words = failed(Verdict::of(statuses, processor, &debugged));
                    assert!(words.contains("debugger"), "{words}");
                }
            }
        }
        let debugged = Ended {
            is_debugged: true,
            ..ended(33, ran(None))
        };
        assert_eq!(usual(Processor::Aarch64, &debugged), Verdict::Success);
    }

    /// A stub that was started there leaves no other trace.
    #[test]
    fn status_0_without_an_event_is_no_verdict_beside_a_monitor() {
        let of = |code, ending| {
            let typed = Evidence {
                has_monitor: true,
                ..ran(ending)
            };
            usual(Processor::Aarch64, &ended(code, typed))
        };
        let words = failed(of(0, None));
        assert!(words.contains("-monitor"), "{words}");
        assert_eq!(of(0, Some(Ending::Off)), Verdict::Success);
        assert_eq!(of(33, None), Verdict::Success);
    }

    #[test]
    fn a_report_outranks_status_0_only() {
        let of = |statuses, processor, code| {
            let reported = Ended {
                has_report: true,
                ..ended(code, ran(Some(Ending::Off)))
            };
            Verdict::of(statuses, processor, &reported)
        };
        let off = Statuses {
            success: 0,
            panicked: 35,
        };
        assert_eq!(of(off, Processor::X86_64, 0), Verdict::Panicked);
        for processor in Processor::ALL {
            assert_eq!(of(Statuses::USUAL, processor, 0), Verdict::Panicked);
        }
        // A kernel that tests its panics succeeds by them.
        assert_eq!(
            of(Statuses::USUAL, Processor::Aarch64, 33),
            Verdict::Success
        );
    }

    #[test]
    fn anything_else_is_no_verdict() {
        for processor in Processor::ALL {
            for code in [1, 2, 35, 100, 102, 255] {
                failed(usual(processor, &ended(code, ran(None))));
            }
            let killed = Ended {
                status: ExitStatus::from_raw(9),
                ..ended(0, ran(None))
            };
            assert_eq!(
                usual(processor, &killed),
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
        let of = |code, ending| Verdict::of(statuses, Processor::X86_64, &ended(code, ran(ending)));
        assert_eq!(of(0, Some(Ending::Off)), Verdict::Success);
        failed(of(0, Some(Ending::Reset)));
        assert_eq!(of(35, None), Verdict::Panicked);
        failed(of(33, None));
    }
}
