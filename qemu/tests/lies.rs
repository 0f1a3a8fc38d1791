//! Rules that contradict the code, as compilers emit them: the link mends them, or leaves them out where it cannot.

use crate::support::boots::boot;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::trace;
use qemu::build::Kernel;
use qemu::machine::Arch;

kernel_tests! { every_and_both_plain:
    a_rule_before_its_save,
    a_rule_before_its_frame,
    a_push_without_a_rule,
    a_push_of_a_constant_without_a_rule,
    a_call_without_a_rule,
    an_epilogue_without_rules,
    a_prologue_with_rules_one_instruction_late,
    a_save_later_than_its_rule_is_no_other_caller,
    a_contradicted_rule_that_cannot_be_mended_is_left_out,
    a_return_address_in_a_register_is_in_doubt,
}

kernel_tests! { x86_64_and_plain:
    a_far_return_without_rules,
}

/// On AArch64 the rule of the return address held too early, and led to the caller of an earlier call, `innocent`.
fn a_save_later_than_its_rule_is_no_other_caller(kernel: Kernel) {
    let ran = boot(kernel, "late-save").expect(101);
    let report = Report::find(&ran.serial);
    let words = match kernel.arch {
        Arch::X86_64 => "page fault: read of 0x0000000000001000, not mapped",
        Arch::Aarch64 => "data abort: read of 0x0000000000001000, translation fault level 0",
    };
    assert!(report.panicked.ends_with(words), "{}", report.panicked);
    let trace = "p kernel::scenario::late_save::culprit
                 r kernel::scenario::late_save::guilty
                 r kernel::scenario::late_save::run";
    trace::expect(kernel, &report, trace, "complete, ");
}

/// Below every function of `lies.s`.
const CALLERS: &str = "
    r kernel::scenario::lies::call
    r kernel::scenario::lies::run
";

/// The functions of `lies.s` in the order they are called in.
fn lies(arch: Arch) -> Vec<&'static str> {
    let mut lies = vec![
        "early_save",
        "early_frame",
        "push",
        "push_constant",
        "call",
        "epilogue",
        "late_prologue",
        "beyond_proof",
        "register",
    ];
    if arch == Arch::X86_64 {
        lies.insert(6, "far_return");
    }
    lies
}

/// The report of the breakpoint in one of them. One boot of a kernel has all.
#[track_caller]
fn report(kernel: Kernel, lie: &str) -> Report {
    let ran = boot(kernel, "lies").expect(0);
    let lies = lies(kernel.arch);
    let mut reports = Report::find_all(&ran.serial);
    let last = ran.text();
    let last = last.lines().last().unwrap_or_default();
    // The code is right, so the callers are those that are expected.
    assert_eq!(last, format!("all {} functions returned", lies.len()));
    assert_eq!(reports.len(), lies.len(), "{kernel:?}: reports");
    let index = lies.iter().position(|other| *other == lie);
    let report = reports.swap_remove(index.expect("a function of this architecture"));
    let begin = "breakpoint on cpu 0 at ";
    assert!(report.panicked.starts_with(begin), "{}", report.panicked);
    report
}

/// The part of a serial line that is about one report, for people.
fn only(report: &Report) -> String {
    let frames = report.frames.iter();
    let frames =
        frames.map(|frame| format!("{:#x?} {} {:?}\n", frame.address, frame.letter, frame.name));
    format!("{}{}", frames.collect::<String>(), report.end)
}

/// All callers are there, and sure. `inner`: those that `lies.s` has itself.
#[track_caller]
fn mended_below(kernel: Kernel, lie: &str, inner: &str) {
    let mut report = report(kernel, lie);
    report.text = only(&report).into();
    let trace = format!("{inner}{CALLERS}");
    trace::expect(kernel, &report, &trace, "complete, ");
}

#[track_caller]
fn mended(kernel: Kernel, lie: &str) {
    mended_below(kernel, lie, &format!("p lie_{lie}"));
}

fn a_rule_before_its_save(kernel: Kernel) {
    mended(kernel, "early_save");
}

fn a_rule_before_its_frame(kernel: Kernel) {
    mended(kernel, "early_frame");
}

fn a_push_without_a_rule(kernel: Kernel) {
    mended(kernel, "push");
}

fn a_push_of_a_constant_without_a_rule(kernel: Kernel) {
    mended(kernel, "push_constant");
}

/// On AArch64, the call of an outlined piece of code.
fn a_call_without_a_rule(kernel: Kernel) {
    mended_below(kernel, "call", "p lie_callee\nr lie_call");
}

fn an_epilogue_without_rules(kernel: Kernel) {
    mended(kernel, "epilogue");
}

/// It sets `cs`, which AArch64 does not have. The callers are right, but the function is called only through a pointer, and a far return
/// could be that of trap code.
fn a_far_return_without_rules(kernel: Kernel) {
    let mut report = report(kernel, "far_return");
    report.text = only(&report).into();
    let end = "outermost function reached, from frame 1 on in doubt (no proof for the unwind row of frame 0), ";
    trace::expect(kernel, &report, &format!("p lie_far_return{CALLERS}"), end);
}

fn a_prologue_with_rules_one_instruction_late(kernel: Kernel) {
    mended(kernel, "late_prologue");
}

/// What contradicts the code once is not believed where the code decides nothing: the caller is a marked guess.
fn a_contradicted_rule_that_cannot_be_mended_is_left_out(kernel: Kernel) {
    without_rows(kernel, "beyond_proof");
}

/// SFrame has words for a return address in a register, but a walk knows few registers. On AArch64 it is a callee that fails,
/// which returns to where x30 says.
fn a_return_address_in_a_register_is_in_doubt(kernel: Kernel) {
    match kernel.arch {
        Arch::X86_64 => without_rows(kernel, "register"),
        Arch::Aarch64 => in_doubt(kernel, "register", "p lie_callee\nr lie_register", |_| {
            "the unwind row needs the link register, whose value is unknown, from frame 2 on"
                .to_owned()
        }),
    }
}

#[track_caller]
fn without_rows(kernel: Kernel, lie: &str) {
    in_doubt(kernel, lie, &format!("p lie_{lie}"), |report| {
        let pc = report.frames[0].address;
        format!(
            "no unwind row for address {pc:#018x}: the unwind table has no rows for the function, from frame 1 on"
        )
    });
}

/// These frames are sure, those behind them are guesses, and the end says so, and why.
#[track_caller]
fn in_doubt(kernel: Kernel, lie: &str, sure: &str, why: impl FnOnce(&Report) -> String) {
    let mut report = report(kernel, lie);
    report.text = only(&report).into();
    let end = format!("incomplete: {} by scanning, ", why(&report));
    trace::expect_whole(kernel, &report, &format!("{sure}\n..."), &end);
}
