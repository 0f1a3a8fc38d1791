//! What `kernel/src/symbols.rs` promises to somebody outside is in the kernels.

use crate::support::built::{image, kernel_of};
use object::{Object, ObjectSymbol};
use qemu::machine::Processor;

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

fn every_promised_name_is_in(kernels: &[&str]) {
    let path = qemu::workspace::root().join("kernel/src/symbols.rs");
    let names = promised(&std::fs::read_to_string(path).expect("it is there"));
    assert!(names.len() > 15, "{names:?}");
    let mut missing = names;
    // Some are those of one architecture.
    for name in kernels {
        let path = image(kernel_of::<Processor>(name));
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

#[test]
fn every_promised_name_is_in_the_kernels() {
    every_promised_name_is_in(&["x86_64_release", "aarch64_debug", "armv7a_release"]);
}

#[test]
fn every_promised_name_is_in_the_other_kernels() {
    every_promised_name_is_in(&["x86_64_debug", "aarch64_release", "armv7a_debug"]);
}
