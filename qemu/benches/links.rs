//! What tables cost in the link of the guide's kernels: processor time of `sframe-link`, as a ratio to the linker alone. Cargo builds
//! each kernel with the changes of the guide, and with this program as its linker, which links the same again and again.
//!
//! ```sh
//! cargo bench -p qemu --bench links --profile dev
//! ```

use std::env::{args_os, current_exe, var_os};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use qemu::build::Profile;
use qemu::workspace;
use steps::apply;
use support::built::target;
use support::outside::Outside;

#[path = "../tests/guide/steps.rs"]
mod steps;
#[path = "../tests/support/mod.rs"]
mod support;

/// Of the environment: where this program, as a linker, writes its times; and the optimized `sframe-link`.
const TIMES: &str = "LINKS_TIMES";
const WRAPPER: &str = "LINKS_WRAPPER";
/// How often each link is done.
const ROUNDS: u32 = 20;

/// A kernel, its folders, what it is built for, and the heading of its part of the guide.
type Kind = (
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static str,
);

const KINDS: [Kind; 3] = [
    (
        "handlers of the convention `x86-interrupt`",
        &["kernel", "handlers"],
        "x86_64-unknown-none",
        "\n## Handlers of the convention `x86-interrupt`\n",
    ),
    (
        "vectors on AArch64",
        &["aarch64", "vectors"],
        "aarch64-unknown-none-softfloat",
        "\n## Vectors on AArch64\n",
    ),
    (
        "UEFI, by the crate `bootloader` 0.11",
        &["bootimage", "uefi"],
        "x86_64-unknown-none",
        "\n## UEFI, by the crate `bootloader` 0.11\n",
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
    println!("| kernel | the linker alone, ms | with tables | with the last image |");
    println!("|---|---|---|---|");
    for (name, folders, triple, heading) in KINDS {
        for profile in [Profile::Debug, Profile::Release] {
            let times = times(folders, triple, heading, profile, &wrapper);
            let [plain, first, again] = times[..] else {
                panic!("three times: {times:?}");
            };
            let [first, again] =
                [first, again].map(|time| format!("{time:.0}, {:.1} times", time / plain));
            println!("| {name}, {profile:?} | {plain:.0} | {first} | {again} |");
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
fn times(
    folders: &[&str],
    triple: &str,
    heading: &str,
    profile: Profile,
    wrapper: &OsString,
) -> Vec<f64> {
    let [base, rest @ ..] = folders else {
        panic!("a kernel has a folder");
    };
    let kinds = "qemu/tests/guide";
    let kernel = Outside::copy(&format!("{kinds}/{base}"));
    for folder in rest {
        kernel.add(&format!("{kinds}/{folder}"));
    }
    let shop = workspace::root().join(kinds).join("kernel/src/shop.rs");
    fs::copy(shop, kernel.folder().join("src/shop.rs")).expect("a file can be copied");
    let guide = workspace::root().join("linker/GUIDE.md");
    let guide = fs::read_to_string(guide).expect("the guide is there");
    let (_, part) = guide.split_once(heading).expect("its heading");
    apply(part.split("\n#").next().unwrap_or(part), kernel.folder());
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
    let mut with = Command::new(wrapper);
    with.args(&arguments);
    let forget = || fs::remove_file(output).expect("the image can be removed");
    let text: String = [
        mean(&mut alone, || ()),
        mean(&mut with, forget),
        mean(&mut with, || ()),
    ]
    .map(|time| format!("{time}\n"))
    .concat();
    fs::write(times, text).expect("the times can be written");
    ExitCode::SUCCESS
}

/// The mean of the processor times of a command, after `before` each time, in milliseconds.
fn mean(command: &mut Command, before: impl Fn()) -> f64 {
    let start = of_children();
    for _ in 0..ROUNDS {
        before();
        let status = command.status().expect("the linker starts");
        assert!(status.success(), "{command:?}");
    }
    // Linux counts in hundredths of seconds.
    f64::from(of_children() - start) * 10.0 / f64::from(ROUNDS)
}

/// The processor time of all children that have ended, in ticks.
fn of_children() -> u32 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux has it");
    // Behind the name, which is in parentheses: `cutime` and `cstime` are fields 16 and 17 of all.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let fields = fields.split_whitespace().skip(13).take(2);
    fields
        .map(|field| field.parse::<u32>().expect("a number"))
        .sum()
}
