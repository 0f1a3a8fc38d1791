//! The names that a crate's root gives to what is in its modules.

use std::collections::{BTreeMap, BTreeSet};

use syn::{File, Item, UseTree};

/// The names that a crate's root gives, and what each is short for: modules, or other names in the root.
#[derive(Default)]
pub struct Root(BTreeMap<String, BTreeSet<String>>);

impl Root {
    pub fn read(&mut self, root: &File) {
        for item in &root.items {
            if let Item::Use(item) = item
                && item.leading_colon.is_none()
            {
                self.add_tree(&[], &item.tree);
            }
        }
    }

    fn add_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: String| [before, &[name]].concat();
        let (name, path) = match tree {
            UseTree::Path(path) => return self.add_tree(&with(path.ident.to_string()), &path.tree),
            UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|tree| self.add_tree(before, tree));
            }
            UseTree::Name(name) if name.ident == "self" => (before.last().cloned(), before.into()),
            UseTree::Name(name) => (Some(name.ident.to_string()), with(name.ident.to_string())),
            UseTree::Rename(name) => (Some(name.rename.to_string()), with(name.ident.to_string())),
            UseTree::Glob(_) => panic!("which names are in {}::*?", before.join("::")),
        };
        let mut path = path
            .iter()
            .filter(|part| !["crate", "self"].contains(&&***part));
        if let (Some(name), Some(first)) = (name, path.next()) {
            self.add(&name, first);
        }
    }

    pub fn add(&mut self, name: &str, what: &str) {
        self.0
            .entry(name.to_owned())
            .or_default()
            .insert(what.to_owned());
    }

    /// The modules that a name at the top of the crate stands for.
    pub fn modules_behind(&self, name: &str, modules: &BTreeSet<&str>) -> BTreeSet<String> {
        let mut seen = BTreeSet::from([name]);
        let mut work = vec![name];
        while let Some(name) = work.pop() {
            let behind = self.0.get(name).into_iter().flatten();
            work.extend(behind.filter(|other| seen.insert(other)).map(|it| &**it));
        }
        let seen = seen.into_iter().filter(|name| modules.contains(name));
        seen.map(str::to_owned).collect()
    }
}
