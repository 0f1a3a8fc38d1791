//! Names of several functions that have one code: ` (or ...)` after the name that is chosen.

use unwind::symbols::format::OTHER_NAMES;

/// Between a name and the others.
const OR: &str = " (or ";

/// A name, followed by others that the code may be of as well. Names that are shown alike are one.
#[must_use]
pub fn with_others(own: String, others: impl Iterator<Item = String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for other in others {
        if other != own && !different.contains(&other) {
            different.push(other);
        }
    }
    match &*different {
        [] => own,
        [other] => format!("{own}{OR}{other})"),
        [one, other] => format!("{own}{OR}{one} or {other})"),
        [one, rest @ ..] => format!("{own}{OR}{one} or {} others)", rest.len()),
    }
}

/// A name as [`with_others`] writes it, and the others.
fn split(name: &str) -> (&str, Option<&str>) {
    let others = name.strip_suffix(')').and_then(|name| name.split_once(OR));
    match others {
        Some((own, others)) => (own, Some(others)),
        None => (name, None),
    }
}

/// The name without the others.
#[must_use]
pub fn without_others(name: &str) -> &str {
    split(name).0
}

/// The bytes of a name in `.symbols`.
pub(super) fn stored(name: &str) -> Vec<u8> {
    match split(name) {
        (own, Some(others)) => [own.as_bytes(), &[OTHER_NAMES], others.as_bytes()].concat(),
        (own, None) => own.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_are_added_and_removed() {
        let with = |others: &[&str]| {
            with_others(
                "<(A, B) as C>::f".into(),
                others.iter().map(|&other| other.into()),
            )
        };
        for (others, expected) in [
            (&[][..], ""),
            (&["<(A, B) as C>::f"][..], ""),
            (&["g", "g"][..], " (or g)"),
            (&["g", "h"][..], " (or g or h)"),
            (&["g", "h", "i"][..], " (or g or 2 others)"),
        ] {
            let name = with(others);
            assert_eq!(name, format!("<(A, B) as C>::f{expected}"));
            assert_eq!(without_others(&name), "<(A, B) as C>::f");
        }
        assert_eq!(stored("f (or g)"), b"f\x01g");
        assert_eq!(stored("<&(A, B) as C>::f"), b"<&(A, B) as C>::f");
    }
}
