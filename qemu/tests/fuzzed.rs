//! The fuzz targets and the mutation tests call every public function of `unwind`. The compiler says which: in a copy of the
//! crate each public function is marked as deprecated, and what they share (`unwind/tests/exercise`) is checked against it.
//!
//! Implementations of other traits than those of the crate are left out, because the language calls them: `next` by a loop,
//! `fmt` by a format.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::support::built::target;
use qemu::build::cargo;
use qemu::workspace;

/// The crate of which everything is to be called.
const NAME: &str = "unwind";

#[test]
fn every_public_function_is_called_by_the_fuzz_targets() {
    let listing = workspace::root().join("unwind/API.txt");
    let listing = fs::read_to_string(listing).expect("the listing is there");
    let (public, called) = (public(&listing), called(&target().join("fuzzed")));
    assert!(public.len() > 100, "the listing looks different now");
    let forgotten: Vec<_> = public.difference(&called).collect();
    assert!(
        forgotten.is_empty(),
        "public, and called by nothing in unwind/tests/exercise: {forgotten:#?}"
    );
}

/// The functions of a listing: those of modules, of types and of the crate's own traits. Those that the macro `bitflags!` writes
/// are not the crate's.
fn public(listing: &str) -> BTreeSet<String> {
    let (mut of_trait, mut of_macro) = ("", BTreeSet::new());
    let mut functions = BTreeSet::new();
    for line in listing.lines() {
        if let Some(rest) = line.strip_prefix("impl ") {
            match rest.split_once(" for ") {
                Some(("bitflags::traits::Flags", name)) => _ = of_macro.insert(name),
                Some((_, name)) => of_trait = name.split(" where ").next().unwrap_or(name),
                None => of_trait = "",
            }
        } else if line.starts_with("impl<") {
            let of = line.split_once(" for ").map_or("", |(_, name)| name);
            of_trait = of.split(" where ").next().unwrap_or(of);
        }
        let function = line
            .strip_prefix("pub const fn ")
            .or_else(|| line.strip_prefix("pub fn "));
        let Some(function) = function else {
            continue;
        };
        if !of_trait.is_empty() && function.starts_with(of_trait) {
            continue;
        }
        functions.insert(plain(arguments_off(function)));
    }
    functions.retain(|function| {
        let of = function.rsplit_once("::").map_or("", |(of, _)| of);
        !of_macro.contains(of)
    });
    functions
}

/// A path and its generic parameters, without what a function takes.
fn arguments_off(function: &str) -> &str {
    let mut depth = 0;
    for (at, character) in function.char_indices() {
        match character {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => return &function[..at],
            _ => {}
        }
    }
    function
}

/// A path without generic parameters.
fn plain(path: &str) -> String {
    let mut depth = 0;
    let mut kept = String::new();
    for character in path.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth -= 1,
            other if depth == 0 => kept.push(other),
            _ => {}
        }
    }
    // `Type::<'a>::name` is `Type::::name` now.
    kept.replace("::::", "::")
}

/// The functions that the compiler has seen in use.
fn called(folder: &Path) -> BTreeSet<String> {
    let root = workspace::root();
    let _ = fs::remove_dir_all(folder.join("marked"));
    mark(&root.join("unwind/src"), &folder.join("marked/src"));
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    };
    let exercise = root.join("unwind/tests/exercise/mod.rs");
    write(
        "marked/Cargo.toml",
        "[package]\nname = \"sframe-unwind\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [lib]\nname = \"unwind\"\n[features]\ndefmt = []\n[dependencies]\nbitflags = \"2\"\n",
    );
    write(
        "user/Cargo.toml",
        "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[dependencies]\n\
         crc32fast = \"1\"\nunwind = { package = \"sframe-unwind\", path = \"../marked\" }\n",
    );
    write(
        "user/src/lib.rs",
        &format!("#[path = {exercise:?}]\npub mod exercise;\n"),
    );
    write(
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"marked\", \"user\"]\n",
    );
    // The versions that everything else is built with.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("it can be copied");
    // What is checked already says nothing the second time.
    fs::remove_dir_all(folder.join("target")).ok();
    let output = cargo("check")
        .args([
            "--package",
            "user",
            "--message-format=json",
            "--manifest-path",
        ])
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(folder.join("target"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .expect("cargo can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let messages = String::from_utf8_lossy(&output.stdout);
    messages.lines().filter_map(used).collect()
}

/// The function of a message: "use of deprecated method `path`".
fn used(message: &str) -> Option<String> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    if message["target"]["name"] != "user" {
        return None;
    }
    let text = message["message"]["message"].as_str()?;
    let path = text.strip_prefix("use of deprecated ")?.split('`').nth(1)?;
    // `unwind::module::<impl Type>::name`: of an implementation elsewhere than its type.
    let path = match path.split_once("<impl ") {
        Some((_, rest)) => {
            let (of, name) = rest.rsplit_once(">::")?;
            format!("{of}::{name}")
        }
        None => path.to_owned(),
    };
    assert!(path.starts_with(NAME), "{path}");
    Some(plain(&path))
}

/// Copies a folder of sources with a mark on each public function, and on each of a public trait.
fn mark(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("the sources are there") {
        let path = entry.expect("a folder can be read").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            mark(&path, &to);
            continue;
        }
        let source = fs::read_to_string(&path).expect("a source can be read");
        let mut in_trait = false;
        let mut marked = String::new();
        for line in source.lines() {
            in_trait = line.starts_with("pub trait ") || in_trait && line != "}";
            let text = line.trim_start();
            let public = text.starts_with("pub fn ") || text.starts_with("pub const fn ");
            if public || in_trait && text.starts_with("fn ") {
                marked += "#[deprecated] ";
            }
            marked += line;
            marked.push('\n');
        }
        fs::write(to, marked).expect("a source can be written");
    }
}
