//! Which modules at the top of a crate each of them uses, by its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use syn::visit::{self, Visit};
use syn::{Attribute, File, Item, ItemMod, ItemUse, Meta, UseTree};

use super::circles::Uses;
use super::root::Root;

/// The modules that each module at the top of a crate uses, by their own names or by others that the crate's root gives them.
/// Modules for tests are left out: tests use what they like.
pub fn uses(sources: &Path) -> Uses {
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    let mut root = Root::default();
    for file in ["lib.rs", "main.rs"].map(|name| sources.join(name)) {
        if !file.exists() {
            continue;
        }
        let parsed = parse(&file);
        root.read(&parsed);
        for (name, path) in declared(&parsed, sources) {
            read(&path, 0, found.entry(name).or_default());
        }
    }
    for (module, found) in &found {
        for name in &found.macros {
            root.add(name, module);
        }
    }
    let modules: BTreeSet<&str> = found.keys().map(String::as_str).collect();
    let uses = found.iter().map(|(module, found)| {
        let used = found.names.iter();
        let used = used.map(|name| root.modules_behind(name, &modules));
        // Where a name has a meaning for each architecture, the module for one of them means itself.
        let used = used.filter(|behind| !behind.contains(module)).flatten();
        (module.clone(), used.collect())
    });
    uses.collect()
}

/// What of a module, and of those in it, is of interest to others.
#[derive(Default)]
struct Found {
    /// Names that paths begin with at the crate's top.
    names: BTreeSet<String>,
    /// Macros that are there for the whole crate.
    macros: BTreeSet<String>,
}

/// Reads a module's file, and those of the modules that it declares, `depth` modules below one at the top.
fn read(path: &Path, depth: usize, found: &mut Found) {
    let file = parse(path);
    let folder = match path.file_name().is_some_and(|name| name == "mod.rs") {
        true => path.parent().expect("a file is in a folder").to_owned(),
        false => path.with_extension(""),
    };
    for (_, path) in declared(&file, &folder) {
        read(&path, depth + 1, found);
    }
    Reader { depth, found }.visit_file(&file);
}

fn parse(path: &Path) -> File {
    let shown = path.display();
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{shown}: {error}"));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{shown}: {error}"))
}

/// The modules that a file declares, and their files, which are in this folder.
fn declared(file: &File, folder: &Path) -> Vec<(String, PathBuf)> {
    let modules = file.items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && !is_test(&module.attrs) => Some(module),
        _ => None,
    });
    let files = modules.map(|module| {
        let attributes = &module.attrs;
        let is_elsewhere = attributes.iter().any(|it| it.path().is_ident("path"));
        assert!(!is_elsewhere, "{} is in another file", module.ident);
        let name = module.ident.to_string();
        let beside = folder.join(format!("{name}.rs"));
        let path = match beside.exists() {
            true => beside,
            false => folder.join(&name).join("mod.rs"),
        };
        (name, path)
    });
    files.collect()
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is = |attribute: &Attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    };
    attributes.iter().any(is)
}

/// Reads a file.
struct Reader<'a> {
    /// How many modules lie between the top and what is read, itself not counted.
    depth: usize,
    found: &'a mut Found,
}

impl Reader<'_> {
    /// Notes what a path leads to: `crate::name`, or `super::name` with as many `super` as lead to the top.
    fn note<'n>(&mut self, path: impl Iterator<Item = &'n str>) {
        let mut path = path.peekable();
        if path.next_if_eq(&"crate").is_none() {
            path.next_if_eq(&"self");
            for _ in 0..=self.depth {
                if path.next_if_eq(&"super").is_none() {
                    return;
                }
            }
        }
        self.found.names.extend(path.next().map(str::to_owned));
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

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            self.depth += 1;
            visit::visit_item_mod(self, module);
            self.depth -= 1;
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.note_tree(&[], &item.tree);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        let mut attributes = item.attrs.iter();
        if attributes.any(|it| it.path().is_ident("macro_export")) {
            self.found
                .macros
                .extend(item.ident.as_ref().map(ToString::to_string));
        }
        visit::visit_item_macro(self, item);
    }

    /// What a macro is given may be assembly, with the symbols of functions, or items that it defines.
    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let text = called.tokens.to_string();
        let path = Regex::new(r"\b(?:crate|super)(?:\s*::\s*\w+)+").expect("a right pattern");
        for path in path.find_iter(&text) {
            self.note(path.as_str().split("::").map(str::trim));
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
