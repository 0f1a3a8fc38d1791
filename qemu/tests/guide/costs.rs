//! The guide's table of what each kind of kernel costs.

use qemu::build::Profile;

use super::bootimage::BOOTIMAGE;
use super::limine::LIMINE;
use super::makefile::MAKEFILE;
use super::raspi::RASPI;
use super::short::{HANDLERS, SMALLEST, VECTORS};
use super::text::{CHOICE, file, part};
use super::uefi::UEFI;

/// What each kind costs is about what the guide's table says; with `TABLE=write` that is made. Sizes differ a little from one
/// checkout to the next, because images contain the paths of their sources.
#[long]
fn the_table_of_costs() {
    let kinds = [
        (
            "[`bootloader` 0.9](bootloader-0.9.md), unoptimized",
            BOOTIMAGE,
        ),
        ("[`bootloader` 0.11](bootloader-0.11.md), unoptimized", UEFI),
        ("[Limine's protocol](limine.md), unoptimized", LIMINE),
        ("[Multiboot](multiboot.md)", HANDLERS),
        ("[a Makefile with `RUSTFLAGS`](makefile.md)", MAKEFILE),
        ("[AArch64](aarch64.md)", VECTORS),
        ("[a Raspberry Pi](raspberry-pi.md)", RASPI),
        ("[the smallest form](smallest.md)", SMALLEST),
    ];
    let kib = |bytes: u64| bytes.div_ceil(1024);
    let rows = kinds.map(|(name, kind)| {
        let before = kind.without(Profile::Debug);
        let after = kind.with(Profile::Debug, |_| ());
        let [sframe, symbols] = [".sframe", ".symbols"].map(|name| kib(after.section(name)));
        let [before, after] = [before, after].map(|said| kib(said.loaded()));
        format!(
            "| {name} | {} | {before} | {after} | {sframe} | {symbols} |\n",
            kind.lines
        )
    });
    let table = TABLE.to_owned() + &rows.concat();
    let guide = part(CHOICE);
    let (before, rest) = guide.split_once(TABLE).expect("its table");
    let (_, after) = rest.split_once("\n\n").expect("text behind it");
    let made = format!("{before}{table}\n{after}");
    if std::env::var_os("TABLE").is_some() {
        std::fs::write(file(CHOICE), &made).expect("the guide can be written");
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
