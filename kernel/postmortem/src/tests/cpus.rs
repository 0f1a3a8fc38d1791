//! Reports of a kernel with two CPUs.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::machine::{CPU, Machine, dies, frame};
use crate::{Cause, Other, PerCpu, Postmortem};

#[test]
fn another_cpu_stands_still_while_it_is_looked_at() {
    let (machine, postmortem) = Machine::new(2, false);
    let is_back = AtomicBool::new(false);
    thread::scope(|scope| {
        let cpu1 = scope.spawn(|| {
            CPU.set(1);
            while !machine.nmi.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            let asked_from_outside = postmortem.nmi(&frame(7), false, None);
            is_back.store(true, Ordering::Release);
            asked_from_outside
        });
        let held = postmortem.hold().expect("nobody holds the others");
        held.stop();
        assert!(matches!(held.other(1), Other::Interrupted(it) if *it == frame(7)));
        let mut out = String::new();
        postmortem
            .write_others(&mut out, &held)
            .expect("a string takes everything");
        let first = "cpu 1, task other, stopped at 0x0000000000004321, no stack";
        assert_eq!(out.lines().next(), Some(first));
        assert!(!is_back.load(Ordering::Acquire), "it stands still");
        drop(held);
        assert!(!cpu1.join().expect("CPU 1 goes on"));
    });
}

#[test]
fn a_cpu_that_finds_a_hang_during_a_report_has_its_own_registers_there() {
    let (_, postmortem) = Machine::new(3, false);
    let held = postmortem.hold().expect("nobody holds the others");
    let hangs = frame(7);
    let mut elsewhere = frame(7);
    elsewhere.set_pc(0x1111);
    let finds = Cause::Hang(1, elsewhere.registers());
    // CPU 1 has stopped, and CPU 2 waits for its turn.
    let stopped = postmortem.side(1);
    let frame = std::ptr::from_ref(&hangs).cast_mut().cast();
    stopped.stopped.store(frame, Ordering::Release);
    let now = postmortem.rendezvous.held.load(Ordering::Relaxed);
    stopped.waits_for.store(now, Ordering::Release);
    let cause = std::ptr::from_ref(&finds).cast_mut().cast();
    postmortem.side(2).failed.store(cause, Ordering::Release);
    let mut out = String::new();
    postmortem
        .write_others(&mut out, &held)
        .expect("a string takes everything");
    let of_finder = out
        .split_once("also failed: hang on cpu 1")
        .expect("CPU 2 is there")
        .1;
    assert!(of_finder.contains("0x0000000000001111 p"), "{out}");
    assert!(!of_finder.contains("0x0000000000004321"), "{out}");
}

#[test]
fn a_name_that_cannot_be_written_ends_no_list() {
    let (machine, postmortem) = Machine::new(1, false);
    machine.has_broken_names.store(true, Ordering::Relaxed);
    let mut out = String::new();
    postmortem
        .write_tasks(&mut out, frame(7).registers())
        .expect("a string takes everything");
    let incomplete =
        "task half (text incomplete, because its `Display` returned an error): sleeps\n";
    assert!(out.contains(incomplete), "{out}");
}

#[test]
fn a_trace_that_cannot_be_written_leaves_out_no_other() {
    let with_cpus = |cpus| -> &'static Postmortem {
        let (machine, _) = Machine::new(cpus, false);
        let per_cpu = Box::leak(Box::new([const { PerCpu::new() }; 3]));
        let postmortem = Postmortem::new(machine, per_cpu).with_traces(|_, _| Err(fmt::Error));
        Box::leak(Box::new(postmortem))
    };
    let postmortem = with_cpus(3);
    postmortem.know_cpu();
    let held = postmortem.hold().expect("nobody holds the others");
    let hangs = frame(7);
    let finds = Cause::Hang(1, frame(7).registers());
    let stopped = postmortem.side(1);
    let pointer = std::ptr::from_ref(&hangs).cast_mut().cast();
    stopped.stopped.store(pointer, Ordering::Release);
    let now = postmortem.rendezvous.held.load(Ordering::Relaxed);
    stopped.waits_for.store(now, Ordering::Release);
    let cause = std::ptr::from_ref(&finds).cast_mut().cast();
    postmortem.side(2).failed.store(cause, Ordering::Release);
    let mut out = String::new();
    assert!(postmortem.write_others(&mut out, &held).is_err());
    for head in [
        "cpu 1, task other, stopped at ",
        "cpu 2, task 2, also failed: ",
    ] {
        assert!(out.contains(head), "{out}");
    }
    out.clear();
    let postmortem = with_cpus(1);
    postmortem.know_cpu();
    let written = postmortem.write_tasks(&mut out, frame(7).registers());
    assert!(written.is_err());
    assert_eq!(out.matches("\ntask ").count(), 2, "{out}");
}

/// Runs this on CPU 1.
pub fn in_cpu1(run: impl FnOnce() + Send) {
    let cpu1 = || {
        CPU.set(1);
        run();
    };
    thread::scope(|scope| scope.spawn(cpu1).join().expect("no panic here"));
}

#[test]
fn a_cpu_that_does_not_answer_in_time_is_named() {
    let (machine, postmortem) = Machine::new(2, true);
    dies(|| postmortem.fault(&frame(200)));
    assert!(machine.text().contains("\ncpu 1 does not answer\n"));
}

#[test]
fn an_nmi_that_nobody_sent_is_a_report_of_all_cpus() {
    let (machine, postmortem) = Machine::new(2, true);
    assert!(postmortem.nmi(&frame(2), true, None));
    let text = machine.text();
    assert!(
        text.starts_with("interrupted on cpu 0 at 0x0000000000004321: "),
        "{text}"
    );
    assert!(text.ends_with("\ncpu 1 does not answer\n"), "{text}");
    assert!(postmortem.hold().is_some(), "all have gone on");
}

#[test]
fn a_cpu_that_hangs_is_reported_by_the_one_that_watches_it() {
    let (machine, postmortem) = Machine::new(2, true);
    postmortem.start_watchdog();
    in_cpu1(|| postmortem.tick(10));
    assert!(!postmortem.is_watched());
    dies(|| {
        for _ in 0..100 {
            postmortem.tick(10);
        }
    });
    let text = machine.text();
    let first = "hang on cpu 1: its timer has not ticked for 3 s, detected by cpu 0\n";
    assert!(text.starts_with(first), "{text}");
    assert!(
        text.ends_with(&format!("\nfirst failure: {first}")),
        "{text}"
    );
}

/// Each CPU that a machine check reaches has its own.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_machine_check_is_told_of_the_cpu_that_has_noted_it() {
    use crate::x86_64::MachineCheck;

    let (_, postmortem) = Machine::new(2, false);
    for (cpu, bank) in [(1, 5), (0, 4)] {
        CPU.set(cpu);
        let error = MachineCheck::new(bank, 1 << 63 | bank, || 0);
        postmortem.note_machine_check(error.expect("a valid status"));
    }
    for (cpu, told) in [(0, ": bank 4, error 0x0004"), (1, ": bank 5, error 0x0005")] {
        let text = postmortem.words_of(Some(cpu), &frame(18)).to_string();
        assert!(text.ends_with(told), "{text}");
        assert!(
            !postmortem
                .words_of(Some(cpu), &frame(3))
                .to_string()
                .contains("bank")
        );
    }
}
