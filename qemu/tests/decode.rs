//! Logs of booted kernels, decoded: what is added is what llvm-symbolizer says, and all else stays.

mod images;
mod logs;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::support::boots::{Request, boot_image};
use crate::support::built::{image, kernel};
use crate::support::each::kernel_tests;
use crate::support::llvm::symbolizer;
use crate::support::report::{Frame, Report, Source};
use crate::support::runner::{Ran, fed, run};
use object::{Object, ObjectSection};
use qemu::build::Kernel;
use qemu::decode::{Decoder, Style, Symbolizer};
use qemu::machine::Arch;
use serde_json::Value;

kernel_tests! { much_and_little_inlined:
    decoded_is_what_llvm_says,
}

kernel_tests! { release:
    the_device_knows_what_is_inlined_where_it_failed,
}

/// What a kernel with this image writes.
fn boot(image: &Path, scenario: &str) -> Ran {
    boot_image(image, scenario).expect(101)
}

/// Decodes a log from standard input.
pub fn decode(log: &str, image: &Path, arguments: &[&str]) -> Ran {
    let words = ["decode".as_ref(), "--image".as_ref(), image.as_os_str()];
    let arguments = arguments.iter().map(OsStr::new);
    fed(words.into_iter().chain(arguments), log)
}

/// The same report as from a kernel without any names: its frames end after the letter.
pub fn bare(log: &str) -> String {
    let mut text = String::new();
    for line in log.lines() {
        let is_frame = line.get(4..8) == Some(": 0x");
        if !line.starts_with("        inlined into ") {
            text += if is_frame { &line[..26] } else { line };
            text += "\n";
        }
    }
    text
}

/// What llvm-symbolizer says of the frames: functions innermost first.
fn oracle(image: &Path, frames: &[Frame]) -> Vec<Vec<Source>> {
    let looked_up = |frame: &Frame| frame.address - u64::from(frame.letter != 'p');
    let addresses = frames
        .iter()
        .map(|frame| format!("{:#x}", looked_up(frame)));
    let output = Command::new(symbolizer())
        .args(["--output-style=JSON", "--no-demangle", "--obj"])
        .arg(image)
        .args(addresses)
        .output()
        .expect("llvm-symbolizer starts");
    let answers = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    // Versions differ in whether there is an object for each address or a list of all.
    let answers = answers.map(|answer| answer.expect("JSON"));
    let answers = answers.flat_map(|answer| match answer {
        Value::Array(all) => all,
        one => vec![one],
    });
    answers.map(|answer| sources(&answer["Symbol"])).collect()
}

fn sources(answer: &Value) -> Vec<Source> {
    let symbols = answer.as_array().expect("a list of functions").iter();
    let source = |symbol: &Value| {
        let text = |name: &str| symbol[name].as_str().expect("text").to_owned();
        let line = symbol["Line"].as_u64().expect("a line");
        let line = u32::try_from(line).expect("no file is so long");
        Source {
            name: format!("{:#}", rustc_demangle::demangle(&text("FunctionName"))),
            place: (line > 0).then(|| (text("FileName"), line)),
        }
    };
    symbols.map(source).collect()
}

fn sources_of(report: &Report) -> Vec<Vec<Source>> {
    report
        .frames
        .iter()
        .map(|frame| frame.sources.clone())
        .collect()
}

fn offsets_of(report: &Report) -> Vec<Option<u64>> {
    report.frames.iter().map(|frame| frame.offset).collect()
}

fn decoded_is_what_llvm_says(kernel: Kernel) {
    let image = image(kernel);
    for scenario in ["panic", "exception-in-handler"] {
        let log = boot(&image, scenario).text();
        let decoded = decode(&bare(&log), &image, &[]).expect(0);
        let report = Report::find(&decoded.serial);
        let told = Report::find(log.as_bytes());
        let expected = oracle(&image, &report.frames);
        assert_eq!(sources_of(&report), expected, "{kernel:?}: {}", report.text);
        assert_eq!(report.end, told.end);
        assert_eq!(report.words, told.words, "the lines between frames stay");
        // What the device says itself is no matter.
        assert_eq!(decode(&log, &image, &[]).expect(0).text(), decoded.text());
    }
    formats(kernel, &image);
}

