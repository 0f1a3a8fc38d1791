//! Profiles: call stacks at one of so many instructions, compared with what QEMU's log says of all of them.

mod missed;
mod truth;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::built::image;
use crate::support::corrupt;
use crate::support::each::kernel_tests;
use crate::support::runner::{Ran, run};
use crate::support::sampled;
use crate::support::tiny::{self, Act};
use qemu::build::Profile;
use qemu::machine::{Arch, Processor};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use serde_json::Value;
use truth::Truth;

/// Of any processor.
type Kernel = qemu::build::Kernel<Processor>;

/// What runs.
const WORDS: [&str; 2] = ["busy", "300"];

/// The most that a share may be wrong: 2 of 100.
const TOLERANCE: f64 = 0.02;

kernel_tests!(release: a_kernel_samples_itself);
kernel_tests!(one_release_of_all: a_hang_has_a_profile, several_cpus_have_a_profile, shares_are_true, twice_is_the_same, speedscope_has_the_same);

/// What the runner says of a profile of this image in this folder, and the file.
fn ran(image: &Path, folder: &Path, name: &str, words: &[&str]) -> (Ran, PathBuf) {
    let file = folder.join(name);
    let mut options: Vec<&OsStr> = vec!["--image".as_ref(), image.as_os_str()];
    options.extend(["--profile".as_ref(), file.as_os_str()]);
    options.extend(words.iter().map(|word| OsStr::new(*word)));
    (run(options), file)
}

/// A profile of this image.
fn profile(image: &Path, folder: &Path, name: &str, words: &[&str]) -> String {
    let (ran, file) = ran(image, folder, name, words);
    let ran = ran.expect(0).expect_words(" samples, one sample every ");
    assert!(!ran.words.contains("warning"), "{}", ran.words);
    fs::read_to_string(file).expect("it is written")
}

/// Stacks and their counts.
fn stacks(folded: &str) -> Vec<(Vec<&str>, u64)> {
    let parts = folded.lines().map(|line| line.rsplit_once(' '));
    let parts = parts.map(|parts| parts.expect("a stack and a count"));
    parts
        .map(|(stack, count)| (stack.split(';').collect(), count.parse().expect("a count")))
        .collect()
}

/// Whether a list ends too early, or is in doubt.
fn is_incomplete(stack: &[&str]) -> bool {
    matches!(stack[0], "[incomplete]" | "[in doubt]")
}

/// Whether it is code of 32-bit ARM that has no proven row: trap code before it has saved its frame, and the division of the toolchain's
/// `compiler_builtins`, which jumps to a computed place in a loop that is unrolled (`udivsi3.S` of compiler-rt).
fn has_no_row(kernel: Kernel, stack: &[&str]) -> bool {
    let innermost = stack.last().expect("a frame");
    let is_trap_code = innermost.starts_with("exception_") || innermost.starts_with("trap_");
    kernel.arch == Processor::Armv7a && (is_trap_code || *innermost == "__udivsi3")
}

fn a_kernel_samples_itself(kernel: Kernel) {
    sampled::a_kernel_samples_itself(&image(kernel));
}

