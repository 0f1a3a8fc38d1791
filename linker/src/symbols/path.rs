//! Paths of source files, as a report prints them: the same on every machine.

use std::collections::{BTreeSet, HashMap, HashSet};

/// Makes paths relative: those in the workspace to it, those in a package to the folder that contains the package.
#[derive(Debug, Default)]
pub struct Paths {
    /// Folders in which compilers ran, longest first, each with a slash at the end.
    roots: Vec<String>,
    /// Short paths that would stand for several files, which keep their whole paths.
    shared: HashSet<String>,
}

impl Paths {
    /// `folders` are those in which compilers ran (`DW_AT_comp_dir`).
    #[must_use]
    pub fn new(folders: &BTreeSet<String>) -> Self {
        let mut roots: Vec<String> = folders
            .iter()
            .map(|folder| format!("{}/", normal(folder).trim_end_matches('/')))
            .filter(|folder| folder.len() > 1 && package(folder).is_none())
            .collect();
        roots.sort_by(|a, b| (b.len(), a).cmp(&(a.len(), b)));
        Self {
            roots,
            shared: HashSet::new(),
        }
    }

    /// Has no two of these files printed the same.
    #[must_use]
    pub fn of_files(mut self, files: impl Iterator<Item = String>) -> Self {
        let mut first: HashMap<String, String> = HashMap::new();
        for path in files {
            let (path, short) = self.shortened(&path);
            // Rust's own library is at several places, with the same files.
            let file = match is_of_rust(&path) {
                true => short.clone(),
                false => path,
            };
            if *first.entry(short.clone()).or_insert_with(|| file.clone()) != file {
                self.shared.insert(short);
            }
        }
        self
    }

    /// A path as it is printed: `kernel/src/main.rs`, `core/src/fmt/mod.rs`, `bitflags-2.13.2/src/lib.rs`.
    #[must_use]
    pub fn shown(&self, path: &str) -> String {
        let (path, short) = self.shortened(path);
        match self.shared.contains(&short) && !is_of_rust(&path) {
            true => path,
            false => short,
        }
    }

    /// A path without `.` and `..`, and the short one.
    fn shortened(&self, path: &str) -> (String, String) {
        let path = normal(path);
        let root = || self.roots.iter().find(|root| path.starts_with(*root));
        let at = package(&path).or_else(|| root().map(String::len));
        let short = path[at.unwrap_or_default()..].to_owned();
        (path, short)
    }
}

/// The crates of Rust's own `library/` that code comes from.
const STANDARD: [&str; 12] = [
    "core/",
    "alloc/",
    "std/",
    "compiler-builtins/",
    "panic_abort/",
    "panic_unwind/",
    "portable-simd/",
    "stdarch/",
    "test/",
    "unwind/",
    "proc_macro/",
    "backtrace/",
];

/// The position in a path where the folder of a package outside the workspace starts: one from a registry, from a git
/// repository, or of Rust's standard library.
fn package(path: &str) -> Option<usize> {
    // `…/registry/src/<registry>/<package>-<version>/…`, `…/git/checkouts/<repository>/<commit>/…`
    for (marker, skip) in [("/registry/src/", 1), ("/git/checkouts/", 0)] {
        if let Some(at) = path.rfind(marker) {
            return after_folders(path, at + marker.len(), skip);
        }
    }
    standard(path).or_else(|| {
        // Packages that `std` was built with: `/rust/deps/hashbrown-0.15.2/src/…`
        let rest = path.strip_prefix("/rust/deps/")?;
        Some(path.len() - rest.len())
    })
}

/// Whether a path is one of Rust's own library as a Rust toolchain names it. Other paths may only look alike.
fn is_of_rust(path: &str) -> bool {
    let is_toolchain = ["/rustc/", "library/"]
        .iter()
        .any(|begin| path.starts_with(begin))
        || path.contains("/rustlib/src/rust/library/");
    is_toolchain && package(path).is_some_and(|at| standard(path) == Some(at))
}

