//! Circles among the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{ItemUse, UseTree};

/// The modules at the top of a crate that use each other, by way of others or none: one list for each circle, sorted.
pub fn of(sources: &Path) -> Vec<Vec<String>> {
    let mut uses = BTreeMap::new();
    for entry in fs::read_dir(sources).expect("a crate has sources") {
        let path = entry.expect("a folder can be read").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if !["lib", "main"].contains(&&*name) {
            let mut used = Used::default();
            read(&path, 0, &mut used);
            uses.insert(name.into_owned(), used.names);
        }
    }
    among(&uses)
}

/// The names that use each other, by way of others or none: one list for each circle, sorted.
pub fn among(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reaches: BTreeMap<&str, BTreeSet<&str>> = uses
        .keys()
        .map(|name| (&**name, reachable(uses, name)))
        .collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for (name, reached) in &reaches {
        let is_new = !circles.iter().flatten().any(|known| known == name);
        if reached.contains(name) && is_new {
            let back = |other: &&&str| reaches[*other].contains(name);
            circles.push(
                reached
                    .iter()
                    .filter(back)
                    .map(|one| one.to_string())
                    .collect(),
            );
        }
    }
    circles
}

/// What can be reached from a module; itself only by a circle.
fn reachable<'a>(uses: &'a BTreeMap<String, BTreeSet<String>>, start: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut work = vec![start];
    while let Some(name) = work.pop() {
        let used = uses.get(name).into_iter().flatten();
        for other in used.filter(|other| uses.contains_key(*other) && *other != name) {
            if found.insert(&**other) {
                work.push(other);
            }
        }
    }
    found
}

/// Reads a file, or all of a folder, `depth` modules below the top.
fn read(path: &Path, depth: usize, used: &mut Used) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder can be read") {
            let path = entry.expect("a folder can be read").path();
            let is_its_own = path.file_stem().is_some_and(|name| name == "mod");
            read(&path, depth + usize::from(!is_its_own), used);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test(path) {
        let text = fs::read_to_string(path).expect("a source file can be read");
        let file =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        used.depth = depth;
        used.visit_file(&file);
    }
}

/// Tests use what they like.
fn is_test(path: &Path) -> bool {
    path.iter()
        .any(|part| part == "tests" || part == "tests.rs")
}

/// Names that paths begin with at the crate's top.
#[derive(Default)]
struct Used {
    names: BTreeSet<String>,
    /// How many modules lie between the top and the file that is read, itself not counted.
    depth: usize,
}

impl Used {
    /// Notes what a path leads to: `crate::name`, or `super::name` with as many `super` as lead to the top.
    fn note<'n>(&mut self, path: impl Iterator<Item = &'n str>) {
        let mut path = path.peekable();
        if path.next_if_eq(&"crate").is_none() {
            for _ in 0..=self.depth {
                if path.next_if_eq(&"super").is_none() {
                    return;
                }
            }
        }
        self.names.extend(path.next().map(str::to_owned));
    }

    fn note_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.note_tree(&with(path.ident.to_string()), &path.tree),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.note_tree(before, tree);
                }
            }
            UseTree::Name(name) => self.note_all(&with(name.ident.to_string())),
            UseTree::Rename(name) => self.note_all(&with(name.ident.to_string())),
            _ => self.note_all(before),
        }
    }

    fn note_all(&mut self, path: &[String]) {
        self.note(path.iter().map(String::as_str));
    }
}

impl<'ast> Visit<'ast> for Used {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.note_tree(&[], &item.tree);
    }

    /// What a macro is given may be assembly, with the symbols of functions, or items that it defines.
    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let text = called.tokens.to_string();
        for (at, _) in text.match_indices("crate :: ") {
            let name = text[at + "crate :: ".len()..].split(' ').next();
            self.names.extend(name.map(str::to_owned));
        }
        visit::visit_macro(self, called);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|one| one.ident.to_string())
            .collect();
        self.note_all(&names);
        visit::visit_path(self, path);
    }
}
