//! What is said about rows that the code contradicts, and about those that it makes: by `sframe-link --sframe-stats`, by
//! `sframe check` and by `sframe stats`.

mod checked;
mod statistics;

use std::fs;
use std::path::Path;

use crate::common::{folder, image_with, sframe, stderr, stdout};
use serde_json::Value;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// `wrong` has a push that its directives do not know of, `silent` has none at all, `lost` says nothing of its code,
/// nobody can follow it, nothing calls it, and `right` is right.
const PROGRAM: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
.cfi_undefined rip
 call right
 call wrong
 call silent
 hlt
.cfi_endproc
.size _start, . - _start
.type right, %function
right:
.cfi_startproc
 push %rbp
.cfi_def_cfa_offset 16
.cfi_offset rbp, -16
 pop %rbp
.cfi_def_cfa_offset 8
.cfi_same_value rbp
 ret
.cfi_endproc
.size right, . - right
.type wrong, %function
wrong:
.cfi_startproc
 push %rbx
 call right
 pop %rbx
 ret
.cfi_endproc
.size wrong, . - wrong
.type silent, %function
silent:
 sub $24, %rsp
 call right
 add $24, %rsp
 ret
.size silent, . - silent
.type lost, %function
lost:
 jmp *table(,%rdi,8)
.size lost, . - lost
.data
table: .quad 0
";

/// Links [`PROGRAM`], with the statistics as JSON.
fn linked(folder: &Path, switches: &[&str]) -> Value {
    let file = folder.join("stats.json");
    let switch = format!("--sframe-stats={}", file.display());
    image_with(folder, TARGET, PROGRAM, &[&[&*switch], switches].concat());
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// The sum of all numbers in an object.
fn sum(object: &Value) -> u64 {
    let numbers = object.as_object().unwrap().values();
    numbers.map(|number| number.as_u64().unwrap()).sum()
}

fn number(value: &Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no {pointer} in {value:#}"))
}

/// What must be so in any of these files.
fn adds_up(stats: &Value) {
    let of = |key: &str| number(stats, &format!("/code/{key}"));
    let decided = of("agrees") + of("mended") + of("withdrawn") + of("made");
    assert_eq!(of("decided"), decided, "{stats:#}");
    let code = &stats["code"];
    let all = decided + sum(&code["undecided"]) + sum(&code["no_row"]);
    assert_eq!(of("bytes"), all, "{stats:#}");
    for what in ["functions", "rows"] {
        let from = stats["sframe"]["from"].as_object().unwrap();
        let from: u64 = from
            .values()
            .map(|one| number(one, &format!("/{what}")))
            .sum();
        assert_eq!(from, number(stats, &format!("/sframe/{what}")), "{stats:#}");
    }
    let contradictions = stats["contradictions"].as_array().unwrap();
    let bytes: u64 = contradictions.iter().map(|one| number(one, "/size")).sum();
    assert_eq!(bytes, of("mended") + of("withdrawn"), "{stats:#}");
}