fn shares_are_true(kernel: Kernel) {
    let image = image(kernel);
    let folder = tempfile::tempdir().expect("a folder can be made");
    // One in 500 instructions.
    let words = ["--profile-rate", "125000", WORDS[0], WORDS[1]];
    let folded = profile(&image, folder.path(), "profile.folded", &words);
    let stacks = stacks(&folded);
    let all: u64 = stacks.iter().map(|(_, count)| count).sum();
    let truth = Truth::of(&image, kernel.arch, &WORDS.join(" "));
    // None is missing, and none is there twice.
    let expected = truth.count as f64 / 500.0;
    assert!(
        (all as f64 / expected - 1.0).abs() < TOLERANCE,
        "{all} of {expected}"
    );
    let incomplete = stacks
        .iter()
        .filter(|(stack, _)| is_incomplete(stack) && !has_no_row(kernel, stack));
    let incomplete: u64 = incomplete.map(|(_, count)| count).sum();
    assert!(incomplete * 1000 <= all, "{incomplete} incomplete of {all}");

    let share = |count: u64| count as f64 / all as f64;
    let mut own: BTreeMap<&str, f64> = BTreeMap::new();
    for (stack, count) in &stacks {
        *own.entry(stack.last().expect("a frame")).or_default() += share(*count);
    }
    for (name, expected) in &truth.own {
        let found = own.remove(name.as_str()).unwrap_or_default();
        let difference = (found - expected).abs();
        assert!(
            difference < TOLERANCE,
            "{name} itself: {found}, in truth {expected}"
        );
    }
    let stray: f64 = own.values().sum();
    assert!(stray < TOLERANCE, "in truth nobody was there: {own:?}");
    for (name, expected) in &truth.with_callees {
        let has_it = stacks
            .iter()
            .filter(|(stack, _)| stack.contains(&name.as_str()));
        let found: f64 = has_it.map(|(_, count)| share(*count)).sum();
        let difference = (found - expected).abs();
        assert!(
            difference < TOLERANCE,
            "{name}: {found}, in truth {expected}"
        );
        assert!(*expected > 0.0, "{name} has run");
    }
}

/// QEMU does not record several CPUs, so the machine is stopped again and again. Lists are complete, but for those of assembly that a
/// CPU begins with; and those of all CPUs are there: the first one's begin with another function than the others'.
fn several_cpus_have_a_profile(kernel: Kernel) {
    let image = image(kernel);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (ran, file) = ran(
        &image,
        folder.path(),
        "1.folded",
        &["--cpus", "3", "sampled"],
    );
    let ran = ran
        .expect(0)
        .expect_words(" samples, taken from 3 CPUs at ");
    let counted = sampled::counted(&ran.text());
    let folded = fs::read_to_string(file).expect("it is written");
    let mut stacks = stacks(&folded);
    // QEMU stops a machine often where it takes an interrupt.
    stacks.retain(|(stack, _)| !has_no_row(kernel, stack));
    let count = |is: &dyn Fn(&[&str]) -> bool| {
        let those = stacks.iter().filter(|(stack, _)| is(stack));
        those.map(|(_, count)| *count).sum::<u64>()
    };
    let all = count(&|_| true);
    let parts = ["hard", "easy"].map(|part| format!("kernel::scenario::sampled::{part}"));
    let [hard, easy] = parts
        .each_ref()
        .map(|part| count(&|it| it.contains(&&**part)));
    let works = |it: &[&str]| parts.iter().any(|part| it.contains(&&**part));
    let first = count(&|it| works(it) && it[0] == "kernel_entry");
    let others =
        count(&|it| works(it) && ["start_entry", "start_high", "start_outermost"].contains(&it[0]));
    assert!(all > 200, "{folded}");
    let is_rust = |it: &[&str]| it.iter().any(|name| name.contains("::"));
    assert_eq!(count(&|it| is_incomplete(it) && is_rust(it)), 0, "{folded}");
    assert_eq!(first + others, hard + easy, "{folded}");
    assert!(first * 10 > all && others * 10 > all, "{folded}");

    // What the kernel says of itself is a sample, too, of some 600: of both, one in 20 thousand pairs differs by more than 4
    // standard deviations, which are 10 of 100.
    let of = |part: usize| counted.iter().map(|cpu| f64::from(cpu[part])).sum::<f64>();
    let expected = of(0) / (of(0) + of(1));
    let found = hard as f64 / (hard + easy) as f64;
    assert!(
        (found - expected).abs() < 0.1,
        "{found} for {expected}: {folded}"
    );
}

