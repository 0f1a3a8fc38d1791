//! What a log looks like, before and after.

use super::*;

#[test]
fn a_log_of_a_ci_system_is_decoded() {
    let image = image(kernel("x86_64_release"));
    let log = bare(&boot(&image, "panic").text());
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
    let told = boot(&image, "panic").text();
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
fn a_running_kernel_is_decoded() {
    let image = image(kernel("x86_64_release"));
    let plain = boot(&image, "panic").text();
    let words = ["--decode".as_ref(), "--image".as_ref(), image.as_os_str()];
    let live = run(words.into_iter().chain(["panic".as_ref()])).expect(101);
    let live = live.text();
    assert_ne!(live, plain);
    assert_eq!(live, decode(&plain, &image, &[]).text());
}

#[test]
fn a_terminal_gets_colours_and_short_paths() {
    let image = image(kernel("x86_64_release"));
    let log = boot(&image, "panic").serial;
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
