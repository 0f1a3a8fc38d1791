//! `unwind-qemu new`: what it writes is the guide's, and boots.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use qemu::build::Profile;
use qemu::template::{FILES, KINDS, Kind};
use qemu::workspace;

use crate::guide::{builds, short, steps, text};
use crate::support::outside::{Outside, alone};
use crate::support::runner::run;

/// The kernel that this kind has in a folder, by the path of this repository.
fn write(name: &str, folder: &Path) -> &'static Kind {
    let kind = Kind::find(name).expect("there is this kind");
    let written = kind.write(folder, Some(workspace::root()));
    written.expect("the kernel can be written");
    kind
}

/// The paths below a folder, and the text of each file.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    fn add(root: &Path, folder: &Path, files: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).expect("a folder can be read") {
            let path = entry.expect("a folder can be read").path();
            match path.is_dir() {
                true => add(root, &path, files),
                false => {
                    let name = path.strip_prefix(root).expect("it is below the folder");
                    let text = fs::read_to_string(&path).expect("a file of text");
                    files.push((name.to_owned(), text));
                }
            }
        }
    }
    let mut found = Vec::new();
    add(folder, folder, &mut found);
    found.sort();
    found
}

#[gate]
fn each_kind_is_the_kernel_that_the_tests_of_the_guide_boot() {
    for kind in &KINDS {
        let above = tempfile::tempdir().expect("a folder can be made");
        let folder = above.path().join("my-kernel");
        write(kind.name, &folder);
        let expected = builds::outside(kind.kernel);
        let lines: usize = kind
            .pages
            .iter()
            .map(|place| steps::apply(&text::part(place), expected.folder()))
            .sum();
        assert!(lines > 0, "{}", kind.name);
        expected.name_repository("Cargo.toml");
        if let Some(physical) = kind.physical {
            let main = expected.folder().join("src/main.rs");
            let address = format!("physical_memory_at({physical})");
            short::replace(&main, "physical_memory_at(0)", &address);
        }
        let manifest = expected.folder().join("Cargo.toml");
        short::replace(&manifest, "name = \"corner-shop\"", "name = \"my-kernel\"");
        let own = ["Cargo.lock", "tables.ld"].map(PathBuf::from);
        let mut expected = files(expected.folder());
        expected.retain(|(path, _)| !own.contains(path));
        let mut written = files(&folder);
        for (path, text) in &mut written {
            if path == Path::new(".cargo/config.toml") {
                let runner = format!("runner = {}\n", kind.runner);
                assert!(text.contains(&runner), "{text}");
                *text = text.replace(&runner, "");
            }
        }
        let [loader, boot, toolchain] = ["loader", "boot", "rust-toolchain.toml"].map(Path::new);
        written.retain(|(path, _)| !path.starts_with(loader) && path != boot && path != toolchain);
        assert_eq!(written, expected, "{}", kind.name);
    }
}

