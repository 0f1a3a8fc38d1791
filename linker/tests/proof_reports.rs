//! What is said about rows that the code contradicts, and about those that it makes: by `sframe-link --sframe-stats`, by
//! `sframe check` and by `sframe stats`.

mod common;

use std::fs;
use std::path::Path;

use common::{folder, image_with, sframe, stderr, stdout};
use serde_json::Value;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// `wrong` has a push that its directives do not know of, `silent` has none at all, `lost` says nothing of its code and
/// nobody can follow it, and `right` is right.
const PROGRAM: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
.cfi_undefined rip
 call right
 call wrong
 call silent
 call lost
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
table: .quad lost
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

#[test]
fn json_says_what_was_mended_and_made_and_left_out() {
    let folder = folder("stats_json");
    let stats = linked(&folder, &[]);
    adds_up(&stats);
    assert_eq!(stats["sframe"]["version"], 3);
    let section = fs::read(folder.join("image")).unwrap();
    let section = linker::image::Image::parse(&section)
        .unwrap()
        .section(".sframe")
        .unwrap()
        .unwrap();
    assert_eq!(number(&stats, "/sframe/bytes"), section.data.len() as u64);
    let from = &stats["sframe"]["from"];
    // `_start` and `right`; then one row of `right` more than the first of `wrong`; then `silent`.
    assert_eq!(from["call_frame_information"]["functions"], 2);
    assert_eq!(from["mended"]["functions"], 1);
    assert_eq!(from["made_from_code"]["functions"], 1);
    assert_eq!(from["made_from_code"]["rows"], 3);
    assert_eq!(from["input_sframe"]["functions"], 0);
    // The call and the pop behind the push; what follows is as said again.
    let contradictions = stats["contradictions"].as_array().unwrap();
    assert_eq!(contradictions.len(), 1, "{stats:#}");
    let one = &contradictions[0];
    assert_eq!(one["function"], "wrong+0x1");
    assert_eq!(one["size"], 6);
    assert_eq!(one["before"], "push rbx");
    assert_eq!(one["said"], "cfa sp+8, ra c-8, fp u");
    assert_eq!(one["is"], "cfa sp+16, ra c-8, fp u");
    assert_eq!(one["reason"], Value::Null);
    let instruction = one["instruction"].as_str().unwrap();
    assert!(instruction.starts_with("call "), "{instruction}");
    let address = one["address"].as_str().unwrap();
    assert!(address.starts_with("0xffffffff801000"), "{address}");
    // The jump that nobody can follow.
    let left_out = stats["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 1, "{stats:#}");
    assert_eq!(left_out[0]["function"], "lost");
    assert_eq!(left_out[0]["size"], 7);
    let reason = left_out[0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("indirect jump without a known table"),
        "{reason}"
    );
    assert_eq!(
        number(&stats, "/code/no_row/indirect jump without a known table"),
        7
    );
}

#[test]
fn json_of_a_link_that_did_not_look_at_the_code() {
    let folder = folder("stats_json_no");
    let stats = linked(&folder, &["--sframe-repair=no", "--symbols=none"]);
    assert_eq!(stats["code"], Value::Null);
    assert_eq!(stats["symbols"], Value::Null);
    assert_eq!(stats["contradictions"], Value::Array(Vec::new()));
    let from = &stats["sframe"]["from"];
    assert_eq!(from["call_frame_information"]["functions"], 3);
    assert_eq!(number(&stats, "/sframe/functions"), 3);
    let without = stats["without_unwind_information"].as_array().unwrap();
    let names: Vec<_> = without.iter().map(|one| &one["function"]).collect();
    assert_eq!(names, ["silent", "lost"]);
    let stats = linked(&folder, &["--sframe=none"]);
    assert_eq!(stats["sframe"], Value::Null);
    assert_eq!(stats["without_unwind_information"], Value::Null);
    assert_eq!(stats["symbols"]["level"], "names");
}

#[test]
fn text_counts_what_was_mended() {
    let folder = folder("stats_text");
    let (_, output) = image_with(&folder, TARGET, PROGRAM, &[]);
    let text = stderr(&output);
    for expected in [
        "of them mended: 1 functions, 1 rows\n",
        "of them made from the code: 1 functions, 3 rows\n",
        "call frame information contradicts it in 1 places: 6 bytes mended, 0 withdrawn\n",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
}

#[test]
fn check_fails_where_the_table_contradicts_the_code() {
    let folder = folder("check_contradictions");
    let (image, _) = image_with(&folder, TARGET, PROGRAM, &["--sframe-repair=no"]);
    let wrong = sframe(&["check"], &image);
    assert_eq!(wrong.status.code(), Some(1));
    let text = stdout(&wrong);
    for expected in [
        "wrong+0x1: the table is wrong\n    after push rbx\n    at    call ",
        "    says  cfa sp+8, ra c-8, fp u\n    is    cfa sp+16, ra c-8, fp u\n",
        "contradicts the code in 1 places, 6 bytes; the table in 1\n",
        // It says what call frame information says, so nothing else is wrong with it.
        " addresses compared: 0 differences\n",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
    // Mended afterwards, it says what the code says. Made without that, it does not.
    let made = folder.join("made");
    let make = |repair: &str| {
        let arguments = [
            "make",
            "--sframe-repair",
            repair,
            "-o",
            made.to_str().unwrap(),
        ];
        let output = sframe(&arguments, &image);
        assert!(output.status.success(), "{}", stderr(&output));
        // `lost` is a large part of so small an image.
        sframe(&["check", "--coverage=50"], &made)
    };
    let mended = make("yes");
    let text = stdout(&mended);
    assert!(mended.status.success(), "{text}");
    assert!(
        text.contains("contradicts the code in 1 places, 6 bytes; the table in 0\n"),
        "{text}"
    );
    assert_eq!(make("no").status.code(), Some(1));
    let arguments = [
        "make",
        "--sframe-repair=perhaps",
        "-o",
        made.to_str().unwrap(),
    ];
    let output = sframe(&arguments, &image);
    assert_eq!(output.status.code(), Some(1));
    let expected = "--sframe-repair=perhaps: yes or no\n";
    assert!(stderr(&output).ends_with(expected), "{}", stderr(&output));
}

#[test]
fn check_says_once_of_a_handler_that_it_is_none_of_a_call() {
    // As compilers write handlers of the convention `x86-interrupt`: with and without an error code.
    let handlers = "
.type with, %function
with:
.cfi_startproc
 push %rax
.cfi_def_cfa_offset 16
 nop
 add $16, %rsp
 iretq
.cfi_endproc
.size with, . - with
.type without, %function
without:
.cfi_startproc
 push %rdx
.cfi_def_cfa_offset 16
 pop %rdx
.cfi_def_cfa_offset 8
 iretq
.cfi_endproc
.size without, . - without
.data
";
    let folder = folder("check_handlers");
    let program = PROGRAM.replace(".data\n", handlers);
    let (image, _) = image_with(&folder, TARGET, &program, &[]);
    let check = sframe(&["check", "--coverage=50"], &image);
    let text = stdout(&check);
    assert!(check.status.success(), "{text}");
    for expected in [
        ", 8 bytes, with+0x0: the processor enters it, with an error code; call frame information describes a call\n",
        ", 4 bytes, without+0x0: the processor enters it, without an error code; call frame information describes a call\n",
        "contradicts the code in 1 places, 6 bytes, and in 2 interrupt handlers; the table in 0\n",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
    // A table that believes it is wrong there.
    let (image, _) = image_with(&folder, TARGET, &program, &["--sframe-repair=no"]);
    let check = sframe(&["check"], &image);
    let text = stdout(&check);
    assert_eq!(check.status.code(), Some(1), "{text}");
    assert!(text.contains("with+0x0: the table is wrong\n"), "{text}");
}

/// The release of a program whose compiler said nothing of unwinding, for most of its functions.
#[test]
fn a_table_that_covers_little_is_no_table_for_traces() {
    let folder = folder("covers_little");
    let program = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
.cfi_undefined rip
 call _RNvC4core3fmt
 call _RNvC4core4sort
 call _RNvC6kernel4work
 call memcpy
 hlt
.cfi_endproc
.size _start, . - _start
";
    let silent = |name: &str, bytes: usize| {
        format!(
            ".type {name}, %function\n{name}:\n.skip {bytes}, 0x90\n ret\n.size {name}, . - {name}\n"
        )
    };
    let program = [
        program.to_owned(),
        silent("_RNvC4core3fmt", 99),
        silent("_RNvC4core4sort", 199),
        silent("_RNvC6kernel4work", 49),
        silent("memcpy", 9),
    ]
    .concat();
    let said = ".sframe has rows for 5.5 % of the code, 21 of 381 bytes; without rows: core: 2 functions, kernel: 1 functions, \
                assembly and C: 1 functions";
    let do_that = "Let rows be made from the code (no --sframe-repair=no); or compile with -Cforce-unwind-tables=yes";
    let file = folder.join("stats.json");
    let stats = format!("--sframe-stats={}", file.display());
    let link = |switches: &[&str]| {
        let switches = [&[stats.as_str(), "--symbols=names"], switches].concat();
        let (image, output) = image_with(&folder, TARGET, &program, &switches);
        (image, stderr(&output))
    };
    let (image, words) = link(&["--sframe-repair=no"]);
    let warning = format!("sframe-link: warning: {said}: ");
    assert!(
        words.contains(&warning) && words.contains(do_that),
        "{words}"
    );
    let stats = fs::read_to_string(&file).unwrap();
    let stats: Value = serde_json::from_str(&stats).unwrap();
    let covered = &stats["covered"];
    assert_eq!([&covered["bytes"], &covered["of"]], [21, 381], "{stats:#}");
    assert_eq!(covered["without_rows"][0]["crate"], "core");
    assert_eq!(covered["without_rows"][0]["functions"], 2);
    assert_eq!(covered["without_rows"][0]["bytes"], 300);
    assert_eq!(covered["without_rows"][2]["crate"], Value::Null);
    // As little as that is meant.
    let (_, words) = link(&["--sframe-repair=no", "--sframe-coverage=5"]);
    assert!(!words.contains("has rows for"), "{words}");

    let check = |arguments: &[&str], image: &Path| {
        let output = sframe(arguments, image);
        (output.status.code(), stdout(&output))
    };
    let (status, text) = check(&["check"], &image);
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains(&format!("{said}\nerror: that is less than 90 %: ")),
        "{text}"
    );
    assert!(text.contains(do_that), "{text}");
    let (status, text) = check(&["check", "--coverage=5"], &image);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains(said) && !text.contains("error: "), "{text}");
    let (status, _) = check(&["check", "--coverage=101"], &image);
    assert_eq!(status, Some(2));

    // By the code, all of it has rows.
    let (image, words) = link(&[]);
    assert!(!words.contains("has rows for"), "{words}");
    let (status, text) = check(&["check"], &image);
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.contains(".sframe has rows for 100.0 % of the code, 381 of 381 bytes\n"),
        "{text}"
    );
}

#[test]
fn stats_of_an_image_say_where_its_rows_come_from() {
    let folder = folder("stats_from");
    let from = |switches: &[&str]| -> Vec<String> {
        let (image, _) = image_with(&folder, TARGET, PROGRAM, switches);
        let text = stdout(&sframe(&["stats"], &image));
        let table = text.lines().skip_while(|line| !line.starts_with("from "));
        let table = table.skip(1).take(5);
        table
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(
        from(&[]),
        [
            "call frame information 2 6",
            "mended 1 1",
            "made from the code 1 3",
            "declared to have no caller 0 0",
            "only in .sframe 0 0",
        ]
    );
    assert_eq!(
        from(&["--sframe-repair=no"]),
        [
            "call frame information 3 5",
            "mended 0 0",
            "made from the code 0 0",
            "declared to have no caller 0 0",
            "only in .sframe 0 0",
        ]
    );
}

#[test]
fn help_teaches_the_switches() {
    let help = stdout(&common::succeed(common::sframe_link().arg("--sframe-help")));
    for expected in [
        "--sframe-repair=yes|no",
        "--sframe-coverage=PERCENT",
        "as JSON when FILE ends in .json",
    ] {
        assert!(help.contains(expected), "{help}");
    }
    let sframe = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sframe"));
        stdout(&common::succeed(command.args(arguments)))
    };
    assert!(sframe(&["make", "--help"]).contains("--sframe-repair <YES|NO>"));
    assert!(sframe(&["check", "--help"]).contains("with the code"));
    assert!(sframe(&["--help"]).contains("with the code"));
}
