//! Short names: a demangled Rust name without generic arguments.
//!
//! Type arguments make names too long to read on a serial line, as in
//! `<alloc::collections::btree::map::BTreeMap as core::ops::drop::Drop>::drop`; and names that differ only in them are stored
//! once.

/// Leaves the generic arguments out of a demangled name: `foo::<u32>` becomes `foo`, `Vec<T>` becomes `Vec`.
///
/// It keeps what tells functions apart: the self type and trait of `<kernel::Shape as kernel::Area>::area`, `{closure#0}`.
/// It removes the brackets of an inherent implementation: `<kernel::Shape>::new` becomes `kernel::Shape::new`. A name that it
/// cannot parse is returned unchanged.
#[must_use]
pub fn short(name: &str) -> String {
    shorten(name.as_bytes())
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map_or_else(|| name.to_owned(), plain_self_type)
}

/// The name without generic arguments; `None` when its brackets do not match.
fn shorten(name: &[u8]) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = Vec::with_capacity(name.len());
    // Open brackets of self types, which are kept.
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(&byte) = name.get(at) {
        match byte {
            b'<' if is_arguments(&out, &name[at..]) => {
                at = after_arguments(name, at)?;
                if out.ends_with(b"::") {
                    out.truncate(out.len() - 2);
                } else if ends_with_word(&out, b"for") {
                    // `for<'a> fn(..)`: the word is removed with its arguments.
                    out.truncate(out.len() - 3);
                    at += usize::from(name.get(at) == Some(&b' '));
                }
                continue;
            }
            b'<' => open += 1,
            b'>' if !out.ends_with(b"-") => open = open.checked_sub(1)?,
            _ => {}
        }
        out.push(byte);
        at += 1;
    }
    (open == 0).then_some(out)
}

/// Whether a `<` starts generic arguments, and not a self type. Arguments follow a path (`Vec<T>`) or `::` (`foo::<T>`);
/// the legacy mangling has `::<impl Trait for Type>::`, which tells functions apart like a self type does.
fn is_arguments(before: &[u8], rest: &[u8]) -> bool {
    let after_path = before.last().is_some_and(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'}') || !byte.is_ascii()
    });
    let turbofish = before.ends_with(b"::") && !rest.starts_with(b"<impl ");
    after_path || turbofish
}

fn ends_with_word(text: &[u8], word: &[u8]) -> bool {
    text.strip_suffix(word).is_some_and(|before| {
        !before
            .last()
            .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b':')
    })
}

/// The position after the arguments that start at `at`.
fn after_arguments(name: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match *name.get(at)? {
            b'<' => depth += 1,
            b'>' if name[..at].ends_with(b"-") => {}
            b'>' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            // Constants: `'<'` and `"a<b"` are values, `'a` is a lifetime.
            b'\'' => at = after_character(name, at),
            b'"' => at = after_string(name, at)?,
            _ => {}
        }
        at += 1;
    }
}

/// The last byte of the character literal at `at`, or `at` when it is a lifetime.
fn after_character(name: &[u8], at: usize) -> usize {
    let rest = &name[at + 1..];
    let content = match std::str::from_utf8(rest)
        .ok()
        .and_then(|text| text.chars().next())
    {
        Some('\\') => rest
            .iter()
            .skip(2)
            .position(|&byte| byte == b'\'')
            .map(|end| end + 2),
        Some(character) => Some(character.len_utf8()),
        None => None,
    };
    match content {
        Some(length) if rest.get(length) == Some(&b'\'') => at + 1 + length,
        _ => at,
    }
}

/// The closing quote of the string at `at`.
fn after_string(name: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match *name.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// `<path::Type>::function` without the brackets.
fn plain_self_type(name: String) -> String {
    let inner = name
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
        .filter(|(path, rest)| {
            rest.starts_with("::")
                && path
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '{' | '}' | '#'))
        });
    match inner {
        // The brackets of primitive types stay: `<str>::len`, `<u8>::..`.
        Some((path, rest)) if path.contains("::") => format!("{path}{rest}"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn generic_arguments_go() {
        for (full, expected) in [
            (
                "kernel::scenario::panic::third",
                "kernel::scenario::panic::third",
            ),
            ("foo::<u32>", "foo"),
            (
                "kernel::map::<alloc::vec::Vec<u8>, fn(u32) -> u8>::{closure#0}",
                "kernel::map::{closure#0}",
            ),
            (
                "<kernel::Shape as kernel::Area>::area",
                "<kernel::Shape as kernel::Area>::area",
            ),
            (
                "<alloc::vec::Vec<T> as core::ops::Drop<U>>::drop",
                "<alloc::vec::Vec as core::ops::Drop>::drop",
            ),
            (
                "<[T] as core::fmt::Debug>::fmt",
                "<[T] as core::fmt::Debug>::fmt",
            ),
            (
                "<&mut core::cell::Ref<'_, T> as X>::f",
                "<&mut core::cell::Ref as X>::f",
            ),
            ("<(a::A<B>, c::C) as X>::f", "<(a::A, c::C) as X>::f"),
            (
                "<fn(u32) -> u8 as core::ops::FnOnce<(u32,)>>::call_once",
                "<fn(u32) -> u8 as core::ops::FnOnce>::call_once",
            ),
            (
                "<<a::A<T> as b::B>::C as d::D>::e::<F>",
                "<<a::A as b::B>::C as d::D>::e",
            ),
            (
                "<dyn for<'a> core::ops::Fn(&'a u8) as X>::f",
                "<dyn core::ops::Fn(&'a u8) as X>::f",
            ),
            (
                "core::fmt::num::<impl core::fmt::Display for u32>::fmt",
                "core::fmt::num::<impl core::fmt::Display for u32>::fmt",
            ),
            (
                "core::ptr::drop_in_place<alloc::string::String>",
                "core::ptr::drop_in_place",
            ),
            (
                "core::ptr::drop_in_place::<alloc::string::String>",
                "core::ptr::drop_in_place",
            ),
            ("kernel::{closure#0}::<T>", "kernel::{closure#0}"),
            ("kernel::f::{{closure}}", "kernel::f::{{closure}}"),
        ] {
            assert_eq!(short(full), expected, "{full}");
        }
    }

    #[test]
    fn constants_in_arguments_are_not_brackets() {
        assert_eq!(short("a::f::<'<'>::g"), "a::f::g");
        assert_eq!(short("a::f::<'\\''>::g"), "a::f::g");
        assert_eq!(short("a::f::<'\\u{3c}'>::g"), "a::f::g");
        assert_eq!(short("a::f::<'ä', 'b>::g"), "a::f::g");
        assert_eq!(short("a::f::<\"x<\\\"y\">::g"), "a::f::g");
    }

    #[test]
    fn inherent_self_types_lose_their_brackets() {
        assert_eq!(short("<kernel::Shape>::new"), "kernel::Shape::new");
        assert_eq!(
            short("<kernel::Stack<u8>>::push::<T>"),
            "kernel::Stack::push"
        );
        assert_eq!(short("<str>::len"), "<str>::len");
        assert_eq!(short("<[u8]>::len"), "<[u8]>::len");
    }

    #[test]
    fn what_is_not_understood_stays() {
        for name in ["a<b", "a>b", "<a as b::f", "operator<", "a::f::<\"x>"] {
            assert_eq!(short(name), name);
        }
    }
}
