//! Every construct of call frame information that assembly can have, and the row it becomes. The texts are what
//! `sframe dump` prints, which is what `objdump --sframe` of GNU binutils 2.46 and later prints.

mod debug_frame;
mod others;
mod rows;

use crate::common::{folder, image_with, sframe, stdout};

/// Rows of an image, without addresses: each function's name, attributes and offsets.
fn rows(name: &str, target: &str, text: &str) -> (String, Vec<String>) {
    rows_of(name, target, text, &[])
}

/// [`rows`] of an image that was linked with more switches. The texts say what their instructions do not do, so nothing is
/// mended.
fn rows_of(name: &str, target: &str, text: &str, switches: &[&str]) -> (String, Vec<String>) {
    let folder = folder(name);
    let switches = [&["--sframe-repair=no"], switches].concat();
    let (image, output) = image_with(&folder, target, text, &switches);
    // Little of these images is code that rows can describe.
    let check = sframe(&["check", "--coverage=0"], &image);
    let said = stdout(&check);
    assert!(said.contains(" addresses: 0 differences\n"), "{said}");
    // Nothing else is wrong with it.
    let contradicts = !target.starts_with("s390x")
        && !said.contains("\nthe unwind table contradicts the code at 0 places\n");
    assert_eq!(check.status.success(), !contradicts, "{said}");
    let dump = stdout(&sframe(&["dump"], &image));
    let mut start = 0;
    let mut lines = String::new();
    for line in dump.lines().skip_while(|line| !line.contains("func idx")) {
        if let Some(function) = line.split("pc = ").nth(1) {
            let (pc, rest) = function.split_once(", ").unwrap();
            start = u64::from_str_radix(&pc[2..], 16).unwrap();
            lines += &format!("{rest}\n");
        } else if let Some((pc, rest)) = line.trim_start().split_once("  ")
            && let Ok(pc) = u64::from_str_radix(pc, 16)
        {
            let columns: Vec<&str> = rest.split_whitespace().collect();
            lines += &format!("  +{} {}\n", pc - start, columns.join(" "));
        }
    }
    let left_out = crate::common::stderr(&output)
        .lines()
        .filter_map(|line| {
            line.trim_start()
                .strip_prefix("no unwind rows in .sframe for ")
        })
        .map(str::to_owned)
        .collect();
    (lines, left_out)
}

fn function(name: &str, body: &str) -> String {
    format!(
        ".globl {name}\n.type {name}, %function\n{name}:\n.cfi_startproc\n{body}\n.cfi_endproc\n.size {name}, . - {name}\n"
    )
}

const X86_64: &str = "x86_64-unknown-linux-gnu";
const AARCH64: &str = "aarch64-unknown-none-softfloat";
