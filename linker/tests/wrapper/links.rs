//! How often the linker runs, and with which debug information.

use super::*;

/// For tables that need no debug information the first link has none; unless `.debug_frame` says what rows are made from. It may come from
/// a library that is not named as a file, which is found out by the second link.
#[test]
fn the_first_link_has_the_debug_information_that_tables_need() {
    let (folder, main) = assembled("links", CALLS);
    let described = "
.cfi_sections .debug_frame
.globl described
.type described, %function
described:
.cfi_startproc
 push %rbp
 .cfi_def_cfa_offset 16
 .cfi_offset rbp, -16
 pop %rbp
 ret
.cfi_endproc
.size described, . - described
";
    let described = common::assemble(&common::folder("links_described"), TARGET, described);
    let library = described.parent().unwrap().to_str().unwrap();
    let by_name = format!("-l:{}", described.file_name().unwrap().to_str().unwrap());
    let linker = counting_linker(&folder);
    // The rows that the assembler describes, and nothing of the code.
    let switches = [
        format!("--sframe-linker={}", linker.display()),
        "--sframe-repair=no".to_owned(),
    ];
    let links = |level: &str, more: &[&str]| {
        let _ = fs::remove_file(folder.join("runs"));
        let _ = fs::remove_file(folder.join("image"));
        let level = format!("--symbols={level}");
        let own: Vec<&str> = [&switches[0], &switches[1], &level, &main]
            .map(|switch| switch.as_str())
            .to_vec();
        let output = link(&folder, SCRIPT, &[&own, more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let runs = fs::read_to_string(folder.join("runs")).unwrap();
        let is_without_debug = |run: &str| run.contains("--strip-debug");
        let runs: Vec<bool> = runs.lines().map(is_without_debug).collect();
        let dump = stdout(&sframe(&["dump"], &folder.join("image")));
        (runs, dump.contains("described"))
    };
    assert_eq!(links("none", &[]), (vec![true, false], false));
    assert_eq!(links("names", &[]), (vec![true, false], false));
    assert_eq!(links("calls", &[]), (vec![false, false], false));
    let path = described.to_str().unwrap();
    assert_eq!(links("none", &[path]), (vec![false, false], true));
    let unnamed = ["-L", library, &by_name];
    let expected = (vec![true, false, false, false], true);
    assert_eq!(links("none", &unnamed), expected);
}
