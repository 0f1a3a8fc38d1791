//! The guide's table of what each kind of kernel costs.

use qemu::build::Profile;

use super::short::{HANDLERS, Kind, SMALLEST, VECTORS};
use super::text::{guide, guide_file};
use super::{bootimage, limine, makefile, raspi, uefi};

/// What each kind costs is about what the guide's table says; with `TABLE=write` that is made. Sizes differ a little from one
/// checkout to the next, because images contain the paths of their sources.
#[long]
fn the_table_of_costs() {
    let debug = Profile::Debug;
    let of = |kind: Kind| (kind.without(debug), kind.with(debug, |_| ()));
    let kinds = [
        (
            "handlers of the convention `x86-interrupt`",
            HANDLERS.lines,
            of(HANDLERS),
        ),
        ("vectors on AArch64", VECTORS.lines, of(VECTORS)),
        (
            "a disk of the crate `bootloader`, unoptimized",
            bootimage::LINES,
            (bootimage::without(), bootimage::with(debug, |_| ())),
        ),
        (
            "UEFI, by the crate `bootloader` 0.11, unoptimized",
            uefi::LINES,
            (uefi::without(), uefi::with(debug, |_| ())),
        ),
        (
            "Limine's protocol, unoptimized",
            limine::LINES,
            (limine::without(), limine::with(debug, |_| ())),
        ),
        (
            "a Makefile with `RUSTFLAGS`, and an ISO",
            makefile::LINES,
            (makefile::without(), makefile::with(|_| ())),
        ),
        (
            "a Raspberry Pi",
            raspi::LINES,
            (raspi::without(), raspi::with(|_| ())),
        ),
        ("the smallest form", SMALLEST.lines, of(SMALLEST)),
    ];
    let kib = |bytes: u64| bytes.div_ceil(1024);
    let rows = kinds.map(|(name, lines, (before, after))| {
        let [sframe, symbols] = [".sframe", ".symbols"].map(|name| kib(after.section(name)));
        let [before, after] = [before, after].map(|said| kib(said.loaded()));
        format!("| {name} | {lines} | {before} | {after} | {sframe} | {symbols} |\n")
    });
    let table = TABLE.to_owned() + &rows.concat();
    let guide = guide();
    let (before, rest) = guide.split_once(TABLE).expect("its table");
    let (_, after) = rest.split_once("\n\n").expect("text behind it");
    let made = format!("{before}{table}\n{after}");
    if std::env::var_os("TABLE").is_some() {
        std::fs::write(guide_file(), &made).expect("the guide can be written");
    } else {
        let shown = before.len() + TABLE.len()..guide.len() - after.len() - 1;
        let shown: Vec<_> = guide[shown].lines().collect();
        let is_same = shown.len() == rows.len() && shown.into_iter().zip(&rows).all(is_about);
        assert!(is_same, "TABLE=write makes this of it:\n{table}");
    }
}

/// Whether two rows of the table have the same name and lines, and sizes that differ by paths only.
fn is_about((shown, made): (&str, &String)) -> bool {
    let cells = |row: &str| row.split(" | ").map(str::to_owned).collect::<Vec<_>>();
    let number = |cell: &str| cell.trim_matches([' ', '|', '\n']).parse::<u64>();
    let (shown, made) = (cells(shown), cells(made));
    let sizes = shown.iter().zip(&made).skip(2);
    shown.len() == made.len()
        && shown[..2] == made[..2]
        && sizes.into_iter().all(|(shown, made)| {
            let [Ok(shown), Ok(made)] = [shown, made].map(|cell| number(cell)) else {
                return false;
            };
            shown.abs_diff(made) <= 2 + made / 50
        })
}

/// The head of that table.
const TABLE: &str = "\
| kernel | changed lines | KiB loaded before | after | of them rows | names and lines |
|---|---|---|---|---|---|
";
