//! Lines that are damaged: a frame that was cut off is no other frame, and damage harms nothing but what it hits.

use std::ops::Range;
use std::sync::LazyLock;

use portable::cut_off::CUT_OFF;
use proptest::prelude::*;
use qemu::frames::{Frames, Words};
use qemu::machine::Arch;

use super::{kernel, line};
use crate::support::built::image;

/// What really went over the line once, and the words to decode it by.
static CAPTURED: LazyLock<(Vec<u8>, Words)> = LazyLock::new(|| {
    let kernel = kernel(Arch::Aarch64);
    let line = line(kernel, "exception-in-handler defmt");
    let image = std::fs::read(image(kernel)).expect("the image is there");
    let words = Words::of(&image).expect("a sound image");
    (line, words.expect("words for frames"))
});

fn decode(words: &Words, bytes: &[u8]) -> String {
    let mut frames = Frames::default();
    let mut text = frames.add(words, bytes);
    text.extend(frames.finish(words));
    String::from_utf8_lossy(&text).into_owned()
}

/// The line's pieces: lines of text and frames, each with the zero bytes around it, and as it is decoded.
fn pieces(words: &Words, bytes: &[u8]) -> Vec<(Range<usize>, String)> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for chunk in bytes.split_inclusive(|byte| *byte == 0) {
        let end = start + chunk.len();
        let mut at = start;
        if chunk
            .first()
            .is_some_and(|byte| (0x80..0xc0).contains(byte))
        {
            let text = decode(words, &bytes[start - 1..end]);
            pieces.push((start - 1..end, text));
        } else {
            for line in chunk.split_inclusive(|byte| *byte == b'\n') {
                let text = String::from_utf8_lossy(line).replace('\0', "");
                if !text.is_empty() {
                    pieces.push((at..at + line.len(), text));
                }
                at += line.len();
            }
        }
        start = end;
    }
    pieces
}

/// Wherever a frame is cut off, nothing is left of it; nor is it by any decoder, as its own encoding says.
#[gate]
fn a_frame_that_was_cut_off_is_no_other_frame() {
    let (line, words) = &*CAPTURED;
    let mut misread = 0;
    for chunk in line.split(|byte| *byte == 0) {
        if !matches!(chunk.first(), Some(0x80..0xc0)) {
            continue;
        }
        for length in 0..=chunk.len() {
            let sent = &chunk[..length];
            let text = decode(words, &[b"\0", sent, b"\0"].concat());
            misread += usize::from(length < chunk.len() && !text.is_empty());
            let marked = [sent, &CUT_OFF].concat();
            assert!(sent.len() > 132 || rzcobs::decode(&marked).is_err());
            assert_eq!(decode(words, &[b"\0", &marked[..], b"\0"].concat()), "");
        }
    }
    assert!(
        misread > 0,
        "each frame that is cut off is refused without a mark, too"
    );
}

#[derive(Clone, Debug)]
enum Damage {
    /// Other bytes instead.
    Noise(Vec<u8>),
    /// Bytes are lost.
    Cut(usize),
    /// Bytes that nobody sent.
    Added(Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..12);
    prop_oneof![
        bytes().prop_map(Damage::Noise),
        (1..80usize).prop_map(Damage::Cut),
        bytes().prop_map(Damage::Added),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[gate]
    fn damage_harms_what_it_hits_and_nothing_else(
        place in any::<prop::sample::Index>(),
        damage in damage(),
    ) {
        let (line, words) = &*CAPTURED;
        let at = place.index(line.len());
        let mut damaged = line.clone();
        let hit = match &damage {
            Damage::Noise(noise) => {
                let end = (at + noise.len()).min(line.len());
                damaged[at..end].copy_from_slice(&noise[..end - at]);
                at..end
            }
            Damage::Cut(length) => {
                let end = (at + length).min(line.len());
                damaged.drain(at..end);
                at..end
            }
            Damage::Added(noise) => {
                damaged.splice(at..at, noise.iter().copied());
                at..at
            }
        };
        let text = decode(words, &damaged);
        let mut rest = &text[..];
        for (range, piece) in pieces(words, line) {
            // A neighbour shares the byte between them.
            if range.start <= hit.end && hit.start <= range.end {
                continue;
            }
            let found = rest.find(&piece);
            prop_assert!(found.is_some(), "{piece:?} is lost in:\n{text}");
            rest = &rest[found.unwrap_or_default() + piece.len()..];
        }
    }
}
