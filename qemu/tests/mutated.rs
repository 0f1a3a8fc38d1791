//! Damaged logs, and logs decoded by damaged images, by chance that is the same in every run: no panic, always an end, and the same
//! in whatever pieces a log comes. `MUTATIONS=100000 cargo test --test static_checks mutated::` tries more than `cargo test`.

#[path = "../../unwind/tests/damage/random.rs"]
mod random;

use std::cell::OnceCell;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::boots::boot_image;
use crate::support::built::{image, kernel};
use crate::support::report::Report;
use object::{Object, ObjectSection};
use qemu::decode::{Decoder, Style, Symbolizer};
use random::{Random, mutate, on_seeds};

/// As many cases as the environment says, or so many.
fn count(usual: u64) -> u64 {
    std::env::var("MUTATIONS").map_or(usual, |count| count.parse().expect("a number"))
}

fn random(seed: u64) -> Random {
    Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
}

/// What a kernel writes: bytes of the serial line.
fn serial(image: &Path, words: &str) -> Vec<u8> {
    boot_image(image, words).expect(101).serial
}

/// A log, decoded in pieces of so many bytes.
fn decoded(symbolizer: &Symbolizer, log: &[u8], piece: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let mut decoder = Decoder::new(symbolizer, Style::plain(), &mut text).any_build(true);
    for piece in log.chunks(piece) {
        decoder.add(piece).expect("a Vec takes everything");
    }
    decoder.finish().expect("a Vec takes everything");
    text
}

thread_local! {
    /// Each thread has one of its own.
    static SYMBOLIZER: OnceCell<Symbolizer> = const { OnceCell::new() };
}

#[test]
fn logs() {
    let image = image(kernel("x86_64_release"));
    let logs = [
        serial(&image, "exception-in-handler"),
        serial(&image, "exception-in-handler defmt"),
    ];
    on_seeds(count(1000), |seed| {
        let mut random = random(seed);
        let mut log = logs[seed as usize % logs.len()].clone();
        for _ in 0..=random.below(8) {
            // Anywhere, not mostly at the beginning.
            let at = random.below(log.len());
            let mut rest = log.split_off(at);
            mutate(&mut rest, &mut random);
            log.append(&mut rest);
        }
        SYMBOLIZER.with(|symbolizer| {
            let symbolizer =
                symbolizer.get_or_init(|| Symbolizer::open(&image).expect("the image can be read"));
            let whole = decoded(symbolizer, &log, log.len().max(1));
            let pieces = decoded(symbolizer, &log, 1 + random.below(64));
            assert!(whole == pieces, "pieces make a difference");
        });
    });
}

#[test]
fn images() {
    let path = image(kernel("x86_64_release"));
    let log = serial(&path, "panic");
    let report = Report::find(&log);
    assert!(!report.frames.is_empty());
    let data = fs::read(&path).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    let mut parts: Vec<_> = file
        .sections()
        .filter_map(|section| section.file_range())
        .map(|(start, size)| start as usize..(start + size) as usize)
        .filter(|part| !part.is_empty())
        .collect();
    parts.extend([0..1024, data.len() - 4096..data.len()]);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (tried, opened) = (count(30), AtomicU64::new(0));
    on_seeds(tried, |seed| {
        let mut random = random(seed);
        let mut damaged = data.clone();
        for _ in 0..=random.below(3) {
            let part = parts[random.below(parts.len())].clone();
            let mut bytes = damaged[part.clone()].to_vec();
            mutate(&mut bytes, &mut random);
            damaged[part.start..part.start + bytes.len()].copy_from_slice(&bytes);
        }
        if random.below(16) == 0 {
            damaged.truncate(random.below(data.len()));
        }
        let copy = folder.path().join(format!("{seed}"));
        fs::write(&copy, &damaged).expect("a file can be written");
        if let Ok(symbolizer) = Symbolizer::open(&copy) {
            opened.fetch_add(1, Ordering::Relaxed);
            decoded(&symbolizer, &log, 4096);
        }
        fs::remove_file(&copy).expect("it is there");
    });
    // Others are refused.
    let opened = opened.into_inner();
    assert!(opened * 3 > tried, "{opened} of {tried} can be opened");
}
