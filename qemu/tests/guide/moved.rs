//! A kernel that lies elsewhere than it is linked at.

use std::path::Path;

use qemu::build::Profile;
use regex::Regex;

use crate::short::{MOVED, VECTORS, replace};
use crate::steps;
use crate::text::{guide, part, without_numbers};

#[test]
#[ignore = "takes long: .ci/long"]
fn an_image_that_was_moved_has_the_same_report() {
    let guide = guide();
    let complete = |folder: &Path| {
        steps::apply(part(&guide, "\n## Complete traces\n"), folder);
    };
    let before = VECTORS.with(Profile::Debug, complete).text;
    let after = MOVED.with(Profile::Debug, |folder| {
        let config = folder.join(".cargo/config.toml");
        let pie = "model=pic\",\n    \"-Clink-arg=-pie\",\n    \"-Clink-arg=--no-dynamic-linker\"";
        replace(&config, "model=static\"", pie);
        complete(folder);
    });
    assert!(before.contains("complete, 3 frames"), "{before}");
    assert!(after.text.contains("   0: 0x00000000412"), "{}", after.text);
    // Not by the names, which tell it too.
    let moved = "tables verified, moved by 0x1000000\n";
    assert!(after.text.contains(moved), "{}", after.text);
    let unmoved = after.text.replace(", moved by 0x1000000\n", "\n");
    assert_eq!(without_numbers(&unmoved), without_numbers(&before));
    let bare =
        Regex::new("(?m)^( +[0-9]+: 0x[0-9a-f]{16} [a-z]).*\n(?: {8}.*\n)*").expect("a pattern");
    let bare = bare.replace_all(&after.text, "$1\n");
    assert!(!bare.contains("serve"), "{bare}");
    // The image knows generic arguments, too.
    let decoded = after.decode(&bare).replace("::<u64>", "");
    assert_eq!(named(&decoded), named(&after.text), "{decoded}");
}

/// The functions of all frames, without what is inlined.
fn named(text: &str) -> Vec<&str> {
    let frames = text.lines().filter_map(|line| line.split_once(": 0x"));
    let names = frames.filter_map(|(_, frame)| frame.get(16..)?.split('+').next());
    let names: Vec<_> = names.collect();
    assert!(names.len() > 2, "{text}");
    names
}
