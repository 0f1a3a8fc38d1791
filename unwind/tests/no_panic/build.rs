//! Makes `roots.rs`: the address of every public function of `unwind`, read from its API listing. `cargo test -p unwind-qemu --test
//! api` fails if the listing is not what is public, so no function can be forgotten here.
//!
//! Left out is what other crates write into the listing: `Debug`, which is derived, which no report uses, and which for some types,
//! `End` for one, does not link without a panic; and the traits of `defmt` and of `bitflags`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

const LISTING: &str = "../../API.txt";

/// What stands for the generic parameters of a walk: registers, memory, tables.
const WALKS: [[&str; 3]; 11] = [
    [
        "unwind::x86_64::Registers",
        "unwind::Stacks<'static, Read>",
        "unwind::sframe::Tables<'static>",
    ],
    [
        "unwind::x86_64::Registers",
        "unwind::Unbounded<Read>",
        "unwind::sframe::Tables<'static>",
    ],
    [
        "unwind::x86_64::Registers",
        "unwind::Undeclared<Read, Ask>",
        "unwind::sframe::Tables<'static>",
    ],
    [
        "unwind::x86_64::Registers",
        "unwind::Stacks<'static, Read>",
        "&'static [unwind::sframe::Tables<'static>]",
    ],
    [
        "unwind::x86_64::Registers",
        "unwind::Stacks<'static, Read>",
        "&'static [&'static dyn unwind::RowSource]",
    ],
    [
        "unwind::aarch64::Registers",
        "unwind::Stacks<'static, Read>",
        "unwind::sframe::Tables<'static>",
    ],
    [
        "unwind::x86_64::Registers",
        "unwind::Stacks<'static, Read>",
        "unwind::CodeReader<'static, unwind::x86_64::Registers, unwind::sframe::Tables<'static>>",
    ],
    [
        "unwind::aarch64::Registers",
        "unwind::Stacks<'static, Read>",
        "unwind::CodeReader<'static, unwind::aarch64::Registers, unwind::sframe::Tables<'static>>",
    ],
    [
        "unwind::x86_64::Registers",
        "unwind::Stacks<'static, Read>",
        "unwind::Cached<'static, unwind::map::Map<'static>, 1024>",
    ],
    [
        "unwind::s390x::Registers",
        "unwind::Stacks<'static, Read>",
        "unwind::sframe::Tables<'static>",
    ],
    [
        "unwind::arm::Registers",
        "unwind::Stacks<'static, Read>",
        "unwind::ehabi::Tables<'static>",
    ],
];

fn main() {
    // The linker keeps what can be reached from the entry.
    println!("cargo:rustc-link-arg-bins=--entry=everything");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={LISTING}");
    let listing = fs::read_to_string(LISTING).expect("the listing is there");
    let out = env::var("OUT_DIR").expect("cargo says where");
    fs::write(
        Path::new(&out).join("roots.rs"),
        source(&functions(&listing)),
    )
    .expect("what was made can be written");
}

/// Paths of all functions of the listing, as expressions.
fn functions(listing: &str) -> BTreeSet<String> {
    let mut implementation = None;
    let mut functions = BTreeSet::new();
    for line in listing.lines() {
        if let Some(rest) = line.strip_prefix("impl") {
            implementation = Some(Implementation::new(rest));
        }
        let function = line
            .strip_prefix("pub const fn ")
            .or_else(|| line.strip_prefix("pub fn "));
        if let Some(function) = function {
            functions.extend(path(function, implementation.as_ref()));
        } else {
            // Such as `pub unsafe fn`, of which nothing is known here.
            assert!(!line.contains(" fn "), "{line}");
        }
    }
    assert!(functions.len() > 100, "the listing looks different now");
    functions
}

/// What a line `impl<..> Trait for Type where ..` says.
struct Implementation<'a> {
    of: Option<&'a str>,
    what: &'a str,
}

impl<'a> Implementation<'a> {
    fn new(line: &'a str) -> Self {
        let (_, rest) = line.split_at(generics(line));
        let rest = rest.split(" where ").next().unwrap_or(rest).trim();
        match rest.split_once(" for ") {
            Some((of, what)) => Self { of: Some(of), what },
            None => Self {
                of: None,
                what: rest,
            },
        }
    }
}

/// The length of `<..>` that a text begins with.
fn generics(text: &str) -> usize {
    let mut depth = 0;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if at == 0 { 0 } else { at + 1 };
        }
        before = character;
    }
    panic!("no end of {text}");
}

