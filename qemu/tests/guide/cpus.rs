//! A kernel with four CPUs: a report that ends it has the callers of all.

use std::path::Path;

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;

use super::builds::Sources;
use super::kinds::expect_shown;
use super::reports::{COMPLETE, expect_stop, stop_in};
use super::said::Said;
use super::short::{self, HANDLERS, Kind, VECTORS, replace};
use super::steps;
use super::text::part;
use crate::support::boots::Request;

/// A kernel with four CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Cpus {
    /// The kernel that reports one CPU.
    one: Kind,
    /// Its place in the guide.
    place: &'static str,
    /// How many lines change, beside those for one CPU.
    lines: usize,
}

pub const X86_64: Cpus = Cpus {
    one: Kind {
        name: "cpus",
        boot,
        ..HANDLERS
    },
    place: "other-cpus.md#x86-64",
    lines: 5,
};

const AARCH64: Cpus = Cpus {
    one: Kind {
        name: "cpus_aarch64",
        boot,
        ..VECTORS
    },
    place: "other-cpus.md#AArch64",
    lines: 6,
};

fn boot(sources: Sources, kernel: Kernel) -> Said {
    let built = sources.build(kernel);
    let ran = Request::of(&built.image, "").cpus(4).run();
    Said::of_run(kernel, built, &[], ran)
}

impl Cpus {
    /// The kernel after the changes for one CPU, and `change`.
    pub fn boot(self, profile: Profile, change: impl FnOnce(&Path)) -> Said {
        self.one.with(profile, change)
    }

    /// The same after all changes of the guide.
    fn with(self, profile: Profile, change: impl FnOnce(&Path)) -> Said {
        self.boot(profile, |folder| {
            let lines = steps::apply(&part(self.place), folder);
            assert_eq!(lines, self.lines);
            change(folder);
        })
    }
}

/// What the others do, with the callers of each.
const OTHERS: [(&str, &str); 3] = [
    ("cpu 1, stopped at ", "p corner_shop::staff::sweep"),
    ("cpu 2, stopped at ", "p corner_shop::staff::guard"),
    (
        "cpu 3, stopped at ",
        "p corner_shop::staff::find
        r corner_shop::exceptions::overflow
        -- interrupted
        p corner_shop::staff::count",
    ),
];

const OTHERS_AARCH64: [(&str, &str); 3] = [
    OTHERS[0],
    OTHERS[1],
    (
        "cpu 3, stopped at ",
        "p corner_shop::staff::find
        r~ corner_shop::staff::count",
    ),
];

/// The verdict on the other CPUs: their boot code loads the stack pointer from memory.
const IN_DOUBT: &str = "outermost function reached, from frame ";

#[track_caller]
fn expect_others(said: &Said, others: &[(&str, &str)]) {
    let text = &said.text;
    let (_, report) = text.split_once("\ncpu 0, ").expect(text);
    let begin = match report.starts_with("x86_64") {
        true => "other_long_mode",
        false => "other_with_mmu",
    };
    let from = format!("\nr~ corner_shop::staff::work\nr come\nr {begin}");
    for (begin, trace) in others {
        said.expect(begin, &[trace, &*from].concat(), IN_DOUBT);
    }
    let heads = report.lines().filter(|line| line.starts_with("cpu "));
    let begins = others.iter().map(|(begin, _)| *begin);
    assert!(
        heads
            .zip(begins)
            .all(|(head, begin)| head.starts_with(begin)),
        "{text}"
    );
    let ends = report.matches("\nend of backtrace: ").count();
    assert_eq!(ends, 1 + others.len(), "{text}");
}

#[long]
fn a_report_has_the_callers_of_all_cpus() {
    let before = X86_64.boot(Profile::Debug, |_| ()).text;
    assert_eq!(before.matches("end of backtrace").count(), 1, "{before}");
    assert!(!before.contains("\ncpu "), "{before}");

    let said = X86_64.with(Profile::Debug, |_| ());
    expect_others(&said, &OTHERS);
    expect_shown(&said.text, "page fault\ncpu 0", "other-cpus.md");
}

#[long]
fn a_report_of_an_optimized_kernel_has_the_callers_of_all_cpus() {
    expect_others(&X86_64.with(Profile::Release, |_| ()), &OTHERS);
}

#[long]
fn a_report_has_the_callers_of_all_cpus_on_aarch64() {
    let before = AARCH64.boot(Profile::Debug, |_| ()).text;
    assert_eq!(before.matches("end of backtrace").count(), 1, "{before}");
    assert!(!before.contains("\ncpu "), "{before}");

    for profile in [Profile::Debug, Profile::Release] {
        let said = AARCH64.with(profile, |_| ());
        expect_others(&said, &OTHERS_AARCH64);
    }
    let shop = stop_in(Arch::Aarch64);
    let said = AARCH64.with(Profile::Debug, |folder| short::write_shop(folder, &shop));
    expect_stop(&said, Arch::Aarch64, COMPLETE);
    let (breakpoint, _) = said.text.split_once("\nwent on\n").expect(&said.text);
    assert!(!breakpoint.contains("\ncpu "), "{}", said.text);
    expect_others(&said, &OTHERS_AARCH64);
}