/// The samples of a file for speedscope are those of the folded stacks, in the order of time.
fn speedscope_has_the_same(kernel: Kernel) {
    let image = image(kernel);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let [folded, file] = ["1.folded", "1.speedscope.json"]
        .map(|name| profile(&image, folder.path(), name, &["busy", "50"]));
    let file: Value = serde_json::from_str(&file).expect("it is JSON");
    let frames = file["shared"]["frames"].as_array().expect("frames");
    let profile = &file["profiles"][0];
    let samples = profile["samples"].as_array().expect("stacks");
    let weights = profile["weights"].as_array().expect("times");
    assert_eq!(samples.len(), weights.len());
    let frame = |number: &Value| &frames[number.as_u64().expect("a number") as usize];
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut time = 0;
    for (sample, weight) in samples.iter().zip(weights) {
        let stack = sample.as_array().expect("numbers of frames").iter();
        let names = stack.map(|number| frame(number)["name"].as_str().expect("a name"));
        let names: Vec<_> = names.map(|name| name.replace(';', ":")).collect();
        let weight = weight.as_u64().expect("nanoseconds");
        // 10,000 a second.
        assert_eq!(weight % 100_000, 0);
        *counts.entry(names.join(";")).or_default() += weight / 100_000;
        time += weight;
    }
    let lines: Vec<_> = counts.iter().map(|(at, n)| format!("{at} {n}\n")).collect();
    assert_eq!(lines.concat(), folded);
    assert_eq!(profile["unit"], "nanoseconds");
    assert_eq!(profile["startValue"], 0);
    assert_eq!(profile["endValue"], time);

    // The boot has come before the work.
    let first = |name: &str| {
        let has_it = |sample: &Value| {
            let mut stack = sample.as_array().expect("numbers").iter();
            stack.any(|number| frame(number)["name"] == name)
        };
        samples.iter().position(has_it).expect("it was seen")
    };
    assert!(first("kernel_entry") < first("kernel::scenario::busy::round"));
    let source = fs::read_to_string("../kernel/src/scenario/busy.rs").expect("it is there");
    let source: Vec<_> = source.lines().collect();
    // Whoever calls is at the line of the call.
    let mut calls = 0;
    for sample in samples {
        for pair in sample.as_array().expect("numbers").windows(2) {
            let [caller, called] = [frame(&pair[0]), frame(&pair[1])];
            let called = called["name"].as_str().expect("a name");
            let called = called.strip_prefix("kernel::scenario::busy::");
            if let Some(called) = called
                && caller["name"] == "kernel::scenario::busy::round"
            {
                let file = caller["file"].as_str().expect("a file");
                assert!(file.ends_with("kernel/src/scenario/busy.rs"), "{file}");
                let line = caller["line"].as_u64().expect("a line");
                let text = source[line as usize - 1];
                assert!(text.contains(&format!("{called}(")), "{called}: {text}");
                calls += 1;
            }
        }
    }
    assert!(calls > 0, "{samples:?}");
}

/// Byte for byte; and it is XML.
fn twice_is_the_same(kernel: Kernel) {
    let image = image(kernel);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let [first, second] =
        ["1.svg", "2.svg"].map(|name| profile(&image, folder.path(), name, &WORDS));
    assert_eq!(first, second);
    let text = text_of(&first);
    for name in [
        "kernel::scenario::busy::heap (",
        "kernel::kernel_main (",
        // Inlined, and with what XML escapes.
        "<alloc::vec::Vec<",
    ] {
        assert!(text.contains(name), "no {name} in {text}");
    }
}

