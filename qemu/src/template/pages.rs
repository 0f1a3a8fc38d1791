//! The pages of the guide whose changes `new` makes. The program contains them, so that it writes kernels without a checkout.

use anyhow::{Context, Result};

/// Makes a list of pages, each with its text.
macro_rules! pages {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../../guide/", $name)))),*] };
}

/// The name of each page, and its text.
static PAGES: &[(&str, &str)] = pages! {
    "aarch64.md"
    "armv7a.md"
    "limine.md"
    "multiboot.md"
    "other-cpus.md"
    "raspberry-pi.md"
};

/// Returns a page of the guide, such as `limine.md`, or a section of it, such as `other-cpus.md#AArch64`.
pub(super) fn part(place: &str) -> Result<&'static str> {
    let (name, heading) = match place.split_once('#') {
        Some((name, heading)) => (name, Some(heading)),
        None => (place, None),
    };
    let page = PAGES.iter().find(|(page, _)| *page == name);
    let (_, page) = page.with_context(|| format!("the guide has no page {name}"))?;
    match heading {
        Some(heading) => section(page, heading)
            .with_context(|| format!("page {name} of the guide has no section {heading}")),
        None => Ok(page),
    }
}

/// Returns the section of a page with this heading of the second level.
#[must_use]
pub fn section<'p>(page: &'p str, heading: &str) -> Option<&'p str> {
    let (_, section) = page.split_once(&format!("\n## {heading}\n"))?;
    section.split("\n## ").next()
}
