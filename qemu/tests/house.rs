//! What holds for the house as a whole: each module and each package uses only those below it, and clippy has nothing to say
//! about the kernel, which the host's clippy never sees.

mod circles;
mod finder;
mod modules;
mod root;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::built::target;
use qemu::build::{bare_metal, cargo};
use qemu::machine::Processor;
use qemu::workspace;
use regex::Regex;
use serde_json::Value;

#[test]
fn no_module_of_a_crate_is_in_a_circle() {
    let crates = [
        "unwind/src",
        "linker/src",
        "linker/arm-instructions/src",
        "linker/row-checker/src",
        "kernel/src",
        "kernel/c/src",
        "kernel/portable/src",
        "kernel/postmortem/src",
        "kernel/screen/src",
        "qemu/src",
        "qemu/setup/src",
    ];
    for sources in crates {
        let uses = modules::uses(&workspace::root().join(sources));
        assert!(uses.len() > 3, "{sources}: {uses:?}");
        let circles = circles::among(&uses);
        assert!(circles.is_empty(), "{sources}: {circles:#?}");
    }
}

/// Cargo does not look for them, so the compiler never sees one that nobody names.
#[test]
fn every_file_of_tests_is_named_in_its_program() {
    let programs = ["gate", "long", "static_checks", "raspi4"];
    let mut count = 0;
    for tests in ["qemu/tests", "linker/tests", "unwind/proof/tests"] {
        let tests = workspace::root().join(tests);
        let roots = modules_in(&tests).into_iter();
        let roots: Vec<_> = roots.filter(|name| !programs.contains(&&**name)).collect();
        let mut folders = vec![(
            programs.map(|name| tests.join(name)).to_vec(),
            roots.clone(),
        )];
        for root in roots {
            let modules = modules_in(&tests.join(&root));
            folders.push((vec![tests.join(root)], modules));
        }
        for shared in ["support", "common"].map(|name| tests.join(name)) {
            let mut helpers = modules_in(&shared);
            helpers.retain(|name| name != "mod");
            folders.push((vec![shared.join("mod")], helpers));
        }
        for (files, names) in folders.into_iter().filter(|(_, names)| !names.is_empty()) {
            let texts = files
                .iter()
                .filter_map(|file| std::fs::read_to_string(file.with_extension("rs")).ok());
            let text: String = texts.collect();
            for name in names {
                let is_named = text
                    .lines()
                    .any(|line| line.ends_with(&format!("mod {name};")));
                assert!(is_named, "{files:?} do not name {name}");
                count += 1;
            }
        }
    }
    assert!(count > 150, "{count}");
}

/// With `#[test]`, a test in a file of both programs would run in both.
#[test]
fn files_of_gate_and_long_part_use_their_attributes() {
    let mut count = 0;
    for tests in ["qemu/tests", "linker/tests", "unwind/proof/tests"] {
        let tests = workspace::root().join(tests);
        let [gate, long] = ["gate.rs", "long.rs"].map(|name| {
            let text = std::fs::read_to_string(tests.join(name)).expect("it can be read");
            let names = text.lines().filter_map(|line| line.strip_prefix("mod "));
            let names = names.map(|name| name.trim_end_matches(';').to_owned());
            names.collect::<BTreeSet<_>>()
        });
        for module in gate.intersection(&long) {
            let folder = tests.join(module);
            let files = modules_in(&folder)
                .into_iter()
                .map(|name| folder.join(name));
            for file in files.chain([folder.clone()]) {
                let file = file.with_extension("rs");
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                let plain = text.lines().position(|line| line.trim() == "#[test]");
                assert_eq!(plain, None, "{} has a plain #[test]", file.display());
                count += text.matches("#[gate]").count() + text.matches("#[long]").count();
            }
        }
    }
    assert!(count > 100, "{count}");
}

/// The modules that lie in this folder; none if there is no such folder.
fn modules_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("a folder can be read").path());
    let sources = paths.filter(|path| path.extension() == Some(OsStr::new("rs")));
    let stems = sources.filter_map(|path| path.file_stem()?.to_str().map(str::to_owned));
    stems.collect()
}

/// Not by its tests either: of two packages that need each other none can be published first.
#[test]
fn no_package_of_the_workspace_is_in_a_circle() {
    let names = |list: &Value| -> BTreeSet<String> {
        let all = list.as_array().into_iter().flatten();
        all.filter_map(|one| one["name"].as_str().map(str::to_owned))
            .collect()
    };
    let uses: BTreeMap<String, BTreeSet<String>> = packages()
        .iter()
        .map(|package| {
            let name = package["name"].as_str().expect("a package has a name");
            (name.to_owned(), names(&package["dependencies"]))
        })
        .collect();
    assert!(uses["sframe-link"].contains("sframe-unwind"), "{uses:?}");
    let circles = circles::among(&uses);
    assert!(circles.is_empty(), "{circles:#?}");
}

