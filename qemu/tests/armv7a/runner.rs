//! What the runner does with a machine, it does with this one too.

use std::fs;

use qemu::image;
use qemu::machine::Processor;
use serde_json::Value;

use super::{armv7a, built_image, judge};
use crate::support::report::Report;
use crate::support::runner::run;

#[gate]
fn results_are_kept_as_of_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [json, junit] = ["boots.json", "boots.xml"].map(|name| folder.path().join(name));
    let [json_name, junit_name] = [&json, &junit].map(|it| it.to_str().expect("UTF-8"));
    let words = [
        "--json",
        json_name,
        "--junit",
        junit_name,
        "ok",
        "undefined",
    ];
    let ran = armv7a(false, &words).expect(0);
    let lines = fs::read_to_string(&json).expect("there is a file");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let [ok, undefined] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert_eq!(
        (&ok["arch"], &ok["board"]),
        (&"armv7a".into(), &"virt32".into())
    );
    let words = undefined["words"].as_str().expect("text");
    assert!(words.contains("with a complete backtrace"), "{words}");
    let logs = lines
        .iter()
        .map(|line| line["log"].as_str().expect("a path"));
    let logs: Vec<u8> = logs.flat_map(|log| fs::read(log).expect("a log")).collect();
    assert_eq!(logs, ran.serial);
    let junit = fs::read_to_string(&junit).expect("there is a file");
    assert!(
        junit.contains("<testsuite name=\"armv7a-debug\" tests=\"2\""),
        "{junit}"
    );
}

/// The host finds the names in the image of 32 bits: those that the kernel has in its own.
#[gate]
fn log_frames_and_names_are_decoded() {
    let whole = Report::find(&judge(false, "thumb").expect(0).serial);
    for option in ["--defmt", "--decode"] {
        let decoded = Report::find(&armv7a(false, &[option, "thumb"]).expect(0).serial);
        decoded.expect_complete();
        assert_eq!(decoded.names(), whole.names(), "{option}");
    }
}

#[gate]
fn it_is_an_image_as_others_are() {
    let image = built_image(false);
    assert_eq!(
        image::processor(&image).expect("it is one"),
        Processor::Armv7a
    );
    let path = image.to_str().expect("a path in UTF-8");
    let ran = run(["--image", path, "panic", "registers"]).expect(101);
    Report::find(&ran.serial).expect_complete();
    run(["--arch", "aarch64", "--image", path])
        .expect(2)
        .expect_words("is for armv7a, not for aarch64");
}

#[gate]
fn what_it_has_not_is_refused() {
    armv7a(true, &["not-canonical"])
        .expect(2)
        .expect_words("unknown scenario \"not-canonical\"; expected one of: panic, ");
    run(["--board", "virt", "thumb"])
        .expect(2)
        .expect_words("unknown scenario \"thumb\"");
    run(["--board", "virt", "--arch", "armv7a", "panic"])
        .expect(2)
        .expect_words("the processor of board virt is aarch64, not armv7a");
    run(["--thumb", "panic"])
        .expect(2)
        .expect_words("--thumb is only for armv7a, not for x86_64");
    let listed = armv7a(true, &["--list"]).expect(0).text();
    let names: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(
        names.contains(&"thumb") && !names.contains(&"not-canonical"),
        "{listed}"
    );
}
