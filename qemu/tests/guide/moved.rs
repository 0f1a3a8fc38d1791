//! A kernel that lies elsewhere than it is linked at.

use std::path::Path;

use qemu::build::Profile;

use crate::short::{MOVED, VECTORS, replace};
use crate::steps;
use crate::text::{guide, part, without_numbers};

#[test]
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
    assert_eq!(without_numbers(&after.text), without_numbers(&before));
}