/// The program contains what is in the folders.
#[gate]
fn all_files_of_the_guides_kernels_are_listed() {
    let guide = workspace::root().join("qemu/tests/guide");
    let mut found: Vec<String> = files(&guide)
        .into_iter()
        .filter(|(path, _)| path.components().count() > 1)
        .map(|(path, _)| path.to_str().expect("a path of text").to_owned())
        .collect();
    let other = "../handlers/kernel";
    let others = files(&guide.join(other)).into_iter();
    found.extend(others.map(|(path, _)| format!("{other}/{}", path.display())));
    found.sort();
    let mut listed: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

/// Has `cargo run` build a kernel of this kind, and boot it by its settings.
#[track_caller]
fn expect_backtrace(name: &str) {
    let _alone = alone();
    let kernel = Outside::of(|folder| {
        let kind = write(name, folder);
        if kind.name == "limine" {
            let lock = workspace::root().join("Cargo.lock");
            fs::copy(lock, folder.join("loader/Cargo.lock")).expect("a file can be copied");
        }
    });
    let output = kernel.cargo("run", builds::PLACE, Profile::Debug).output();
    let output = output.expect("cargo starts");
    assert_eq!(output.status.code(), Some(101), "{name}: {output:?}");
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let shop = "::shop::serve+";
    let end = "\nend of backtrace: complete, ";
    assert!(text.contains(shop) && text.contains(end), "{name}: {text}");
}

/// A kernel that a loader starts, so that the runner in its settings is a script.
#[gate]
fn cargo_run_prints_a_backtrace() {
    expect_backtrace("limine");
}

#[long]
fn cargo_run_prints_a_backtrace_for_each_kind() {
    for kind in &KINDS {
        expect_backtrace(kind.name);
    }
}

#[gate]
fn new_lists_its_kinds() {
    let text = run(["new", "--kind"]).expect(0).text();
    assert_eq!(text.lines().count(), KINDS.len(), "{text}");
    for (line, kind) in text.lines().zip(&KINDS) {
        let has_both = line.starts_with(kind.name) && line.ends_with(kind.about);
        assert!(has_both, "{line}");
    }
    run(["new", "--kind", "no-such-kind", "folder"])
        .expect(2)
        .expect_words("\"no-such-kind\"; expected one of: multiboot, ");
    run(["new", "--kind", "limine"])
        .expect(2)
        .expect_words("new --kind limine my-kernel");
}

#[gate]
fn new_leaves_a_folder_that_exists_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().to_str().expect("a path of text");
    run(["new", "--kind", "limine", path])
        .expect(2)
        .expect_words("already exists");
    assert!(files(folder.path()).is_empty());
}

/// The message has a command that a shell takes, and names the package.
#[gate]
fn new_accepts_a_folder_with_any_name() {
    let above = tempfile::tempdir().expect("a folder can be made");
    for (name, package) in [
        ("my kernel", "corner-shop"),
        ("kernel-postmortem", "corner-shop"),
        ("größe", "corner-shop"),
        ("os_1", "os_1"),
    ] {
        let folder = above.path().join(name);
        let path = folder.to_str().expect("a path of text");
        let ran = run(["new", "--kind", "multiboot", path]).expect(0);
        let (_, command) = ran.words.rsplit_once("type: ").expect("a command");
        let (cd, _) = command.split_once(" && ").expect("two commands");
        let output = Command::new("sh")
            .args(["-c", &format!("{cd} && pwd")])
            .output();
        let output = output.expect("a shell starts").stdout;
        let there = PathBuf::from(String::from_utf8_lossy(&output).trim_end());
        let [there, folder] = [there, folder].map(|path| path.canonicalize().expect("a folder"));
        assert_eq!(there, folder);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("it is written");
        assert!(
            manifest.contains(&format!("name = {package:?}\n")),
            "{manifest}"
        );
        let names_it = ran.words.contains(&format!("in package {package}"));
        assert_eq!(names_it, name != package, "{}", ran.words);
    }
}

#[gate]
fn new_names_the_published_crate_without_a_checkout() {
    let above = tempfile::tempdir().expect("a folder can be made");
    let folder = above.path().join("my-kernel");
    let path = folder.to_str().expect("a path of text");
    run(["new", "--kind", "armv7a", path])
        .expect(0)
        .expect_words(&format!("type: cd {path} && cargo run"));
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("it is written");
    let needs = format!("kernel-postmortem = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(manifest.contains(&needs), "{manifest}");
    assert!(!manifest.contains("SFRAME"), "{manifest}");
    let toolchain = fs::read_to_string(folder.join("rust-toolchain.toml")).expect("it is written");
    assert!(toolchain.ends_with("channel = \"stable\"\ntargets = [\"armv7a-none-eabi\"]\n"));
    run(["new", "--kind", "armv7a", "--path", path, "other"])
        .expect(2)
        .expect_words("is not a checkout");
}