/// Crates.io refuses a package without some of these. `repository` may be empty until `.ci/release --tag` needs it.
#[test]
fn every_published_package_is_described_and_packed() {
    let script = workspace::root().join(".ci/package");
    let script = std::fs::read_to_string(script).expect("there is a script");
    let line = script
        .lines()
        .find_map(|line| line.strip_prefix("crates=("));
    let packed = line.and_then(|line| line.strip_suffix(')'));
    let packed: Vec<&str> = packed.expect("a list").split_whitespace().collect();
    let packages = packages();
    let published = packages
        .iter()
        .filter(|package| package["publish"].is_null());
    let published: Vec<&Value> = published.collect();
    for package in &published {
        let name = package["name"].as_str().expect("a package has a name");
        let place = packed.iter().position(|packed| *packed == name);
        let place = place.unwrap_or_else(|| panic!(".ci/package does not pack {name}"));
        for key in ["description", "readme", "license", "repository"] {
            assert!(package[key].is_string(), "{name} has no {key}");
        }
        for key in ["keywords", "categories"] {
            let count = package[key].as_array().map_or(0, Vec::len);
            assert!((1..=5).contains(&count), "{name} has {count} {key}");
        }
        let folder = Path::new(package["manifest_path"].as_str().expect("a path"));
        for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(folder.with_file_name(file).is_file(), "{name}: no {file}");
        }
        // Cargo leaves a dependency of tests without a version out of what is published.
        let used = package["dependencies"].as_array().into_iter().flatten();
        for used in used.filter(|used| used["path"].is_string() && used["req"] != "*") {
            let used = used["name"].as_str().expect("a dependency has a name");
            let before = packed[..place].contains(&used);
            assert!(before, "{name} needs {used}, which is published later");
        }
    }
    assert_eq!(published.len(), packed.len(), "{packed:?}");
}

/// A target with `test = false` has no test program of its own, so that a unit test in it would never run.
#[test]
fn what_is_not_compiled_as_a_test_has_no_unit_tests() {
    let mut count = 0;
    for package in packages() {
        let targets = package["targets"]
            .as_array()
            .expect("a package has targets");
        let is_test = |target: &Value| target["kind"][0] == "test";
        let quiet = |target: &&Value| target["test"] == false && !is_test(target);
        for target in targets.iter().filter(quiet) {
            let root = Path::new(target["src_path"].as_str().expect("a target has a source"));
            let mut files = vec![root.to_owned()];
            while let Some(file) = files.pop() {
                let text = std::fs::read_to_string(&file).expect("it can be read");
                let is_there = text.lines().any(|line| line.trim() == "#[test]");
                assert!(!is_there, "{} has a unit test", file.display());
                count += 1;
                files.extend(modules_named_in(&file, &text));
            }
        }
    }
    assert!(count > 50, "{count}");
}

/// The files of the modules that this file declares.
fn modules_named_in(file: &Path, text: &str) -> Vec<PathBuf> {
    let is_root = ["lib.rs", "main.rs", "mod.rs"].map(OsStr::new);
    let folder = match is_root.contains(&file.file_name().expect("a file")) {
        true => file.with_file_name(""),
        false => file.with_extension(""),
    };
    let names = text.lines().filter_map(|line| {
        let declared = line.trim().strip_suffix(';')?;
        declared.rsplit_once("mod ").map(|(_, name)| name)
    });
    let places = names.flat_map(|name| {
        let module = folder.join(name);
        [module.with_extension("rs"), module.join("mod.rs")]
    });
    places.filter(|path| path.is_file()).collect()
}

/// The packages of the workspace, as cargo describes them.
fn packages() -> Vec<Value> {
    let output = cargo("metadata")
        .args(["--no-deps", "--format-version=1"])
        .stdout(Stdio::piped())
        .output()
        .expect("cargo can be started");
    let said: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    said["packages"]
        .as_array()
        .expect("there are packages")
        .clone()
}

#[test]
fn clippy_has_nothing_to_say_about_the_kernel() {
    for processor in Processor::ALL {
        let command = bare_metal("clippy", processor, OsStr::new("rust-lld"), &target());
        let mut command = command.expect("core is to be had");
        command.args(["--package", "kernel"]);
        if processor != Processor::Armv7a {
            command.args(["--package", "unwind-kernel"]);
        }
        command
            .args(["--", "--deny", "warnings"])
            .stderr(Stdio::piped());
        let output = command.output().expect("cargo can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{processor}: {said}");
    }
}

#[test]
fn what_the_picture_of_the_house_names_is_there() {
    let root = workspace::root();
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("there is a picture");
    let path = Regex::new(r"\b(?:unwind|linker|kernel|qemu)/[A-Za-z0-9_./-]*[A-Za-z0-9_]").unwrap();
    let named: Vec<&str> = path.find_iter(&text).map(|found| found.as_str()).collect();
    assert!(named.len() > 40, "only {named:?}");
    for path in named.iter().filter(|path| !path.contains("NAME")) {
        assert!(root.join(path).exists(), "{path} is not there");
    }
}