/// A breakpoint, and an NMI that is none of a report, stop nobody; and then one CPU does not answer.
#[long]
fn a_report_says_that_a_cpu_does_not_answer() {
    let shop = "
        #[inline(never)]
        pub fn serve(customers: u64) {
            // SAFETY: its handler returns.
            unsafe { core::arch::asm!(\"int3\") };
            crate::cpus::send_nmi_to_others();
            assert!(customers == 0, \"sold out\");
        }
    ";
    let said = X86_64.with(Profile::Debug, |folder| {
        short::write_shop(folder, shop);
        let handler = "postmortem::stop_if_asked()";
        let silent = format!("if crate::cpus::number() == 2 {{ loop {{}} }} {handler}");
        replace(&folder.join("src/exceptions.rs"), handler, &silent);
    });
    let text = &said.text;
    let trace = "= panic\nr corner_shop::shop::serve\nr~ main\nr long_mode";
    said.expect("panicked at src/shop.rs:", trace, COMPLETE);
    let (breakpoint, report) = text.split_once("\npanicked at ").expect(text);
    assert!(breakpoint.contains("breakpoint\nx86_64"), "{text}");
    assert!(!breakpoint.contains("\ncpu "), "{text}");
    assert!(report.starts_with("src/shop.rs:"), "{text}");
    expect_others(&said, &[OTHERS[0], OTHERS[2]]);
    assert!(
        text.ends_with("\nno answer from 1 of 3 other CPUs\n"),
        "{text}"
    );
}

/// CPU 3 panics when CPU 0 has, which sends the NMI only later.
#[long]
fn a_report_has_the_words_of_a_cpu_that_has_failed_too() {
    let said = X86_64.with(Profile::Debug, |folder| {
        short::write_shop(folder, "pub fn serve(_: u64) { panic!(\"sold out\") }");
        let cpus = folder.join("src/cpus.rs");
        let send = "    command(0x000c_4400);";
        let later =
            "    crate::staff::fail();\n    for _ in 0..10_000_000 { core::hint::spin_loop() }\n";
        replace(&cpus, send, &[later, send].concat());
        let staff = folder.join("src/staff.rs");
        replace(
            &staff,
            "pub fn find() {",
            "pub fn find() {
                FINDS.store(true, Ordering::Release);
                while !FAILS.load(core::sync::atomic::Ordering::Relaxed) {}
                panic!(\"who has counted this?\");
            }
            static FAILS: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
            pub fn fail() {
                FAILS.store(true, core::sync::atomic::Ordering::Relaxed);
            }
            #[allow(dead_code)]
            fn nobody() {",
        );
    });
    let text = &said.text;
    let failed = "cpu 3, also failed: panicked at src/staff.rs:";
    let trace = OTHERS[2].1.replace(
        "p corner_shop::staff::find",
        "= panic\nr corner_shop::staff::find",
    );
    expect_others(&said, &[OTHERS[0], OTHERS[1], (failed, &trace)]);
    assert_eq!(
        text.matches("\nwho has counted this?\n").count(),
        1,
        "{text}"
    );
    assert_eq!(text.matches("panicked at ").count(), 2, "{text}");
}

/// All CPUs panic at the same time, while they write reports of breakpoints.
#[long]
fn of_cpus_that_panic_at_once_one_has_a_report_of_all() {
    let said = X86_64.with(Profile::Debug, |folder| {
        let shop = "
            use core::sync::atomic::{AtomicU32, Ordering};
            static FAILED: AtomicU32 = AtomicU32::new(0);
            #[inline(never)]
            pub fn serve(_: u64) {
                FAILED.fetch_add(1, Ordering::Relaxed);
                while FAILED.load(Ordering::Relaxed) < 4 {}
                // SAFETY: its handler returns.
                unsafe { core::arch::asm!(\"int3\") };
                panic!(\"sold out\");
            }
        ";
        short::write_shop(folder, shop);
        replace(
            &folder.join("src/cpus.rs"),
            "while !staff::all_work()",
            "while false",
        );
        let staff = folder.join("src/staff.rs");
        replace(
            &staff,
            "    match number {",
            "    crate::shop::serve(0);\n    match number {",
        );
    });
    let text = &said.text;
    let (_, report) = text.rsplit_once(", x86_64, no build id, ").expect(text);
    // Nothing else comes between its lines.
    let ends: Vec<_> = report.split_inclusive("\nend of backtrace: ").collect();
    assert_eq!(ends.len(), 5, "{text}");
    for trace in &ends[..4] {
        let serves = [
            "r corner_shop::shop::serve+",
            "p corner_shop::shop::serve+",
            "into corner_shop::shop::serve at ",
        ];
        assert!(
            serves.iter().any(|it| trace.contains(it)),
            "{trace} in {text}"
        );
        let begins = ["r other_long_mode+", "r long_mode+"];
        assert!(
            begins.iter().any(|it| trace.contains(it)),
            "{trace} in {text}"
        );
        let frames: Vec<_> = trace.lines().filter(|line| line.contains(": 0x")).collect();
        for (number, frame) in frames.iter().enumerate() {
            assert!(
                frame.starts_with(&format!("{number:>4}: ")),
                "{frame} in {text}"
            );
        }
    }
    let others = report.lines().filter(|line| line.starts_with("cpu "));
    assert_eq!(others.count(), 3, "{text}");
    assert!(!text.contains("no answer"), "{text}");
}
