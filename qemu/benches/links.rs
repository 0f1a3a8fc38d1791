//! What tables cost in the link of the guide's kernels: processor time of `sframe-link`, as a ratio to the linker alone, and for lines
//! to the linker and one pass of gimli over all line programs. Cargo builds each kernel with the changes of the guide, and with this
//! program as its linker, which links the same again and again.
//!
//! ```sh
//! cargo bench -p unwind-qemu --bench links --profile dev
//! ```

use std::env::{args_os, current_exe, var_os};
use std::ffi::OsString;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode};

use addr2line::gimli::{Dwarf, DwarfSections, EndianSlice, RunTimeEndian};
use object::{Object, ObjectSection};
use qemu::build::Profile;
use qemu::{template, workspace};
use support::built::target;
use support::outside::Outside;

#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "a part of them is used"
)]
#[path = "../tests/support/mod.rs"]
mod support;

/// Of the environment: where this program, as a linker, writes its times; and the optimized `sframe-link`.
const TIMES: &str = "LINKS_TIMES";
const WRAPPER: &str = "LINKS_WRAPPER";
/// How often each link is done.
const ROUNDS: u32 = 20;
/// What `.symbols` holds, and what such a link may cost: as a multiple of the linker alone, or of that and a pass over the lines.
const LEVELS: [(&str, f64, bool); 3] = [
    ("none", 1.35, false),
    ("names", 1.7, false),
    ("calls", 1.2, true),
];

/// A kernel, its name among the kernels of the guide, what it is built for, and its page of the guide.
type Kind = (&'static str, &'static str, &'static str, &'static str);

const KINDS: [Kind; 3] = [
    (
        "handlers of the convention `x86-interrupt`",
        "handlers",
        "x86_64-unknown-none",
        "multiboot.md",
    ),
    (
        "vectors on AArch64",
        "vectors",
        "aarch64-unknown-none-softfloat",
        "aarch64.md",
    ),
    (
        "UEFI, by the crate `bootloader` 0.11",
        "uefi",
        "x86_64-unknown-none",
        "bootloader-0.11.md",
    ),
];

fn main() -> ExitCode {
    match var_os(TIMES) {
        Some(times) => link(Path::new(&times)),
        None => {
            measure();
            ExitCode::SUCCESS
        }
    }
}

fn measure() {
    let wrapper = wrapper();
    println!(
        "| kernel | the linker alone, ms | a pass over the lines | `none`, goal 1.35 | `names`, goal 1.7 | `calls`, goal 1.2 |"
    );
    println!("|---|---|---|---|---|---|");
    for (kind, name, triple, page) in KINDS {
        for profile in [Profile::Debug, Profile::Release] {
            let times = times(name, triple, page, profile, &wrapper);
            let [plain, lines, ref links @ ..] = times[..] else {
                panic!("two times, and those of links: {times:?}");
            };
            print!("| {kind}, {profile:?} | {plain:.0} | {lines:.1} |");
            for (link, (_, goal, has_lines)) in links.chunks_exact(2).zip(LEVELS) {
                let peer = if has_lines { plain + lines } else { plain };
                let is_met = |time: f64| {
                    if time <= goal * peer {
                        "met"
                    } else {
                        "not met"
                    }
                };
                let [first, again] = [link[0], link[1]].map(|time| time / peer);
                let met = is_met(link[0]);
                print!(
                    " {:.0}, {:.0} ms: {first:.2}, {again:.2}: {met} |",
                    link[0], link[1]
                );
            }
            println!();
        }
    }
}

/// `sframe-link` as it is installed.
fn wrapper() -> OsString {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--bin", "sframe-link"])
        .arg("--target-dir")
        .arg(target())
        .current_dir(workspace::root())
        .status();
    assert!(status.expect("cargo starts").success(), "it is built");
    target().join("release/sframe-link").into()
}

