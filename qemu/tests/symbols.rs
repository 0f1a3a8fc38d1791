//! What `kernel/src/symbols.rs` promises to somebody outside is in the kernels.

use crate::support::built::{image, image_for_arm, kernel};
use object::{Object, ObjectSymbol};
use qemu::build::Profile;

/// The names: labels in the first column of the table, and statics.
fn promised(source: &str) -> Vec<String> {
    let labels = source
        .lines()
        .filter_map(|line| line.strip_prefix("//! | "));
    let labels = labels.filter_map(|row| row.split('|').next());
    let labels = labels.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let statics = source
        .lines()
        .filter_map(|line| line.strip_prefix("static "));
    let statics = statics.filter_map(|line| line.split(':').next());
    let names = labels.chain(statics);
    names.map(|name| name.replace("NUMBER", "4")).collect()
}

#[test]
fn every_promised_name_is_in_the_kernels() {
    let path = qemu::workspace::root().join("kernel/src/symbols.rs");
    let names = promised(&std::fs::read_to_string(path).expect("it is there"));
    assert!(names.len() > 15, "{names:?}");
    let mut missing = names;
    // Some are those of one architecture.
    let images = ["x86_64_release", "aarch64_release"].map(|name| image(kernel(name)));
    for path in images.into_iter().chain([image_for_arm(Profile::Release)]) {
        let data = std::fs::read(path).expect("the image can be read");
        let file = object::File::parse(&*data).expect("the image is ELF");
        let has = |wanted: &str| {
            let mut symbols = file.symbols();
            symbols.any(|symbol| symbol.name() == Ok(wanted))
        };
        missing.retain(|name| !has(name));
    }
    assert_eq!(missing, Vec::<String>::new());
}
