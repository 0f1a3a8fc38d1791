//! Kernels that leave out the readers of formats that their image does not have.

use qemu::build::Profile;

use super::said::Said;
use super::short::{HANDLERS, SMALLEST, replace};
use super::steps;
use super::text::part;

/// Its place in the guide.
const PLACE: &str = "smaller.md#Less to carry";
/// As that part has them: features, and what else is said to the link.
const DEFAULT: &str = "default-features = false, features = [\"map\", \"report-stack\"]";
const FLAGS: &str = "    \"-Clink-arg=--sframe-load=map\",\n    \"-Clink-arg=--symbols=none\",\n";

/// The kernel with handlers, with these features and flags.
fn with(features: &str, flags: &str) -> Said {
    HANDLERS.with(Profile::Release, |folder| {
        let part = part(PLACE);
        // The step names the repository, as the one before it did.
        let root = qemu::workspace::root();
        let part = part.replace("SFRAME", root.to_str().expect("a path of text"));
        steps::apply(&part, folder);
        let features =
            format!("default-features = false, features = [{features}, \"report-stack\"]");
        replace(&folder.join("Cargo.toml"), DEFAULT, &features);
        let flags: String = flags
            .split_whitespace()
            .map(|flag| format!("    \"-Clink-arg={flag}\",\n"))
            .collect();
        replace(&folder.join(".cargo/config.toml"), FLAGS, &flags);
    })
}

/// A row of the guide's table: features as a list of TOML, flags, KiB.
fn row(line: &str) -> Option<(String, &str, u64)> {
    let [features, flags, kib] = line
        .strip_prefix("| `")?
        .strip_suffix(" |")?
        .split('|')
        .collect::<Vec<_>>()
        .try_into()
        .ok()?;
    let features = features.split(':').next()?.replace('`', "\"");
    let kib = kib.trim().parse().expect("a number");
    Some((
        format!("\"{}", features.trim()),
        flags.trim().trim_matches('`'),
        kib,
    ))
}

/// Each row of the guide's table, within 2 KiB: paths of the sources are part of an image.
#[long]
fn readers_that_are_left_out_are_gone() {
    let before = HANDLERS.without(Profile::Release).loaded();
    let part = part(PLACE);
    let rows: Vec<_> = part.lines().filter_map(row).collect();
    assert_eq!(rows.len(), 5);
    let mut differ = Vec::new();
    for (features, flags, shown) in rows {
        let said = with(&features, flags);
        let kib = (said.loaded() - before).div_ceil(1024);
        if kib.abs_diff(shown) > 2 {
            differ.push(format!("{features} {flags}: {kib} KiB"));
        }
        for (feature, code) in [
            ("sframe", "8find_row"),
            ("map", "10address_of"),
            ("symbols", "7symbols6record"),
        ] {
            let is_there = said.symbols().iter().any(|name| name.contains(code));
            assert_eq!(is_there, features.contains(feature), "{features}: {code}");
        }
        let text = &said.text;
        assert!(text.contains("tables and code verified\n"), "{text}");
        assert!(text.contains("end of backtrace: complete, "), "{text}");
        let decoded = said.decode(text);
        for name in ["page_fault", "sell", "main", "long_mode"] {
            assert!(decoded.contains(name), "{name}: {decoded}");
        }
        let is_named = text.contains("sell");
        assert_eq!(is_named, features.contains("symbols"), "{text}");
    }
    assert!(differ.is_empty(), "{differ:#?}");
    let smallest = SMALLEST.with(Profile::Release, |_| ()).loaded();
    println!("the smallest form: {} bytes", smallest - before);
}

#[long]
fn a_report_says_that_the_reader_is_left_out() {
    for (features, flags) in [
        ("\"map\", \"symbols\"", ""),
        ("\"sframe\", \"symbols\"", "--sframe-load=map"),
    ] {
        let text = with(features, flags).text;
        assert!(
            text.contains("crate unwind was compiled without the feature (sframe or map) for the format of the unwind table"),
            "{text}"
        );
        assert!(!text.contains(" verified"), "{text}");
    }
}