/// The position in a path where a folder of Rust's own library starts.
fn standard(path: &str) -> Option<usize> {
    // `/rustc/<commit>/library/core/src/…`, `…/rustlib/src/rust/library/core/src/…`
    // with `-Zbuild-std` also `library/core/src/…`
    let marker = "library/";
    let at = path
        .rfind(marker)
        .map(|at| path.split_at(at + marker.len()));
    if let Some((before, _)) =
        at.filter(|(before, _)| *before == marker || before.ends_with("/library/"))
    {
        let start = before.len();
        if STANDARD.iter().any(|name| path[start..].starts_with(name)) {
            return Some(start);
        }
    }
    None
}

fn after_folders(path: &str, mut at: usize, count: usize) -> Option<usize> {
    for _ in 0..count {
        at += path[at..].find('/')? + 1;
    }
    Some(at)
}

/// A path without `.` and `..`.
fn normal(path: &str) -> String {
    if !path.contains("/.") && !path.starts_with('.') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, "" | "..")) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_looks_like_one_of_rust_is_not_printed_as_it() {
        let own = "/a/kernel/library/core/src/panic.c";
        let of_rust = [
            "/rustc/0/library/core/src/panic.c",
            "/b/rustlib/src/rust/library/core/src/panic.c",
            "library/core/src/panic.c",
        ];
        let paths = || Paths::new(&["/a/kernel".to_owned()].into_iter().collect());
        let alone = paths().of_files([own.to_owned()].into_iter());
        assert_eq!(alone.shown(own), "core/src/panic.c");
        let files = of_rust.iter().copied().chain([own]).map(str::to_owned);
        let paths = paths().of_files(files);
        assert_eq!(paths.shown(own), own);
        for path in of_rust {
            assert_eq!(paths.shown(path), "core/src/panic.c", "{path}");
        }
    }

    #[test]
    fn two_files_are_never_printed_the_same() {
        let folders = ["/a/kernel", "/a/driver"].map(str::to_owned);
        let files = [
            "/a/kernel/src/lib.rs",
            "/a/driver/src/lib.rs",
            "/a/driver/src/./lib.rs",
            "/a/driver/src/port.rs",
            "/b/registry/src/one/log-1.0.0/src/lib.rs",
            "/b/registry/src/two/log-1.0.0/src/lib.rs",
            "/rustc/0/library/core/src/fmt/mod.rs",
            "/b/rustlib/src/rust/library/core/src/fmt/mod.rs",
        ];
        let paths = Paths::new(&folders.into_iter().collect());
        let paths = paths.of_files(files.into_iter().map(str::to_owned));
        let shown = files.map(|file| paths.shown(file));
        assert_eq!(shown[..3], [files[0], files[1], files[1]]);
        assert_eq!(shown[3], "src/port.rs");
        assert_eq!(shown[4..6], files[4..6]);
        assert_eq!(shown[6..], ["core/src/fmt/mod.rs"; 2]);
    }

    #[test]
    fn paths_do_not_tell_where_a_machine_keeps_them() {
        let folders = [
            "/home/a/kernel",
            "/home/a/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bitflags-2.13.2",
            "/home/a/library/core-dump",
        ];
        let paths = Paths::new(&folders.into_iter().map(str::to_owned).collect());
        for (path, expected) in [
            ("/home/a/kernel/src/main.rs", "src/main.rs"),
            ("/home/a/kernel/./src/../build/out.rs", "build/out.rs"),
            (
                "/home/a/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bitflags-2.13.2/src/lib.rs",
                "bitflags-2.13.2/src/lib.rs",
            ),
            (
                "/home/a/.cargo/git/checkouts/spin-1a2b/3c4d/src/lib.rs",
                "spin-1a2b/3c4d/src/lib.rs",
            ),
            (
                "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/fmt/mod.rs",
                "core/src/fmt/mod.rs",
            ),
            (
                "/usr/src/rustc-1.95.0/library/alloc/src/vec/mod.rs",
                "alloc/src/vec/mod.rs",
            ),
            ("library/core/src/panicking.rs", "core/src/panicking.rs"),
            (
                "/rust/deps/hashbrown-0.15.2/src/map.rs",
                "hashbrown-0.15.2/src/map.rs",
            ),
            ("/home/a/library/core-dump/src/a.rs", "src/a.rs"),
            ("/usr/include/stdio.h", "/usr/include/stdio.h"),
            ("start.s", "start.s"),
        ] {
            assert_eq!(paths.shown(path), expected, "{path}");
        }
    }
}
