//! The guide is true: its steps, taken out of its text and made to a kernel that knows nothing of unwinding, give the
//! report that it shows.

mod armv7a;
mod bootimage;
pub mod builds;
mod costs;
mod cpus;
mod higher;
mod kinds;
mod limine;
mod makefile;
mod modules;
mod moved;
mod parts;
mod raspi;
mod readers;
mod release;
mod reports;
mod said;
mod screen;
mod settings;
pub mod short;
mod small_stacks;
mod smallest;
pub mod steps;
mod storm;
pub mod text;
mod uefi;

use crate::screen::machine;
use builds::{PLACE, Sources};
use kinds::expect_shown;
use qemu::build::Profile;
use short::{HANDLERS, VECTORS};
use text::{CHOICE, pages, part, shown, without_numbers};

/// The page for kernels that write their report themselves.
const OWN_REPORT: &str = "own-report.md";

/// The setting by which cargo boots the image, with the runner as it lies here.
fn runner(guide: &str) -> String {
    let (_, setting) = guide.split_once("\nrunner = ").expect("the guide has it");
    let setting = setting.lines().next().unwrap_or_default();
    let runner = crate::support::runner::command();
    let runner = runner.get_program().to_str().expect("a path in UTF-8");
    let setting = setting.replace("unwind-qemu", runner);
    format!("target.x86_64-unknown-none.runner={setting}")
}

#[gate]
fn the_guide_leads_to_the_report_it_shows() {
    let page = part(OWN_REPORT);
    let kernel = Sources::of("kernel");
    let folder = kernel.folder();
    let lines = steps::apply(&page, folder);
    println!("{lines} lines added");
    kernel.name_repository("Cargo.toml");
    kernel.name_repository("src/backtrace.rs");

    // Booted and judged by the settings of the guide.
    let runner = runner(&part(CHOICE));
    let output = kernel
        .cargo("run", PLACE, Profile::Debug)
        .args(["--config", &runner])
        .output()
        .expect("cargo starts");
    assert_eq!(output.status.code(), Some(101), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let report = &text[text.find("exception ").expect("an exception")..];
    assert_eq!(without_numbers(report).trim_end(), shown(&page).trim_end());
}

#[gate]
fn every_kernel_that_the_guide_links_to_can_be_written() {
    let pages = std::fs::read_dir(pages()).expect("a folder");
    let pages = pages.map(|page| page.expect("a page").path());
    let guide: String = pages
        .map(|page| std::fs::read_to_string(page).expect("a page"))
        .collect();
    let links = guide.split("](../../qemu/tests/guide/").skip(1);
    let links = links.filter_map(|rest| rest.split(')').next());
    let known = parts::KERNELS.map(|(name, _)| name);
    let unknown: Vec<_> = links.filter(|link| !known.contains(link)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(guide.contains("](../../qemu/tests/guide/limine)"));
    for name in known {
        let folder = tempfile::tempdir().expect("a folder can be made");
        parts::write(name, folder.path());
        for file in ["Cargo.toml", "src/main.rs"] {
            assert!(folder.path().join(file).is_file(), "{name}: no {file}");
        }
    }
}

#[gate]
fn the_guide_shows_what_one_call_writes() {
    for (kind, own, begin) in [
        (HANDLERS, "page fault at ", "page fault\nx86_64"),
        (VECTORS, "exception, ", "exception\naarch64"),
    ] {
        let before = kind.says_without();
        let is_bare = before.contains(own) && !before.contains("backtrace");
        assert!(is_bare, "{before}");
        let text = kind.with(Profile::Debug, |_| ()).text;
        expect_shown(&text, begin, kind.page);
    }
}
