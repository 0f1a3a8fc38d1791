//! What follows a report if the kernel wants it.

use std::cell::Cell;

use super::machine::{FAULT, Machine, dies, frame, plan};
use crate::{PerCpu, Postmortem};

thread_local! {
    /// The device fails at the next text.
    static FAILS: Cell<Option<(&'static Machine, &'static Postmortem)>> = const { Cell::new(None) };
}

fn is_wanted() -> bool {
    if let Some((machine, postmortem)) = FAILS.take() {
        plan(&machine.in_write, postmortem, 100);
    }
    true
}

fn with_dump(cpus: usize, hurries: bool) -> (&'static Machine, &'static Postmortem) {
    let (machine, _) = Machine::new(cpus, hurries);
    let per_cpu = Box::leak(Box::new([const { PerCpu::new() }; 4]));
    let postmortem = Postmortem::new(machine, per_cpu).with_dump(is_wanted);
    (machine, Box::leak(Box::new(postmortem)))
}

/// Without checksums.
fn dump(text: &str) -> Vec<&str> {
    let last = format!("first failure: {FAULT}\n");
    let (_, dump) = text.split_once(&last).expect("the report is whole");
    dump.lines()
        .map(|line| line.rsplit_once(' ').expect("a checksum").0)
        .collect()
}

#[test]
fn registers_and_stacks_follow_the_report() {
    let (machine, postmortem) = with_dump(2, true);
    dies(|| postmortem.fault(&frame(200)));
    let text = machine.text();
    let lines = dump(&text);
    let arch = crate::arch::NAME;
    // On the host there is no `postmortem_read`.
    let begin = format!("dump begin 2 {arch} abcd 0x0000000000000000 ");
    let mark = lines[0].strip_prefix(&begin).expect(&text);
    assert_eq!(mark.len(), 8, "{text}");
    let pc = if arch == "x86_64" { "rip" } else { "pc" };
    let first = format!("dump cpu 0 {pc} 0x0000000000004321 ");
    assert!(lines[1].starts_with(&first), "{text}");
    let more = lines[2..].iter();
    let more = more.take_while(|line| line.starts_with("dump more 0 "));
    let rest = &lines[2 + more.count()..];
    // 64 words of zero each: 64 + 16 is 0x50, in base64 "UA==".
    let [boot, other] = [0, 1].map(|stack| {
        let start = machine.stacks[stack].as_ptr() as u64;
        format!("dump at {start:#018x} UA==")
    });
    let end = format!("dump end {} {mark}", lines.len() - 1);
    let expected = ["dump cpu 1 does not answer", &boot, &other, &end];
    assert_eq!(rest, expected, "{text}");
}

/// On its own line, and nothing of the report before is lost.
#[test]
fn an_error_in_a_dump_ends_it() {
    let (machine, postmortem) = with_dump(1, false);
    FAILS.set(Some((machine, postmortem)));
    dies(|| postmortem.fault(&frame(200)));
    let last = format!("first failure: {FAULT}");
    let second = "during the report: fault on cpu 0 at 0x0000000000004321: interrupt 100";
    let end = format!("\n{last}\ndu\n{second}\n{last}\n");
    let text = machine.text();
    assert!(text.ends_with(&end), "{text}");
}
