//! Sources made up to have circles, or none.

use super::{circles, modules};

/// The circles among these modules of a crate, which are in a folder with this name.
#[track_caller]
fn circles_of(folder: &str, files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let above = tempfile::tempdir().expect("there is room for a folder");
    let sources = above.path().join(folder);
    for (name, text) in files {
        let path = sources.join(name);
        let folder = path.parent().expect("a file is in a folder");
        std::fs::create_dir_all(folder).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    }
    circles::among(&modules::uses(&sources))
}

const ROOT: (&str, &str) = ("lib.rs", "mod above; mod below; mod beside;");
const ABOVE: (&str, &str) = (
    "above.rs",
    "use crate::{below::one, beside}; pub fn two() {}",
);
const BESIDE: (&str, &str) = ("beside.rs", "// Nothing: crate::above");

#[test]
fn a_circle_is_found() {
    for below in [
        "pub fn one() { super::above::two() }",
        "pub fn one() { self::super::above::two() }",
        "mod inner { pub fn one() { super::super::above::two() } }",
        // By a macro, whose tokens nobody parses.
        "global_asm!(\"\", main = sym crate::above::two);",
        "fn one() { println!(\"{}\", super::above::two()) }",
    ] {
        // The folder of the sources says nothing of them.
        for folder in ["src", "tests"] {
            let circles = circles_of(folder, &[ROOT, ABOVE, ("below.rs", below), BESIDE]);
            assert_eq!(circles, [["above", "below"]], "{below}");
        }
    }
}

#[test]
fn a_circle_by_a_name_that_the_root_gives_is_found() {
    for (root, below) in [
        ("use above as arch;", "use crate::arch::two;"),
        ("pub use above::Two;", "fn one() -> crate::Two {}"),
        (
            "pub use crate::above::{Three, Two};",
            "fn one() -> crate::Two {}",
        ),
        (
            "pub use self::above::{self as other};",
            "use super::other::two;",
        ),
        // By one name after another.
        ("use above as arch; pub use arch::Two;", "use crate::Two;"),
        // What one machine has is a circle, whatever another one has.
        (
            "#[cfg(target_arch = \"x86_64\")] use above as arch;
             #[cfg(not(target_arch = \"x86_64\"))] use beside as arch;",
            "use crate::arch;",
        ),
    ] {
        let root = format!("{} {root}", ROOT.1);
        let files = [("lib.rs", &*root), ABOVE, ("below.rs", below), BESIDE];
        assert_eq!(circles_of("src", &files), [["above", "below"]], "{root}");
    }
    let exports = "use crate::below::one; #[macro_export] macro_rules! two { () => {} }";
    let files = [
        ROOT,
        ("above.rs", exports),
        ("below.rs", "crate::two!();"),
        BESIDE,
    ];
    assert_eq!(circles_of("src", &files), [["above", "below"]]);
}

#[test]
fn a_name_with_a_meaning_for_each_architecture_is_no_circle_of_them() {
    let root = "mod x86; mod arm; #[cfg(x86)] use x86 as arch; #[cfg(arm)] use arm as arch;";
    let [x86, arm] = ["x86.rs", "arm.rs"].map(|name| (name, "use crate::arch::one;"));
    let circles = circles_of("src", &[("lib.rs", root), x86, arm]);
    assert_eq!(circles, Vec::<Vec<String>>::new());
}

/// A module's file, and the files of the modules in it, are one module of the crate. Tests are none.
#[test]
fn a_circle_by_a_module_in_a_module_is_found() {
    let with = |below, inner, text| {
        let inner = (inner, text);
        circles_of("src", &[ROOT, ABOVE, ("below.rs", below), inner, BESIDE])
    };
    let found = [["above", "below"]];
    let above = "use crate::above;";
    assert_eq!(with("mod inner;", "below/inner.rs", above), found);
    assert_eq!(with("mod inner;", "below/inner/mod.rs", above), found);
    assert_eq!(with("mod tests;", "below/tests.rs", above), found);
    assert_eq!(
        with("mod inner; use super::above;", "below/inner.rs", ""),
        found
    );
    let none = Vec::<Vec<String>>::new();
    assert_eq!(
        with("#[cfg(test)] mod tests;", "below/tests.rs", above),
        none
    );
    let inside = "#[cfg(test)] mod tests { use crate::above; }";
    assert_eq!(with(inside, "below/other.rs", above), none);
}
