//! Whole reports of one CPU, and what the next boot shows of them.

use std::sync::atomic::Ordering;

use super::cpus::in_cpu1;
use super::machine::{CODE, FAULT, HEADER, IN_TRACE, Machine, dies, frame, lines, plan};
use crate::{PerCpu, Postmortem, Region};

#[test]
fn a_fault_is_reported_in_full_with_the_first_line_once_more() {
    let (machine, postmortem) = Machine::new(1, false);
    postmortem.write("a line that was begun");
    dies(|| postmortem.fault(&frame(200)));
    let text = machine.text();
    let lines = lines(&text);
    assert_eq!(lines[..4], ["a line that was begun", FAULT, HEADER, CODE]);
    assert!(
        lines[4].starts_with("no function names, because .symbols cannot be used: "),
        "{text}"
    );
    assert!(
        lines[5].starts_with("end of backtrace: incomplete: "),
        "{text}"
    );
    let last = format!("first failure: {FAULT}");
    assert_eq!(lines[6..], ["task other: sleeps", &*last]);
}

#[test]
fn a_report_begins_a_line_when_the_device_had_half_of_a_text() {
    let (machine, postmortem) = Machine::new(1, false);
    plan(&machine.in_write, postmortem, 200);
    dies(|| postmortem.write("all CPUs work\n"));
    let text = machine.text();
    assert_eq!(lines(&text)[..2], ["all CPU", FAULT]);
}

#[test]
fn an_error_in_the_report_is_one_line() {
    let (machine, postmortem) = Machine::new(1, false);
    IN_TRACE.with(|errors| plan(errors, postmortem, 100));
    dies(|| postmortem.fault(&frame(200)));
    let second = "during the report: fault on cpu 0 at 0x0000000000004321: interrupt 100";
    let last = format!("first failure: {FAULT}");
    assert_eq!(lines(&machine.text()), [FAULT, HEADER, CODE, second, &last]);
}

#[test]
fn an_error_in_that_line_ends_in_silence() {
    let (machine, postmortem) = Machine::new(1, false);
    plan(&machine.in_words, postmortem, 50);
    plan(&machine.in_words, postmortem, 100);
    dies(|| postmortem.fault(&frame(200)));
    let begin = "fault on cpu 0 at 0x0000000000004321: ";
    let text = format!("{begin}\nduring the report: {begin}\n");
    assert_eq!(machine.text(), text);
}

#[test]
fn a_breakpoint_is_reported_and_the_next_one_too() {
    let (machine, postmortem) = Machine::new(1, false);
    for count in 1..=2 {
        postmortem.breakpoint(&frame(200));
        let text = machine.text();
        let first = "breakpoint on cpu 0 at 0x0000000000004321: interrupt 200";
        assert_eq!(
            lines(&text).iter().filter(|line| **line == first).count(),
            count
        );
        assert!(postmortem.hold().is_some(), "nobody holds the others");
    }
}

/// A task's own stack tells that it runs only while the task that the kernel has noted does not: during a switch.
#[test]
fn a_stray_stack_pointer_does_not_rename_the_running_task() {
    let (machine, postmortem) = Machine::new(1, false);
    let mut astray = frame(200);
    let sp = machine.stacks[1][8..].as_ptr() as u64;
    #[cfg(target_arch = "x86_64")]
    {
        astray.rsp = sp;
    }
    #[cfg(target_arch = "aarch64")]
    {
        astray.sp = sp;
    }
    postmortem.breakpoint(&astray);
    assert_eq!(lines(&machine.text())[1], HEADER);
    machine.switches.store(true, Ordering::Relaxed);
    postmortem.breakpoint(&astray);
    let of_other = HEADER.replace("task main", "task other");
    let text = machine.text();
    assert!(text.lines().any(|line| line == of_other), "{text}");
}

#[test]
fn a_report_is_kept_for_the_next_boot() {
    let region: &Region = Box::leak(Box::new(Region::new()));
    let (machine, _) = Machine::new(1, false);
    let per_cpu = Box::leak(Box::new([PerCpu::new()]));
    let postmortem = Postmortem::new(machine, per_cpu).with_last_words(region);
    let postmortem: &Postmortem = Box::leak(Box::new(postmortem));
    dies(|| postmortem.fault(&frame(200)));
    let before = machine.text();
    postmortem.show_last_words();
    let shown = machine.text().split_off(before.len());
    let last = format!("| first failure: {FAULT}\n");
    assert!(shown.ends_with(&last), "{shown}");
    assert_eq!(postmortem.boots(), 1);
}

#[test]
fn what_another_cpu_prints_once_the_report_has_begun_is_not_kept() {
    let region: &Region = Box::leak(Box::new(Region::new()));
    let (machine, _) = Machine::new(1, false);
    let per_cpu = Box::leak(Box::new([const { PerCpu::new() }; 2]));
    let postmortem = Postmortem::new(machine, per_cpu).with_last_words(region);
    let postmortem: &Postmortem = Box::leak(Box::new(postmortem));
    postmortem.show_last_words();
    postmortem.know_cpu();
    in_cpu1(|| postmortem.write("before\n"));
    dies(|| postmortem.fault(&frame(200)));
    in_cpu1(|| postmortem.write("after\n"));
    let before = machine.text();
    assert!(before.ends_with("\nafter\n"), "it is printed: {before}");
    postmortem.show_last_words();
    let shown = machine.text().split_off(before.len());
    assert!(
        shown.contains(&format!("\n| before\n| {FAULT}\n")),
        "{shown}"
    );
    assert!(!shown.contains("after"), "{shown}");
}