/// All text of a document, which is whole.
fn text_of(xml: &str) -> String {
    let mut reader = quick_xml::Reader::from_str(xml);
    let (mut all, mut depth) = (String::new(), 0);
    loop {
        match reader.read_event().expect("it is XML") {
            Event::Start(element) => {
                assert!(element.attributes().all(|attribute| attribute.is_ok()));
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::Text(text) => all += &text.decode().expect("text"),
            Event::GeneralRef(name) => {
                let name = name.decode().expect("a name");
                all += resolve_predefined_entity(&name).expect("XML's own");
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    all
}

/// The limit of its own time ends the profile at the same instruction.
fn a_hang_has_a_profile(kernel: Kernel) {
    let image = image(kernel);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let [first, second] = ["1.folded", "2.folded"].map(|name| {
        let words = [
            "--guest-timeout",
            "1",
            "--profile-rate",
            "1000",
            "hang-masked",
        ];
        let (ran, file) = ran(&image, folder.path(), name, &words);
        ran.expect(124)
            .expect_words(", one sample every 62500 instructions; ");
        fs::read_to_string(file).expect("it is written")
    });
    assert_eq!(first, second);
    let stacks = stacks(&first);
    let hangs = stacks.iter().filter(|(stack, _)| {
        let calls = [
            "kernel::scenario::hangs::masked",
            "kernel::scenario::hangs::spin",
        ];
        stack[0] == "kernel_entry" && stack.windows(2).any(|part| part == calls)
    });
    let hangs: u64 = hangs.map(|(_, count)| count).sum();
    // The rest is the boot.
    assert!((850..1000).contains(&hangs), "{first}");
}

/// Each instruction of an image that has no table and no symbol; and the verdict is the machine's, unless only the profile failed.
#[gate]
fn a_profile_that_cannot_be_written_hides_no_verdict() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    // A device that can be opened, and is full.
    let full = folder.path().join("full.svg");
    std::os::unix::fs::symlink("/dev/full", full).expect("a link can be made");
    for (exits, status, failed_status) in [(33, 0, 1), (101, 101, 101)] {
        let image = tiny::image(folder.path(), Arch::Aarch64, &[Act::Exit(exits)]);
        let words = ["--profile-rate", "62500000"];
        let (made, file) = ran(&image, folder.path(), "1.folded", &words);
        made.expect(status)
            .expect_words("; 0 samples have complete call stacks, ");
        let folded = fs::read_to_string(&file).expect("it is written");
        let [(stack, count)] = &stacks(&folded)[..] else {
            panic!("{folded}");
        };
        assert_eq!(stack[..], ["[incomplete]", "[outside the image]"]);
        assert!((7..16).contains(count), "{count} instructions");

        let (failed, _) = ran(&image, folder.path(), "full.svg", &words);
        let says = "error: cannot make a profile of tiny-aarch64: cannot write ";
        failed.expect(failed_status).expect_words(says);
    }
}

/// The code that differs does not run. The first samples are of code before paging, which is in another section and does not differ.
#[gate]
fn no_sample_is_complete_if_the_code_is_not_that_of_the_image() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (arch, words) in [
        (
            Processor::X86_64,
            ["--profile-rate", "125000", "busy", "300"],
        ),
        (Processor::X86_64, ["--cpus", "2", "busy", "300"]),
        (
            Processor::Aarch64,
            ["--profile-rate", "100000", "ok", "ok=1"],
        ),
    ] {
        let profile = Profile::Release;
        let kernel = image(Kernel { arch, profile });
        let unused = "kernel::scenario::hangs::exceptions";
        let image = corrupt::overwritten(&kernel, folder.path(), unused, &[0xcc; 4]);
        let (made, file) = ran(&image, folder.path(), "profile.folded", &words);
        let made = made.expect(0).expect_words(" differs from the linked code");
        let folded = fs::read_to_string(file).expect("it is written");
        let complete = stacks(&folded)
            .into_iter()
            .filter(|(stack, _)| !is_incomplete(stack));
        // Code before paging is the code that was linked.
        let is_early = |stack: &[&str]| stack.iter().all(|name| name.contains("boot"));
        for (stack, _) in complete {
            assert!(is_early(&stack), "{stack:?} {}", made.words);
        }
    }
}

#[gate]
fn what_makes_no_sense_is_refused() {
    for (words, says) in [
        (
            &["--profile", "a.png", "ok"][..],
            "unknown profile format of a.png",
        ),
        (
            &["--profile", "a.svg", "ok", "panic"],
            "--profile needs exactly one scenario",
        ),
        (
            &["--profile", "a.svg", "monitor"],
            "does not support interactive",
        ),
        (&["--profile-rate", "10", "ok"], "--profile <FILE>"),
    ] {
        run(words).expect(2).expect_words(says);
    }
}
