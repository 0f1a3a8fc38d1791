//! The expectations of other tests: a real report meets them, and none does in which anything was changed.

use crate::support::boots::boot;
use crate::support::built::{self, image};
use crate::support::calls::Calls;
use crate::support::each::kernel_tests;
use crate::support::expected;
use crate::support::report::{Frame, Report};
use crate::support::trace;
use crate::support::ways::is_scenario;
use qemu::build::Kernel;
use qemu::machine::Arch;

kernel_tests! { every:
    no_change_of_a_panic_meets_its_expectation,
    no_change_of_a_panic_in_a_handler_meets_its_expectation,
    no_change_of_a_panic_below_the_kernel_meets_its_expectation,
    other_names_of_private_functions_meet_the_expectation,
}

/// A report, and what is expected of it.
struct Case {
    kernel: Kernel,
    calls: std::sync::Arc<Calls>,
    report: Report,
    trace: String,
}

impl Case {
    #[track_caller]
    fn of(kernel: Kernel, scenario: &str, trace: &str) -> Self {
        let image = image(kernel);
        let case = Self {
            kernel,
            calls: Calls::of(&image),
            report: Report::find(&boot(kernel, scenario).expect(101).serial),
            trace: format!("{trace}\n= entry"),
        };
        let met = case.check(&case.report);
        assert_eq!(met, Ok(()), "{kernel:?}: {}", case.report.text);
        case
    }

    fn check(&self, report: &Report) -> Result<(), String> {
        trace::check(&self.calls, self.kernel, report, &self.trace, "complete, ")
    }

    /// Fails if the report would meet the expectation after this.
    #[track_caller]
    fn refuse(&self, what: &str, change: impl FnOnce(&mut Report)) {
        let mut report = self.report.clone();
        change(&mut report);
        let (kernel, frames) = (self.kernel, &report.frames);
        let refused = self.check(&report).is_err();
        assert!(refused, "{kernel:?}: {what} is not noticed: {frames:#x?}");
    }

    fn refuse_all_changes(&self) {
        let frames = &self.report.frames;
        for (number, frame) in frames.iter().enumerate() {
            let name = frame.name.as_deref().unwrap_or("-");
            let what = |change: &str| format!("frame {number}, {name}, {change}");
            // Nothing tells which function a pointer led to, if no expectation names it.
            let caller = frames.get(number + 1);
            let by_pointer = caller.is_some_and(|it| self.calls.is_by_pointer(it.address));
            let is_adapter = name.contains(" as core::ops::function::");
            let is_named = is_scenario(name) && !is_adapter;
            if is_named || !by_pointer {
                self.refuse(&what("missing"), |report| remove(report, number));
            }
            self.refuse(&what("twice"), |report| {
                insert(report, number, frame.clone())
            });
            for letter in "prlf?".chars().filter(|letter| *letter != frame.letter) {
                self.refuse(&what("of another kind"), |report| {
                    report.frames[number].letter = letter;
                });
            }
            for name in [
                "kernel::scenario::deep::descend",
                "bad_leaf",
                "kernel_entry",
            ] {
                if frame.name.as_deref() != Some(name) {
                    self.refuse(&what("of another scenario"), |report| {
                        report.frames[number].name = Some(name.to_owned());
                    });
                }
            }
            self.refuse(&what("without a name"), |report| {
                report.frames[number].name = None;
            });
            self.refuse_tail_calls(number);
            // Two calls by pointer hide what is between them, where no name is expected.
            let both = |other: &Frame| {
                let by_pointer = |it: &Frame| self.calls.is_by_pointer(it.address);
                !is_named && by_pointer(frame) && by_pointer(other)
            };
            for other in frames.iter().filter(|other| !both(other)) {
                self.refuse(&what(&format!("behind {:?}", other.name)), |report| {
                    insert(report, number, other.clone());
                });
            }
        }
        for index in 0..self.report.words.len() {
            self.refuse("a boundary less", |report| {
                report.words.remove(index);
            });
            self.refuse("a boundary elsewhere", |report| {
                report.words[index].0 -= 1;
            });
            self.refuse("another boundary", |report| {
                report.words[index].1 = "page fault, stack boot".to_owned();
            });
        }
        for number in 0..frames.len() {
            self.refuse("frames left out", |report| {
                report.words.push((number, "3 frames left out".to_owned()));
                report.words.sort();
            });
        }
        self.refuse("a boundary more", |report| {
            report
                .words
                .push((frames.len() - 1, "breakpoint".to_owned()));
        });
        self.refuse("another end", |report| {
            report.end = report.end.replace("complete", "incomplete");
        });
    }

