//! Circles: names that use each other.

use std::collections::{BTreeMap, BTreeSet};

/// The names that each name uses.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// The names that use each other, by way of others or none: one list for each circle, sorted.
pub fn among(uses: &Uses) -> Vec<Vec<String>> {
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
fn reachable<'a>(uses: &'a Uses, start: &str) -> BTreeSet<&'a str> {
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
