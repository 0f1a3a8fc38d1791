//! What a walk from outside goes by, if an image has no rule map, or one that is damaged: the same functions, and none of the lists that
//! begins where a CPU was stopped is called complete.

use std::path::{Path, PathBuf};
use std::process::Command;

use qemu::setup;

use super::built_image;
use crate::ask::asked::{Asked, interrupted};
use crate::support::built::target;
use crate::support::corrupt;

/// A copy of the kernel without these sections' names, by which alone the runner finds them; the kernel has its own ways.
fn without(folder: &Path, sections: &[&str]) -> PathBuf {
    let objcopy = setup::program("llvm-objcopy", "llvm", &target()).expect("LLVM is to be had");
    let copy = folder.join("kernel");
    let renamed = sections
        .iter()
        .map(|name| format!("--rename-section={name}=.other{name}"));
    let status = Command::new(objcopy)
        .args(renamed)
        .args([&built_image(false), &copy])
        .status();
    assert!(status.expect("llvm-objcopy starts").success());
    copy
}

/// The functions of the CPU's list and of both tasks', and how each list ends.
fn lists(image: &Path, tables: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let asked: Asked = interrupted(image, "hang-tasks", 1);
    assert!(asked.text.contains(tables), "{}", asked.text);
    let names = asked.reports.iter().map(|report| {
        let names = report.names().into_iter().map(str::to_owned);
        names.collect()
    });
    let ends = asked.reports.iter().map(|report| report.end.clone());
    (names.collect(), ends.collect())
}

#[gate]
fn without_a_map_lists_are_the_same_and_in_doubt() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = built_image(false);
    let (expected, ends) = lists(&image, ", tables verified, exception tables, ");
    let is_complete = |end: &String| end.starts_with("end of backtrace: complete, ");
    assert!(ends.iter().all(is_complete), "{ends:?}");

    let made = without(folder.path(), &[".unwind_map"]);
    let (names, ends) = lists(&made, ", tables made from .debug_frame, exception tables, ");
    assert_eq!(names, expected);
    let doubt = "in doubt (nobody has compared the rows with the code), ";
    assert!(ends.iter().all(|end| end.contains(doubt)), "{ends:?}");

    let calls = without(folder.path(), &[".unwind_map", ".debug_frame"]);
    let (names, ends) = lists(&calls, ", exception tables, for calls only\n");
    assert_eq!(names, expected);
    // Tasks wait at calls, where these tables apply, but exception tables contain no proof.
    let [cpu, tasks @ ..] = &ends[..] else {
        panic!("no list");
    };
    assert!(
        cpu.contains(", and its row holds at calls only), "),
        "{cpu}"
    );
    let is_unproven = |end: &String| end.contains("(the tables contain no proof of their rows), ");
    assert!(tasks.iter().all(is_unproven), "{tasks:?}");
}

#[gate]
fn by_a_damaged_map_no_list_is_complete() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let damage = |map: &mut [u8]| {
        let middle = map.len() / 2;
        map[middle] ^= 1;
    };
    let image = corrupt::copy(&built_image(false), folder.path(), ".unwind_map", damage);
    let (_, ends) = lists(&image, ", tables damaged: ");
    assert!(!ends.is_empty());
    assert!(
        ends.iter().all(|end| !end.contains(" complete")),
        "{ends:?}"
    );
}

#[gate]
fn without_any_table_what_is_found_is_marked() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let all = [".unwind_map", ".debug_frame", ".ARM.exidx"];
    let image = without(folder.path(), &all);
    let (names, ends) = lists(
        &image,
        ", no tables: no rule map, .debug_frame or exception tables\n",
    );
    assert_eq!(names[0][..1], ["kernel::scenario::hangs::spin"]);
    assert!(
        ends.iter().all(|end| !end.contains(" complete")),
        "{ends:?}"
    );
}
