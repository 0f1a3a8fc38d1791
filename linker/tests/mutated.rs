//! Damaged ELF files, damaged debug information and damaged call frame information, by chance that is the same in every run: no
//! panic, and always an end. `MUTATIONS=100000 cargo test --release -p sframe-link mutated::` tries more than `cargo test`.

#[path = "../../unwind/tests/damage/random.rs"]
mod random;

use std::fs;
use std::ops::Range;

use crate::common::{folder, program, say};
use linker::image::Image;
use linker::inspect::{self, Subject};
use linker::link::Options;
use object::{Object, ObjectSection};
use random::{Random, mutate, on_seeds};
use unwind::sframe::StartRule;

/// The parts of a file that are damaged, each as often as the others: its sections, and all of it with its headers.
fn parts(data: &[u8]) -> Vec<Range<usize>> {
    let file = object::File::parse(data).unwrap();
    let sections = file.sections().filter_map(|section| section.file_range());
    let range = |(start, size): (u64, u64)| start as usize..(start + size) as usize;
    let headers = data.len() - data.len().min(64 * 40)..data.len();
    let mut parts: Vec<_> = sections
        .map(range)
        .filter(|part| !part.is_empty())
        .collect();
    parts.extend([0..data.len().min(1024), headers, 0..data.len()]);
    parts
}

/// Damages one or two parts.
fn damaged(data: &[u8], parts: &[Range<usize>], random: &mut Random) -> Vec<u8> {
    let mut all = data.to_vec();
    for _ in 0..=random.below(2) {
        let part = parts[random.below(parts.len())].clone();
        let mut bytes = all.get(part.clone()).unwrap_or_default().to_vec();
        mutate(&mut bytes, random);
        if part == (0..data.len()) {
            all = bytes;
        } else if let Some(place) = all.get_mut(part.start..part.start + bytes.len()) {
            place.copy_from_slice(&bytes);
        }
    }
    all
}

/// So many of the damaged copies, or as many as the environment says.
fn try_all(name: &str, data: &[u8], count: u64, each: impl Fn(&[u8], &mut Random) + Sync) {
    let count = std::env::var("MUTATIONS").map_or(count, |count| count.parse().unwrap());
    let parts = parts(data);
    on_seeds(count, |seed| {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let damaged = damaged(data, &parts, &mut random);
        each(&damaged, &mut random);
    });
    say(format_args!(
        "{name}: {count} damaged files of {} parts",
        parts.len()
    ));
}

#[test]
fn images() {
    let folder = folder("mutated_images");
    program(&folder, &[]);
    let data = fs::read(folder.join("image")).unwrap();
    try_all("images", &data, 60, |data, random| {
        if let Ok(image) = Image::parse(data) {
            let _ = linker::cfi::Frames::of(&image);
            let _ = linker::cfi::landing::landing_pads(&image);
            let _ = linker::symbols::Symbols::of(&image.file);
        }
        let _ = linker::make::make(data, &Options::default());
        let _ = inspect::check(data, StartRule::FromFlags, None);
        if let Ok(subject) = Subject::parse(data) {
            let mut out = Vec::new();
            inspect::dump(&subject, &mut out).unwrap();
            inspect::json(&subject, &mut out).unwrap();
            let address = 0xffff_ffff_8010_0000 + random.below(0x1000) as u64;
            inspect::lookup(&subject, address, &mut out).unwrap();
            let _ = inspect::stats(data, &subject, &mut out);
        }
    });
}

#[test]
fn object_files() {
    let folder = folder("mutated_objects");
    crate::common::sources(&folder);
    crate::common::compile(&folder, &["--emit=obj", "-Cdebuginfo=2"]);
    let data = fs::read(folder.join("image")).unwrap();
    try_all("object files", &data, 1000, |data, _| {
        if let Ok(laid_out) = linker::relocatable::lay_out(data) {
            let _ = inspect::check(&laid_out.data, laid_out.starts, None);
        }
    });
}