    /// A line about a tail call needs code that jumps there.
    fn refuse_tail_calls(&self, number: usize) {
        let frames = &self.report.frames;
        let frame = &frames[number];
        let what = |change: &str| format!("frame {number}, {:?}, {change}", frame.name);
        if frame.tail_called_by.is_some() {
            self.refuse(&what("as if called"), |report| {
                report.frames[number].tail_called_by = None;
            });
        }
        let names = frames.iter().filter_map(|other| other.name.clone());
        for by in names.chain([format!("{:#018x}", frame.address)]) {
            if frame.tail_called_by.as_ref() != Some(&by) {
                self.refuse(&what(&format!("reached from {by}")), |report| {
                    report.frames[number].tail_called_by = Some(by);
                });
            }
        }
        // As if the caller had left by a jump.
        if let Some(caller) = frames.get(number + 1)
            && let Some(by) = &caller.name
            && number + 2 < frames.len()
            && !self.calls.jumps_by_pointer(by)
        {
            self.refuse(&what(&format!("reached by a jump from {by}")), |report| {
                report.frames[number].tail_called_by = Some(by.clone());
                remove(report, number + 1);
            });
        }
    }
}

fn remove(report: &mut Report, number: usize) {
    report.frames.remove(number);
    for (before, _) in &mut report.words {
        *before -= usize::from(*before > number);
    }
}

fn insert(report: &mut Report, number: usize, frame: Frame) {
    report.frames.insert(number, frame);
    for (before, _) in &mut report.words {
        *before += usize::from(*before > number);
    }
}

fn no_change_of_a_panic_meets_its_expectation(kernel: Kernel) {
    Case::of(kernel, "panic", &expected::panic()).refuse_all_changes();
}

fn no_change_of_a_panic_in_a_handler_meets_its_expectation(kernel: Kernel) {
    let boundary = match kernel.arch {
        Arch::X86_64 => "breakpoint",
        Arch::Aarch64 => "breakpoint 0x0",
    };
    let scenario = "kernel::scenario::nested::panic_in_handler";
    let trace = format!(
        "= panic
         r kernel::scenario::nested::index
         r~ {scenario}::{{closure#0}}
         = trap
         -- {boundary}, stack boot
         p {scenario}"
    );
    Case::of(kernel, "panic-in-handler", &trace).refuse_all_changes();
}

fn no_change_of_a_panic_below_the_kernel_meets_its_expectation(kernel: Kernel) {
    let trace = "= panic
                 = kernel
                 r kernel::scenario::deadlock::wait_for
                 r kernel::scenario::deadlock::twice";
    Case::of(kernel, "lock-twice", trace).refuse_all_changes();
}

/// Nobody can know who called a function of `core` that never returns, if its compiler said nothing of unwinding; but the
/// report must end there, and say so, and say it of nothing else.
#[long]
fn no_other_end_of_a_panic_without_tables_meets_its_expectation() {
    let case = Case::of(built::plain(Arch::Aarch64), "panic", &expected::panic());
    let frames = &case.report.frames;
    let guess = frames.iter().position(|frame| frame.letter == '?');
    let guess = guess.expect("the link register is lost");
    case.refuse("another handler", |report| {
        report.frames[0].name = Some("kernel::scenario::panic::fifth".to_owned());
    });
    case.refuse("a guess for another reason", |report| {
        let is = "needs the link register, whose value is unknown";
        let other = "needs a register whose value is unknown: register 7";
        report.end = report.end.replace(is, other);
    });
    for other in (0..frames.len()).filter(|other| *other != guess) {
        case.refuse("a guess elsewhere", |report| {
            let [is, other] = [guess, other].map(|number| format!("from frame {number} on"));
            report.end = report.end.replace(&is, &other);
        });
    }
    case.refuse("a function that returns before the guesses", |report| {
        report.frames[guess - 1].name = Some("kernel::scenario::panic::fifth".to_owned());
    });
    case.refuse("no function before the guesses", |report| {
        remove(report, guess - 1);
        let [is, other] = [guess, guess - 1].map(|number| format!("from frame {number} on"));
        report.end = report.end.replace(&is, &other);
    });
    case.refuse("a guess that seems to be sure", |report| {
        report.frames[guess + 1].letter = 'r';
    });
}

/// The kernel's own functions may have other names tomorrow.
fn other_names_of_private_functions_meet_the_expectation(kernel: Kernel) {
    let mut case = Case::of(kernel, "panic", &expected::panic());
    let mut renamed = 0;
    for frame in &mut case.report.frames {
        let name = frame.name.as_deref().expect("a name");
        for (private, other) in [
            ("core::", "core::other::name"),
            ("kernel::scenario::run", "kernel::other::name"),
            ("kernel::kernel_main", "kernel::start"),
        ] {
            let is_private = match private.ends_with("::") {
                true => name.starts_with(private),
                false => name == private,
            };
            if is_private {
                frame.name = Some(other.to_owned());
                renamed += 1;
                break;
            }
        }
    }
    assert!(renamed > 1, "{:#x?}", case.report.frames);
    assert_eq!(case.check(&case.report), Ok(()));
}
