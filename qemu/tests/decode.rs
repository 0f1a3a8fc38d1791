//! Logs of booted kernels, decoded: what is added is what llvm-symbolizer says, and all else stays.

mod support;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use object::{Object, ObjectSection};
use qemu::build::Kernel;
use qemu::decode::{Decoder, Style, Symbolizer};
use qemu::machine::Arch;
use serde_json::Value;
use support::built::{image, kernel};
use support::each::kernel_tests;
use support::llvm::symbolizer;
use support::report::{Frame, Report, Source};
use support::runner::{Ran, command, run};

kernel_tests! { much_and_little_inlined:
    decoded_is_what_llvm_says,
}

kernel_tests! { release:
    the_device_knows_what_is_inlined_where_it_failed,
}

/// What a kernel with this image writes.
fn boot(image: &Path, scenario: &str, arguments: &[&str]) -> Ran {
    let image = ["--image".as_ref(), image.as_os_str(), scenario.as_ref()];
    let arguments = arguments.iter().map(AsRef::as_ref);
    run(arguments.chain(image)).expect(101)
}

/// Decodes a log from standard input.
fn decode(log: &str, image: &Path, arguments: &[&str]) -> Ran {
    let mut runner = command()
        .args(["decode", "--image"])
        .arg(image)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let mut input = runner.stdin.take().expect("a pipe");
    let log = log.as_bytes().to_vec();
    let writer = std::thread::spawn(move || input.write_all(&log));
    let output = runner.wait_with_output().expect("the runner ends");
    writer.join().expect("no panic").expect("all of it is read");
    Ran {
        status: output.status.code().expect("it is not killed"),
        serial: output.stdout,
        words: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The same report as from a kernel without any names: its frames end after the letter.
fn bare(log: &str) -> String {
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
        let log = boot(&image, scenario, &[]).text();
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
        let log = boot(&image, scenario, &[]).text();
        let told = Report::find(log.as_bytes()).frames.swap_remove(0);
        let decoded = decode(&bare(&log), &image, &[]).expect(0);
        let decoded = Report::find(&decoded.serial).frames.swap_remove(0);
        assert_eq!(told.address, decoded.address);
        assert_eq!(told.letter, 'p', "{log}");
        let innermost = &told.sources[0].name;
        let expected = format!("kernel::bad::{}::{function}", kernel.arch.name());
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
    let log = boot(image, "panic", &[]).text();
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
        let Some(source) = frame.sources.first() else {
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

#[test]
fn a_log_of_a_ci_system_is_decoded() {
    let image = image(kernel("x86_64_release"));
    let log = bare(&boot(&image, "panic", &[]).text());
    let clean = decode(&log, &image, &[]).expect(0).text();
    let stamp = "2026-01-31T12:00:00.1234567Z ";
    let noisy: String = log
        .lines()
        .map(|line| match line.get(4..8) {
            // Another job writes in between, and a frame's number is bold.
            Some(": 0x") => format!(
                "{stamp}other: 100%\r\n{stamp}\x1b[1m{}\x1b[0m{}\r\n",
                &line[..4],
                &line[4..]
            ),
            _ => format!("{stamp}{line}\r\n"),
        })
        .collect();
    let decoded = decode(&noisy, &image, &[]).expect(0).text();
    let decoded: String = decoded
        .split_inclusive("\r\n")
        .map(|line| {
            line.strip_prefix(stamp)
                .unwrap_or_else(|| panic!("{line:?}"))
        })
        .filter(|line| !line.starts_with("other: "))
        .collect();
    assert_eq!(decoded.replace("\r\n", "\n"), clean);

    // What the device says of inlined functions is replaced, whatever is in between.
    let told = boot(&image, "panic", &[]).text();
    let told: String = told
        .lines()
        .map(|line| format!("{stamp}{line}\n{stamp}other: 100%\n"))
        .collect();
    let decoded = decode(&told, &image, &[]).expect(0).text();
    let decoded: String = decoded
        .split_inclusive('\n')
        .map(|line| {
            line.strip_prefix(stamp)
                .unwrap_or_else(|| panic!("{line:?}"))
        })
        .filter(|line| !line.starts_with("other: "))
        .collect();
    assert_eq!(decoded, clean);

    // Line noise: a frame that is damaged stays as it is, and the others do not suffer.
    let mut damaged = log.clone().into_bytes();
    let third = log.find("   3: 0x").expect("a frame") + 12;
    damaged[third] = 0xff;
    let output = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(output.path(), &damaged).expect("it can be written");
    let ran = run([
        "decode".as_ref(),
        output.path().as_os_str(),
        "--image".as_ref(),
        image.as_os_str(),
    ])
    .expect(0);
    let line = |text: &[u8]| -> Vec<u8> {
        let mut lines = text.split(|byte| *byte == b'\n');
        let line = lines.find(|line| line.starts_with(b"   3: 0x"));
        line.expect("the frame").to_vec()
    };
    assert_eq!(line(&ran.serial), line(&damaged));
    let fourth = clean.lines().find(|line| line.starts_with("   4: "));
    assert!(
        ran.text().contains(fourth.expect("a frame")),
        "{}",
        ran.text()
    );
}

#[test]
fn a_report_of_another_image_is_left_alone() {
    let [one, other] = ["x86_64_release", "aarch64_debug"].map(|name| image(kernel(name)));
    let log = boot(&one, "panic", &[]).text();
    let ran = decode(&log, &other, &[]);
    assert_eq!(ran.text(), log);
    ran.expect_words("the report is of build ");

    // An image of the same machine, so that its code is where the frames are.
    let debug = image(kernel("x86_64_debug"));
    let ran = decode(&log, &debug, &[])
        .expect(1)
        .expect_words("left as they are: they are of another image");
    assert_eq!(ran.text(), log);
    let ran = decode(&log, &debug, &["--any-build"])
        .expect(0)
        .expect_words("what is added may be wrong");
    assert_ne!(ran.text(), log);
}

/// A loader has put the image elsewhere: all addresses in it are others.
#[test]
fn a_report_of_a_moved_image_is_decoded() {
    const BY: u64 = 0x1234_5000;
    let image = image(kernel("x86_64_release"));
    let log = boot(&image, "deep", &["--cpus", "2"]).text();
    let moved: String = log
        .split_inclusive("0xffffffff8")
        .map(|part| part.strip_suffix("ffffffff8").unwrap_or(part))
        .enumerate()
        .map(|(at, part)| {
            let digits = (at > 0).then(|| part.split_at(7));
            let linked = digits.map(|(low, rest)| {
                let low = u64::from_str_radix(low, 16).expect("an address");
                format!("{:016x}{rest}", 0xffff_ffff_8000_0000 + low + BY)
            });
            linked.unwrap_or_else(|| part.to_owned())
        })
        .collect();
    let linked = decode(&log, &image, &[]).expect(0).text();
    let [linked, named] = [linked, decode(&moved, &image, &[]).expect(0).text()];
    // Of a kernel without names only a person knows it.
    let told = format!("{BY:#x}");
    let nameless = decode(&bare(&moved), &image, &["--moved-by", &told]).expect(0);
    let [linked, named, nameless] =
        [&linked, &named, &nameless.text()].map(|text| Report::find(text.as_bytes()));
    assert_eq!(named.frames[0].address, linked.frames[0].address + BY);
    assert!(sources_of(&linked).len() > 10);
    assert_eq!(sources_of(&named), sources_of(&linked));
    assert_eq!(sources_of(&nameless), sources_of(&linked));
    assert_eq!(offsets_of(&named), offsets_of(&linked));
    assert_eq!(offsets_of(&nameless), offsets_of(&linked));
    let lost = decode(&bare(&moved), &image, &[]).expect(0);
    lost.expect_words("--moved-by says how far");
    // What a report tells is of that boot, and of that build.
    let next = format!("{moved}{}", bare(&log));
    let next = decode(&next, &image, &[]).expect(0).text();
    // Each boot has a report of each CPU.
    let next = &Report::find_all(next.as_bytes())[2];
    assert_eq!(sources_of(next), sources_of(&linked));
    let (_, rest) = moved.split_once(", build ").expect("a build id");
    let foreign = moved.replacen(&rest[..8], "00000000", 1);
    let next = decode(&format!("{foreign}{}", bare(&moved)), &image, &[]);
    let last = next.expect_words("the image is build").text();
    let last = &Report::find_all(last.as_bytes())[2];
    assert!(last.frames.len() > 10);
    assert!(
        last.frames.iter().all(|frame| frame.name.is_none()),
        "{}",
        last.text
    );
}

#[test]
fn a_running_kernel_is_decoded() {
    let image = image(kernel("x86_64_release"));
    let plain = boot(&image, "panic", &[]).text();
    let live = boot(&image, "panic", &["--decode"]).text();
    assert_ne!(live, plain);
    assert_eq!(live, decode(&plain, &image, &[]).text());
}

#[test]
fn a_terminal_gets_colours_and_short_paths() {
    let image = image(kernel("x86_64_release"));
    let log = boot(&image, "panic", &[]).serial;
    let symbolizer = Symbolizer::open(&image).expect("the image can be read");
    let mut shown = Vec::new();
    let mut decoder = Decoder::new(&symbolizer, Style::terminal(), &mut shown);
    decoder.add(&log).expect("it can be written");
    decoder.finish().expect("it can be written");
    let shown = String::from_utf8(shown).expect("UTF-8");
    assert!(shown.contains("\x1b["), "{shown}");
    assert!(shown.contains("mcore/src/panicking.rs:"), "{shown}");
    let coloured = |digit: u8| shown.contains(&format!("{digit}m/"));
    assert!(!shown.contains(" /") && !(0..10).any(coloured), "{shown}");
}

#[test]
fn what_cannot_be_read_is_named() {
    run(["decode", "no.log", "--image", "no.elf"])
        .expect(2)
        .expect_words("cannot read image no.elf");
    run(["decode", "no.log"]).expect(2).expect_words("--image");
}

/// Debug information with a name and a path that would begin lines of their own.
#[test]
fn no_name_forges_a_line() {
    let path = image(kernel("x86_64_debug"));
    let symbolizer = Symbolizer::open(&path).expect("the image can be read");
    let fifth = symbolizer.find("kernel::scenario::panic::fifth", 0);
    let log = format!("   0: {:#018x} p\n", fifth.expect("it is there").start);
    let mut bytes = std::fs::read(&path).expect("the image can be read");
    for (text, forged) in [
        (&b"fifth"[..], &b"f\n\x1b\rh"[..]),
        (b"panic.rs", b"\nend.rs."),
    ] {
        let mut at = 0;
        while let Some(found) = bytes[at..]
            .windows(text.len())
            .position(|part| part == text)
        {
            at += found;
            bytes[at..at + text.len()].copy_from_slice(forged);
        }
    }
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), &bytes).expect("it can be written");
    let text = decode(&log, file.path(), &[]).expect(0).text();
    assert_eq!(text.lines().count(), 1, "{text:?}");
    assert!(text.contains("f\\n\\u{1b}\\rh"), "{text:?}");
    assert!(text.contains("\\nend"), "{text:?}");
    assert!(!text.trim_end().contains(char::is_control), "{text:?}");
}

/// A section that says it has 64 GiB when it is unpacked.
#[test]
fn an_image_that_grows_without_bounds_is_refused() {
    let mut bytes = std::fs::read(image(kernel("x86_64_debug"))).expect("the image can be read");
    let (index, at) = {
        let file = object::File::parse(&*bytes).expect("the image is ELF");
        let section = file.section_by_name(".debug_info").expect("there is some");
        let (at, _) = section.file_range().expect("it is in the file");
        (section.index().0, at as usize)
    };
    // "ELF-64 Object File Format": where section headers begin, and the flags in one, with SHF_COMPRESSED.
    let headers = u64::from_le_bytes(*bytes[0x28..].first_chunk().expect("a header"));
    bytes[headers as usize + index * 64 + 9] |= 8;
    // ELFCOMPRESS_ZLIB; size and alignment
    bytes[at..at + 8].copy_from_slice(&1_u64.to_le_bytes());
    bytes[at + 8..at + 16].copy_from_slice(&(1_u64 << 36).to_le_bytes());
    bytes[at + 16..at + 24].copy_from_slice(&1_u64.to_le_bytes());
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), &bytes).expect("it can be written");
    run([
        "decode".as_ref(),
        "--image".as_ref(),
        file.path().as_os_str(),
    ])
    .expect(2)
    .expect_words("its compressed sections would take 65536 MiB");
}