/// The expression that is a function; none for those that are left out.
fn path(function: &str, implementation: Option<&Implementation<'_>>) -> Option<String> {
    let implementation = implementation.filter(|implementation| {
        let rest = function.strip_prefix(implementation.what);
        rest.is_some_and(|rest| rest.starts_with("::"))
    });
    let (prefix, rest) = match implementation {
        Some(Implementation { of: Some(of), .. })
            if *of == "core::fmt::Debug"
                || of.starts_with("defmt::")
                || of.starts_with("bitflags::") =>
        {
            return None;
        }
        Some(Implementation { of, what }) => {
            let rest = &function[what.len() + 2..];
            (typed(what, *of), rest)
        }
        // A function of a module, or of a trait: `unwind::module::name`.
        None => {
            let end = function
                .find(['(', '<'])
                .expect("a function has parameters");
            let (module, _) = function[..end].rsplit_once("::").expect("a path");
            let last = module.rsplit("::").next().unwrap_or_default();
            let prefix = match last.starts_with(char::is_uppercase) {
                true => typed("R", Some(module))
                    .replace("<R as unwind::RowSource>", "<S as unwind::RowSource>"),
                false => module.to_owned(),
            };
            (prefix, &function[module.len() + 2..])
        }
    };
    let end = rest.find(['(', '<']).expect("a function has parameters");
    let (name, rest) = rest.split_at(end);
    let (parameters, rest) = rest.split_at(generics(rest));
    // What it takes or returns has no name, so that somebody has to write down how it is used.
    if rest.contains("impl ") {
        return Some(format!("crate::by_hand::{name}"));
    }
    let parameters: Vec<_> = parameters
        .trim_matches(['<', '>'])
        .split(", ")
        .filter_map(|parameter| parameter.split(':').next())
        .filter(|parameter| !parameter.is_empty() && !parameter.starts_with('\''))
        .map(|parameter| match parameter {
            "T" => format!("[{}; 2]", implementation.map_or("", |one| one.what)),
            other => other.to_owned(),
        })
        .collect();
    let parameters = match parameters.is_empty() {
        true => String::new(),
        false => format!("::<{}>", parameters.join(", ")),
    };
    Some(format!("{prefix}::{name}{parameters}"))
}

/// A type, perhaps as one of a trait.
fn typed(what: &str, of: Option<&str>) -> String {
    let what = match what.contains("Stacks<") || what.contains("Unbounded<") {
        true => what.replace(", R>", ", Read>").replace("<R>", "<Read>"),
        false => what.replace("<R, A>", "<Read, Ask>"),
    };
    let text = match of {
        Some(of) => format!("<{what} as {of}>"),
        None => format!("<{what}>"),
    };
    let mut text = text.replace("&S", "&'_ S").replace("ENTRIES", "1024");
    for lifetime in ["'a", "'f", "'t", "'_"] {
        text = text.replace(lifetime, "'static");
    }
    // rustdoc names the module where an item is written, which is private.
    for module in ["iter::traits::iterator", "iter::traits::collect"] {
        text = text.replace(module, "iter");
    }
    for module in ["ops::bit", "ops::arith", "ops::function"] {
        text = text.replace(module, "ops");
    }
    text
}

/// Whether a generic parameter of walks is in a path.
fn is_generic(path: &str) -> bool {
    path.split(|character: char| !character.is_alphanumeric() && character != '_')
        .any(|word| ["R", "M", "S"].contains(&word))
}

fn source(functions: &BTreeSet<String>) -> String {
    let mut text = String::from("type Read = fn(u64) -> Option<u64>;\ntype Ask = fn(u64) -> Option<unwind::Range>;\n");
    let mut list = |name: &str, types: &str, chosen: &mut dyn Iterator<Item = &String>| {
        let _ = writeln!(
            text,
            "fn {name}() {{\n{types}core::hint::black_box::<&[*const ()]>(&["
        );
        for function in chosen {
            let _ = writeln!(text, "    {function} as *const (),");
        }
        let _ = writeln!(text, "]);\n}}");
    };
    list(
        "fixed",
        "",
        &mut functions.iter().filter(|path| !is_generic(path)),
    );
    let mut calls = String::from("    fixed();\n");
    for (index, [registers, memory, tables]) in WALKS.iter().enumerate() {
        let types = format!("type R = {registers};\ntype M = {memory};\ntype S = {tables};\n");
        list(
            &format!("walk_{index}"),
            &types,
            &mut functions.iter().filter(|path| is_generic(path)),
        );
        let _ = writeln!(calls, "    walk_{index}();");
    }
    text + "pub fn all() {\n" + &calls + "}\n"
}