/// Builds a kernel, and returns how long its links take, in milliseconds.
fn times(name: &str, triple: &str, page: &str, profile: Profile, wrapper: &OsString) -> Vec<f64> {
    let kernel = Outside::of(|folder| template::write(name, folder).expect("the guide has it"));
    let page = workspace::root().join("docs/guide").join(page);
    let page = fs::read_to_string(page).expect("a page of the guide");
    template::apply(&page, kernel.folder()).expect("each change fits its file");
    kernel.name_repository("Cargo.toml");

    let times = kernel.folder().join("times");
    let own = current_exe().expect("this program has a path");
    let linker = format!("target.{triple}.linker='{}'", own.display());
    let status = kernel
        .command("guide", profile)
        .args(["--config", &linker])
        .env(TIMES, &times)
        .env(WRAPPER, wrapper)
        .status();
    assert!(status.expect("cargo starts").success(), "it is built");
    let times = fs::read_to_string(times).expect("this program has linked it");
    let times = times.lines().map(|line| line.parse().expect("a time"));
    times.collect()
}

/// Links as rustc asks for it: by the linker alone, by `sframe-link` for the first time, and where the last image is.
fn link(times: &Path) -> ExitCode {
    let arguments: Vec<OsString> = args_os().skip(1).collect();
    let of_wrapper = |word: &&OsString| {
        let word = word.to_string_lossy();
        word.starts_with("--sframe") || word.starts_with("--symbols")
    };
    let plain: Vec<_> = arguments.iter().filter(|word| !of_wrapper(word)).collect();
    let output = arguments.iter().skip_while(|word| *word != "-o").nth(1);
    let output = output.expect("the link has an output");
    let wrapper = var_os(WRAPPER).expect("it is named");

    let mut alone = Command::new("rust-lld");
    alone.args(plain);
    let mut measured = vec![mean(&mut alone, || ())];
    let image = fs::read(output).expect("the image is there");
    let start = own();
    for _ in 0..ROUNDS {
        black_box(rows(&image));
    }
    measured.push(mean_of(own() - start));
    let forget = || fs::remove_file(output).expect("the image can be removed");
    for (level, ..) in LEVELS {
        let mut with = Command::new(&wrapper);
        with.args(&arguments).arg(format!("--symbols={level}"));
        measured.push(mean(&mut with, forget));
        measured.push(mean(&mut with, || ()));
    }
    let text: String = measured.iter().map(|time| format!("{time}\n")).collect();
    fs::write(times, text).expect("the times can be written");
    ExitCode::SUCCESS
}

/// All rows of all line programs, read once by gimli: what whoever knows lines has to do at least.
fn rows(image: &[u8]) -> usize {
    let file = object::File::parse(image).expect("an image");
    let sections = DwarfSections::load(|id| {
        let section = file.section_by_name(id.name());
        section.map_or(Ok(&[][..]), |section| section.data())
    });
    let sections = sections.expect("the image has its sections");
    let dwarf: Dwarf<_> = sections.borrow(|data| EndianSlice::new(data, RunTimeEndian::Little));
    let (mut units, mut count) = (dwarf.units(), 0);
    while let Some(header) = units.next().expect("a unit") {
        let unit = dwarf.unit(header).expect("a unit");
        let Some(program) = unit.line_program else {
            continue;
        };
        let mut rows = program.rows();
        while rows.next_row().expect("a row").is_some() {
            count += 1;
        }
    }
    count
}

/// The mean of the processor times of a command, after `before` each time, in milliseconds.
fn mean(command: &mut Command, before: impl Fn()) -> f64 {
    let start = of_children();
    for _ in 0..ROUNDS {
        before();
        let status = command.status().expect("the linker starts");
        assert!(status.success(), "{command:?}");
    }
    mean_of(of_children() - start)
}

/// The milliseconds of one round. Linux counts in hundredths of seconds.
fn mean_of(ticks: u32) -> f64 {
    f64::from(ticks) * 10.0 / f64::from(ROUNDS)
}

/// The processor time of all children that have ended, in ticks: `cutime` and `cstime`, fields 16 and 17 of all.
fn of_children() -> u32 {
    ticks(16)
}

/// The processor time of this program, in ticks: `utime` and `stime`, fields 14 and 15.
fn own() -> u32 {
    ticks(14)
}

/// The sum of two fields of `/proc/self/stat`.
fn ticks(first: usize) -> u32 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux has it");
    // Behind the name, which is in parentheses, field 3 comes first.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let fields = fields.split_whitespace().skip(first - 3).take(2);
    fields
        .map(|field| field.parse::<u32>().expect("a number"))
        .sum()
}
