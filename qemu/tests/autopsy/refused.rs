//! Dumps that cannot be written, that would be of another image, or that are no whole dumps: each is refused, and it is said why.

use std::fs;

use qemu::machine::Arch;

use super::{ASKED, asked, expect_same, folder, spin};
use crate::support::runner::run;

/// The verdict stays what it is, and the report was made.
#[gate]
fn a_dump_that_cannot_be_written_changes_nothing() {
    let folder = folder();
    let image = spin(folder.path(), Arch::Aarch64);
    let image = image.to_str().expect("a path in UTF-8");
    // A folder in which nobody can make another one.
    let words = ["--guest-timeout", "1", "--image", image, "--dump", "/proc"];
    let ran = run(words).expect(124);
    let ran = ran.expect_words("error: no dump was written: cannot write ");
    assert!(ran.words.contains(ASKED), "{}", ran.words);
}

/// It is said before the boot, which may take hours to come to what a dump is for.
#[gate]
fn what_cannot_be_a_folder_of_dumps_is_refused() {
    let folder = folder();
    let image = spin(folder.path(), Arch::Aarch64);
    let image = image.to_str().expect("a path in UTF-8");
    let ran = run(["--image", image, "--dump", image]).expect(2);
    ran.expect_words("cannot write dumps to ");
}

#[gate]
fn what_is_no_whole_dump_is_refused() {
    let folder = folder();
    let image = spin(folder.path(), Arch::Aarch64);
    let image = image.to_str().expect("a path in UTF-8");
    let words = ["--guest-timeout", "1", "--image", image];
    let reports = asked(&folder.path().join("dumps"), 124, &words);
    let (report, dump) = &reports[0];
    expect_same(report, dump);
    let refused = |says: &str| {
        let ran = run(["autopsy".as_ref(), dump.as_os_str()]).expect(2);
        let ran = ran.expect_words(says);
        assert_eq!(ran.words.lines().count(), 1, "one line: {}", ran.words);
        assert_eq!(ran.text(), "", "and no report");
    };
    let spoil = |file: &str, says: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let path = dump.join(file);
        let whole = fs::read(&path).expect("the file is there");
        let mut bytes = whole.clone();
        change(&mut bytes);
        fs::write(&path, bytes).expect("it can be written");
        refused(says);
        fs::remove_file(&path).expect("it can be removed");
        refused(&match file {
            "dump.json" => format!("cannot read the file {file}"),
            _ => format!("cannot read {}", path.display()),
        });
        // Something without an end is none of them.
        std::os::unix::fs::symlink("/dev/zero", &path).expect("it can be linked");
        refused(&format!("{} is not a file", path.display()));
        fs::remove_file(&path).expect("it can be removed");
        fs::write(&path, whole).expect("it can be written");
    };
    for file in ["memory", "image.elf"] {
        spoil(file, "is truncated: ", &|bytes| {
            bytes.pop();
        });
        let other = "was changed or replaced after the dump was saved";
        spoil(file, other, &|bytes| bytes[100] ^= 1);
        spoil(file, other, &|bytes| bytes.push(0));
    }
    spoil("dump.json", "is damaged or truncated", &|bytes| {
        bytes.truncate(bytes.len() / 2);
    });
    spoil("dump.json", "has format 2, expected 1", &|bytes| {
        let text = String::from_utf8_lossy(bytes).replace("\"format\": 1", "\"format\": 2");
        *bytes = text.into_bytes();
    });
    // A digit of a register.
    spoil("dump.json", "is damaged", &|bytes| {
        let text = b"\"registers\": [";
        let at = bytes.windows(text.len()).position(|part| part == text);
        let at = at.expect("it is there") + text.len();
        let quote = bytes[at..].iter().position(|byte| *byte == b'"');
        let digit = at + quote.expect("it is there") + 1;
        bytes[digit] = if bytes[digit] == b'0' { b'1' } else { b'0' };
    });
    // What would act on a terminal.
    spoil("dump.json", "unknown variant `\\u{9b}2J`", &|bytes| {
        let text = String::from_utf8_lossy(bytes);
        let changed = text.replace("\"aarch64\"", "\"\u{9b}2J\"");
        assert_ne!(changed, text);
        *bytes = changed.into_bytes();
    });
    expect_same(report, dump);
    fs::remove_dir_all(dump).expect("it can be removed");
    refused("is not a dump");
}
