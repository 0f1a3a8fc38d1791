//! The statistics of a link, and of an image.

use super::*;

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
    // The jump that nobody can follow, and to which nothing leads.
    let left_out = stats["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 1, "{stats:#}");
    assert_eq!(left_out[0]["function"], "lost");
    assert_eq!(left_out[0]["size"], 7);
    let reason = left_out[0]["reason"].as_str().unwrap();
    assert!(
        reason.contains(
            "no call of the function was found, and no path through the function returns"
        ),
        "{reason}"
    );
    assert_eq!(
        number(
            &stats,
            "/code/no_row/no call of the function was found, and no path through the function returns"
        ),
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
        "functions and unwind rows that are corrected: 1 functions, 1 rows\n",
        "functions and unwind rows that are synthesized from the code: 1 functions, 3 rows\n",
        "contradicts the code at 1 place: unwind rows were corrected for 6 bytes and removed for 0 bytes\n",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
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
            "corrected 1 1",
            "synthesized from the code 1 3",
            "declared to have no caller 0 0",
            "only in .sframe 0 0",
        ]
    );
    assert_eq!(
        from(&["--sframe-repair=no"]),
        [
            "call frame information 3 5",
            "corrected 0 0",
            "synthesized from the code 0 0",
            "declared to have no caller 0 0",
            "only in .sframe 0 0",
        ]
    );
}

#[test]
fn help_teaches_the_switches() {
    let help = stdout(&crate::common::succeed(
        crate::common::sframe_link().arg("--sframe-help"),
    ));
    for expected in [
        "--sframe-repair=yes|no",
        "--sframe-coverage=PERCENT",
        "if its name ends in .json",
    ] {
        assert!(help.contains(expected), "{help}");
    }
    let sframe = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sframe"));
        stdout(&crate::common::succeed(command.args(arguments)))
    };
    assert!(sframe(&["make", "--help"]).contains("--sframe-repair <YES|NO>"));
    assert!(sframe(&["check", "--help"]).contains("with the code"));
    assert!(sframe(&["--help"]).contains("with the code"));
}
