//! What a walk from outside uses if an image has no rule map, or a damaged one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use qemu::setup;

use super::built_image;
use crate::ask::asked::{Asked, interrupted};
use crate::support::built::target;
use crate::support::corrupt;

/// A copy of the kernel without these sections' names, by which alone the runner finds them; the kernel has its own ways.
fn without(folder: &Path, sections: &[&str]) -> PathBuf {
    let image = built_image(false);
    let copy = folder.join("kernel");
    let renamed = sections
        .iter()
        .map(|name| OsString::from(format!("--rename-section={name}=.other{name}")));
    let renamed: Vec<_> = renamed.collect();
    let files = [image.as_ref(), copy.as_ref()];
    let arguments: Vec<_> = renamed.iter().map(|one| &**one).chain(files).collect();
    objcopy(&arguments);
    copy
}

fn objcopy(arguments: &[&OsStr]) {
    let objcopy = setup::program("llvm-objcopy", "llvm", &target()).expect("LLVM is to be had");
    let status = Command::new(objcopy).args(arguments).status();
    assert!(status.expect("llvm-objcopy starts").success());
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

#[long]
fn without_a_map_lists_are_the_same() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = built_image(false);
    let (expected, ends) = lists(
        &image,
        ", tables verified, exception tables are valid only at ",
    );
    let is_complete = |end: &String| end.starts_with("end of backtrace: complete, ");
    assert!(ends.iter().all(is_complete), "{ends:?}");

    // A map is made from the code.
    let made = ", unwind tables were synthesized from the image's code, exception tables are valid only at ";
    let image = without(folder.path(), &[".unwind_map"]);
    let (names, ends) = lists(&image, made);
    assert_eq!(names, expected);
    assert!(ends.iter().all(is_complete), "{ends:?}");

    // Without call frame information the first functions, which nothing calls, have rows in the exception tables only.
    let image = without(folder.path(), &[".unwind_map", ".debug_frame"]);
    let (names, ends) = lists(&image, made);
    assert_eq!(names, expected);
    for (end, names) in ends.iter().zip(&names) {
        let last = names.len() - 1;
        let doubt = format!(
            "outermost function reached, from frame {last} on in doubt (the unwind tables contain no proof that their rows are correct), "
        );
        assert!(end.contains(&doubt), "{end}");
    }
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

/// The first functions, which nothing calls, have no rows.
#[gate]
fn without_any_table_rows_are_made_from_the_code() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (expected, _) = lists(
        &built_image(false),
        ", tables verified, exception tables are valid only at ",
    );
    let all = [".unwind_map", ".debug_frame", ".ARM.exidx"];
    let image = without(folder.path(), &all);
    let (names, ends) = lists(
        &image,
        ", unwind tables were synthesized from the image's code\n",
    );
    assert_eq!(names, expected);
    for end in ends {
        let starts = "end of backtrace: incomplete: no unwind row for ";
        assert!(
            end.starts_with(starts) && !end.contains("in doubt"),
            "{end}"
        );
    }
}

/// Without symbols, too, nothing says where functions start.
#[gate]
fn without_tables_and_symbols_what_is_found_is_marked() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let sections = [".unwind_map", ".debug_frame", ".ARM.exidx"];
    let renamed = without(folder.path(), &sections);
    let image = folder.path().join("stripped");
    objcopy(&["--strip-all".as_ref(), renamed.as_ref(), image.as_ref()]);
    let asked = interrupted(&image, "hang-tasks", 1);
    let reason = ", no tables: the image has no unwind rule map, no symbols, no .debug_frame and no exception tables, ";
    assert!(asked.text.contains(reason), "{}", asked.text);
    let mut ends = asked.reports.iter().map(|report| &report.end);
    assert!(ends.all(|end| !end.contains(" complete")), "{}", asked.text);
}
