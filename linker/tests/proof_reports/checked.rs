//! What `sframe check` says and refuses.

use super::*;

#[test]
fn check_fails_where_the_table_contradicts_the_code() {
    let folder = folder("check_contradictions");
    let (image, _) = image_with(&folder, TARGET, PROGRAM, &["--sframe-repair=no"]);
    let wrong = sframe(&["check"], &image);
    assert_eq!(wrong.status.code(), Some(1));
    let text = stdout(&wrong);
    for expected in [
        "wrong+0x1: the unwind table for these instructions is wrong\n    after push rbx\n    at    call ",
        "    row   cfa sp+8, ra c-8, fp u\n    right cfa sp+16, ra c-8, fp u\n",
        "contradicts the code at 1 place (6 bytes)\nthe unwind table contradicts the code at 1 place\n",
        // It says what call frame information says, so nothing else is wrong with it.
        " addresses: 0 differences\n",
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
        text.contains(
            "contradicts the code at 1 place (6 bytes)\nthe unwind table contradicts the code at 0 places\n"
        ),
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
    let expected = "invalid value `perhaps` for --sframe-repair: expected yes or no\n";
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
        ", 8 bytes, with+0x0: the code is an interrupt handler with an error code, but call frame information describes a called function\n",
        ", 4 bytes, without+0x0: the code is an interrupt handler without an error code, but call frame information describes a called function\n",
        "contradicts the code at 1 place (6 bytes), interrupt handlers: 2\nthe unwind table contradicts the code at 0 places\n",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
    // A table that believes it is wrong there.
    let (image, _) = image_with(&folder, TARGET, &program, &["--sframe-repair=no"]);
    let check = sframe(&["check"], &image);
    let text = stdout(&check);
    assert_eq!(check.status.code(), Some(1), "{text}");
    assert!(
        text.contains("with+0x0: the unwind table for these instructions is wrong\n"),
        "{text}"
    );
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
    let said = ".sframe has unwind rows for 5.5 % of the code (21 of 381 bytes); functions without rows: core: 2, kernel: 1, \
                assembly and C: 1";
    let do_that = "To synthesize unwind rows from the code, remove --sframe-repair=no. To get unwind rows from compilers, compile Rust with -Cforce-unwind-tables=yes";
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
    assert!(!words.contains("has unwind rows for"), "{words}");

    let check = |arguments: &[&str], image: &Path| {
        let output = sframe(arguments, image);
        (output.status.code(), stdout(&output))
    };
    let (status, text) = check(&["check"], &image);
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains(&format!(
            "{said}\nerror: less than 90 % of the code has unwind rows, so "
        )),
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
    assert!(!words.contains("has unwind rows for"), "{words}");
    let (status, text) = check(&["check"], &image);
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.contains(".sframe has unwind rows for 100.0 % of the code (381 of 381 bytes)\n"),
        "{text}"
    );
}

/// Without `--sframe-repair=no`, the link synthesizes rows already.
#[test]
fn the_advice_for_little_coverage_names_only_switches_of_the_link() {
    let folder = folder("covers_little_repaired");
    let program = "
.globl _start
_start:
.cfi_startproc
.cfi_undefined rip
 call work
 hlt
.cfi_endproc
.type work, %function
work:
.skip 100, 0x06
.size work, . - work
";
    for (switches, has_advice) in [(&[][..], false), (&["--sframe-repair=no"], true)] {
        let (_, output) = image_with(&folder, TARGET, program, switches);
        let words = stderr(&output);
        assert!(words.contains("has unwind rows for"), "{words}");
        let advice = "remove --sframe-repair=no";
        assert_eq!(words.contains(advice), has_advice, "{words}");
    }
}
