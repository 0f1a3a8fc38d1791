//! What cannot be linked with tables.

use super::*;

#[test]
fn a_script_with_a_place_for_one_table_is_refused() {
    let (folder, object) = assembled("half_a_place", CALLS);
    let half = ".tables.sframe : { __sframe_start = .; KEEP(*(.tables.sframe)) __sframe_end = .; }";
    let output = link(
        &folder,
        &SCRIPT.replace("INCLUDE tables.ld", half),
        &[&object],
    );
    refuses(
        &folder,
        &output,
        "image: __symbols_start is not defined, so there is no place for .symbols: write INCLUDE tables.ld into the linker \
         script, after every section that holds code (sframe-link --sframe-script prints tables.ld)",
    );
}

#[test]
fn a_fragment_before_code_is_refused() {
    let (folder, object) = assembled("a_fragment_before_code", CALLS);
    let script = SCRIPT
        .replace("INCLUDE tables.ld", "")
        .replace(".text :", "INCLUDE tables.ld .text :");
    let output = link(&folder, &script, &[&object]);
    assert!(
        stderr(&output).contains(
            "sframe-link: error: image: _start is at 0xffffffff80100000 without tables and at 0xffffffff8010"
        ),
        "{}",
        stderr(&output)
    );
    assert!(!folder.join("image").exists());
}

#[test]
fn an_image_without_eh_frame_is_refused() {
    let (folder, object) = assembled("without_eh_frame", ".globl _start\n_start: ret\n");
    let output = link(&folder, SCRIPT, &[&object, "--sframe-repair=no"]);
    refuses(
        &folder,
        &output,
        "image: no .eh_frame to make tables from: compile with -C force-unwind-tables=yes, and keep the section in the \
         linker script",
    );
    // Names need none.
    let output = link(&folder, SCRIPT, &[&object, "--sframe=none"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // The code itself tells, unless there is none.
    let output = link(&folder, SCRIPT, &[&object]);
    assert!(output.status.success(), "{}", stderr(&output));
    let dump = stdout(&sframe(&["dump"], &folder.join("image")));
    assert!(dump.contains("  _start\n"), "{dump}");
    let (folder, object) = assembled("without_code", ".globl _start\n_start = 0\n");
    let output = link(&folder, SCRIPT, &[&object]);
    refuses(
        &folder,
        &output,
        "image: no .eh_frame to make tables from, and no code that tells: compile with -C force-unwind-tables=yes, and \
         keep the section in the linker script",
    );
}