/// What the device says of the instruction that failed, inlined functions included, is what is decoded for it.
fn the_device_knows_what_is_inlined_where_it_failed(kernel: Kernel) {
    let image = image(kernel);
    for (scenario, function) in [
        ("null-read", "read"),
        ("write-to-code", "write"),
        ("misaligned", "aligned"),
        ("undefined", "undefined"),
        ("divide", "divide"),
    ] {
        // AArch64 has no exception for a division.
        if scenario == "divide" && kernel.arch == Arch::Aarch64 {
            continue;
        }
        let log = boot(&image, scenario).text();
        let told = Report::find(log.as_bytes()).frames.swap_remove(0);
        let decoded = decode(&bare(&log), &image, &[]).expect(0);
        let decoded = Report::find(&decoded.serial).frames.swap_remove(0);
        assert_eq!(told.address, decoded.address);
        assert_eq!(told.letter, 'p', "{log}");
        let innermost = &told.sources[0].name;
        let folder = match (scenario, kernel.arch) {
            // One of the instructions that both of Arm's have.
            ("undefined", Arch::Aarch64) => "arms",
            (_, arch) => arch.name(),
        };
        let expected = format!("kernel::bad::{folder}::{function}");
        assert_eq!(*innermost, expected, "{log}");
        assert!(told.sources.len() > 1, "nothing is inlined in:\n{log}");
        assert_eq!(told.sources.len(), decoded.sources.len(), "{log}");
        for (told, decoded) in told.sources.iter().zip(&decoded.sources) {
            assert_eq!(told.name, decoded.name, "{log}");
            let (file, line) = told.place.as_ref().expect("a place");
            let (path, expected) = decoded.place.as_ref().expect("a place");
            assert_eq!(line, expected, "{log}");
            // The device knows paths relative to the workspace.
            assert!(path.ends_with(&format!("/{file}")), "{path}, not {file}");
        }
    }
}

/// Frames in other shapes than a report's.
fn formats(kernel: Kernel, image: &Path) {
    let log = boot(image, "panic").text();
    let report = Report::find(decode(&log, image, &[]).text().as_bytes());
    let mut lists = String::new();
    let mut linux = String::new();
    let mut expected = String::new();
    for line in log.lines().filter(|line| line.get(4..8) == Some(": 0x")) {
        lists += &format!("{}\n", &line[6..24]);
        expected += &format!("{} r\n", &line[..24]);
        // Names that are shown in full have no spaces; the others cannot be found again by name.
        if let Some(place) = line.get(27..).and_then(|rest| rest.split(' ').next())
            && place.contains("+0x")
        {
            linux += &format!("[    1.000000]  {place}\n");
        }
    }
    let expected = decode(&expected, image, &[]).text();
    // Without number and letter it is the same.
    let expected: String = expected
        .lines()
        .map(|line| match line.get(4..8) {
            Some(": 0x") => line[6..].replacen(" r", "", 1) + "\n",
            _ => line.to_owned() + "\n",
        })
        .collect();
    assert_eq!(
        decode(&lists, image, &[]).expect(0).text(),
        expected,
        "{kernel:?}"
    );

    let decoded = decode(&linux, image, &[]).expect(0).text();
    let named = linux.lines().count();
    assert!(named > 3, "{kernel:?}: {linux}");
    let places = decoded.lines().filter(|line| line.contains(" at ")).count();
    assert!(places > 3, "{kernel:?}: {decoded}");
    for frame in report.frames.iter().filter(|frame| frame.letter == 'r') {
        // That of an inlined function is no symbol's, by which it could be found.
        let [source] = &frame.sources[..] else {
            continue;
        };
        let offset = format!("  {}+0x", source.name);
        let line = decoded.lines().find(|line| line.contains(&offset));
        if let (Some(line), Some((file, number))) = (line, &source.place) {
            let place = format!(" at {file}:{number}");
            assert!(line.ends_with(&place), "{kernel:?}: {line}");
        }
    }

    let json = decode(&log, image, &["--json"]).expect(0).text();
    let objects = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut count = 0;
    for (object, frame) in objects.zip(&report.frames) {
        assert_eq!(object["number"], count);
        assert_eq!(object["address"], format!("{:#018x}", frame.address));
        assert_eq!(object["how"], frame.letter.to_string());
        let functions = object["functions"].as_array().expect("a list");
        let told = functions.iter().map(|function| Source {
            name: function["name"].as_str().expect("a name").to_owned(),
            place: function["file"].as_str().map(|file| {
                (
                    file.to_owned(),
                    function["line"].as_u64().expect("a line") as u32,
                )
            }),
        });
        assert_eq!(told.collect::<Vec<_>>(), frame.sources, "{object}");
        count += 1;
    }
    assert_eq!(count, report.frames.len());
}
