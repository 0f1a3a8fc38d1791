//! What the kernel sends of itself for a host: dumps, samples, the words of a stack.

use std::path::{Path, PathBuf};

use qemu::build::Profile;

use super::{armv7a, built_image, judge};
use crate::support::boots::boot_image;
use crate::support::built::image_for_arm;
use crate::support::report::Report;
use crate::support::{sampled, sent};

fn thumb() -> PathBuf {
    image_for_arm(Profile::ThumbRelease)
}

#[gate]
fn what_is_sent_says_the_same_debug() {
    sent::what_is_sent_says_the_same(&built_image(false));
}

#[gate]
fn what_is_sent_says_the_same_release() {
    sent::what_is_sent_says_the_same(&built_image(true));
}

#[long]
fn what_is_sent_says_the_same_in_thumb_code() {
    sent::what_is_sent_says_the_same(&thumb());
}

#[long]
fn all_that_is_sent_says_the_same_debug() {
    sent::all_that_is_sent_says_the_same(&built_image(false));
}

#[long]
fn all_that_is_sent_says_the_same_release() {
    sent::all_that_is_sent_says_the_same(&built_image(true));
}

#[gate]
fn what_is_sent_can_be_asked_more() {
    sent::what_is_sent_can_be_asked_more(&built_image(true));
}

#[gate]
fn what_is_missing_is_said() {
    sent::what_is_missing_is_said(&built_image(true));
}

#[gate]
fn the_kernel_samples_itself_release() {
    sampled::a_kernel_samples_itself(&built_image(true));
}

#[long]
fn the_kernel_samples_itself_in_thumb_code() {
    sampled::a_kernel_samples_itself(&thumb());
}

/// Of the smallest report the host makes the list that the whole one has.
fn the_host_names_the_smallest_report(image: &Path) {
    let whole = boot_image(image, "one-call").expect(0);
    let small = boot_image(image, "one-call-stack").expect(0);
    assert!(!small.text().contains("backtrace"), "{}", small.text());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let log = folder.path().join("log");
    std::fs::write(&log, &small.serial).expect("a file can be written");
    let told = sent::autopsy(&log, image, &[]).expect(0);
    // What a report by one call begins with is whatever its kernel says.
    let begun = |text: String| text.replace("\nnothing has failed\n", "\npanicked at once\n");
    let first = |text: String| Report::find_all(text.as_bytes()).into_iter().next();
    let [told, whole] = [told, whole].map(|ran| first(begun(ran.text())).expect("a list"));
    let callers = |report: &Report| {
        let names = report.frames.iter();
        let names = names.map(|it| it.name.clone().unwrap_or_default());
        // Before them are closures, each report's own.
        let names = names.skip_while(|name| !name.ends_with("::one_call::outer"));
        names.collect::<Vec<_>>()
    };
    let [of_told, of_whole] = [&told, &whole].map(callers);
    let begin = of_whole.iter().position(|it| it.ends_with("one_call::run"));
    let begin = begin.expect("the scenario's function");
    assert!(begin >= 4, "{}", whole.text);
    assert_eq!(of_told[begin], "kernel::scenario::one_call::stack");
    let without = |names: &[String]| [&names[..begin], &names[begin + 1..]].concat();
    assert_eq!(without(&of_told), without(&of_whole), "{}", told.text);
}

#[gate]
fn the_host_names_the_smallest_report_debug() {
    the_host_names_the_smallest_report(&built_image(false));
}

#[gate]
fn the_host_names_the_smallest_report_release() {
    the_host_names_the_smallest_report(&built_image(true));
}

#[long]
fn the_host_names_the_smallest_report_in_thumb_code() {
    the_host_names_the_smallest_report(&thumb());
}

/// By an option of the runner, as on other architectures.
#[gate]
fn a_dump_is_sent_if_that_is_wanted() {
    let text = armv7a(false, &["--send-dump", "panic"]).expect(0).text();
    assert!(text.contains("\ndump begin 2 armv7a "), "{text}");
    let text = judge(false, "panic").expect(0).text();
    assert!(!text.contains("\ndump begin"), "{text}");
}
