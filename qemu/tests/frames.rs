//! Traces as log frames: the same trace as in text, in fewer bytes, and damage that harms nothing but what it hits.

mod support;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use object::{Object, ObjectSegment};
use portable::cut_off::CUT_OFF;
use proptest::prelude::*;
use qemu::build::{Kernel, Profile};
use qemu::decode::plain;
use qemu::frames::{Frames, Words};
use qemu::machine::Arch;
use support::built::{self, image};
use support::each::kernel_tests;
use support::report::{Frame, Report};
use support::runner::run;

kernel_tests! { debug:
    a_trace_is_the_same_by_frames_as_by_text,
}

kernel_tests! { release:
    a_handler_prints_in_the_middle_of_lines_and_frames,
}

kernel_tests! { every:
    a_frame_is_whole_or_counted_as_lost,
}

const fn kernel(arch: Arch) -> Kernel {
    Kernel {
        arch,
        profile: Profile::Debug,
    }
}

/// `cargo run -- --image IMAGE WORD…`: the bytes of the serial line.
fn line(kernel: Kernel, words: &[&str]) -> Vec<u8> {
    line_of(&image(kernel), words)
}

fn line_of(image: &Path, words: &[&str]) -> Vec<u8> {
    let mut arguments = vec!["--image".as_ref(), image.as_os_str()];
    arguments.extend(words.iter().map(AsRef::<std::ffi::OsStr>::as_ref));
    run(arguments).expect(101).serial
}

fn a_trace_is_the_same_by_frames_as_by_text(kernel: Kernel) {
    for scenario in [
        "panic",
        "exception-in-handler",
        "damaged-return-address",
        "tail-call",
    ] {
        // A word that means nothing, so that the kernel has read as many.
        let [text, frames] = ["plain", "defmt"].map(|word| {
            let words = [scenario, word];
            let line = line(kernel, &words);
            plain(&line, &image(kernel)).expect("the image can be read")
        });
        // Frames of `kernel_main` itself differ: it has logged on the way, at another place.
        let (text, frames) = (
            Report::find(text.as_bytes()),
            Report::find(frames.as_bytes()),
        );
        // A scan finds what was left on the stack, by other code if frames are logged.
        let [(text_frames, text_end), (frames_frames, frames_end)] =
            [&text, &frames].map(without_guesses);
        assert_eq!(text_frames, frames_frames, "{kernel:?}");
        assert_eq!(text_end, frames_end, "{kernel:?}");
        let of_text = guesses(&text);
        let mut in_both = guesses(&frames);
        in_both.retain(|address, _| of_text.contains_key(address));
        assert_eq!(in_both.is_empty(), of_text.is_empty(), "{kernel:?}");
        for (address, guess) in in_both {
            assert_eq!(of_text[&address], guess, "{kernel:?}");
        }
        assert_eq!(text.words, frames.words, "{kernel:?}");
        assert_eq!(text.panicked, frames.panicked, "{kernel:?}");
    }
}

/// The frames that were not guessed by a scan, and the end; without the number of all, if some were.
fn without_guesses(report: &Report) -> (Vec<Frame>, String) {
    let frames = report.frames.iter().filter(|frame| frame.letter != '?');
    let frames: Vec<_> = frames.cloned().collect();
    let mut end = report.end.clone();
    if frames.len() < report.frames.len() {
        let (words, _) = end.rsplit_once(", ").expect("a number of frames");
        end = format!("{words}, and guesses");
    }
    (frames, end)
}

/// The frames that a scan guessed, by their address.
fn guesses(report: &Report) -> BTreeMap<u64, Frame> {
    let frames = report.frames.iter().filter(|frame| frame.letter == '?');
    frames.map(|frame| (frame.address, frame.clone())).collect()
}

/// It has interrupted who holds the console, and does not wait for that.
fn a_handler_prints_in_the_middle_of_lines_and_frames(kernel: Kernel) {
    let image = image(kernel);
    for word in ["plain", "defmt"] {
        let words = ["--cpus", "2", "--timeout", "60", "print-in-nmi", word].map(AsRef::as_ref);
        let arguments = ["--image".as_ref(), image.as_os_str()];
        let ran = run(arguments.into_iter().chain(words)).expect(0);
        let text = qemu::frames::text(&ran.serial, &image).expect("the image can be read");
        let text = String::from_utf8_lossy(&text);
        let said = text.lines().filter_map(|line| line.strip_prefix("nmi "));
        let said: Vec<u32> = said.filter_map(|number| number.parse().ok()).collect();
        assert_eq!(said, (0..100).collect::<Vec<_>>(), "{word}: {text}");
        let frames = text.lines().filter(|line| line.contains("frame ")).count();
        assert_eq!(frames > 0, word == "defmt", "{text}");
    }
}

/// A CPU sends numbered frames, and NMIs interrupt it. Their handler sends numbered ones too, and now and then a trace.
fn a_frame_is_whole_or_counted_as_lost(kernel: Kernel) {
    let image = image(kernel);
    let words = ["--cpus", "2", "log-in-nmi", "defmt"].map(AsRef::as_ref);
    let line = run(["--image".as_ref(), image.as_os_str()]
        .into_iter()
        .chain(words))
    .expect(0);
    let text = qemu::frames::text(&line.serial, &image).expect("the image can be read");
    let text = String::from_utf8(text).expect("no byte is left of a frame that was cut off");
    let number = |text: &str| text.parse::<usize>().ok();
    let [mut frames, mut nmis, mut traces] = [const { Vec::new() }; 3];
    let (mut lost, mut all, mut whole_traces) = (0, None, 0);
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        match *words {
            ["info:", "frame", it] => frames.extend(number(it)),
            ["info:", "nmi", it] => nmis.extend(number(it)),
            ["info:", one, "frames", "and", other, "nmis"] => {
                all = number(one).zip(number(other));
            }
            [count, "log", "frames", "are", "lost"] => {
                lost += number(count).unwrap_or_else(|| panic!("{line:?}"));
            }
            ["end", "of", "backtrace:", "complete,", count, "frames"] => {
                let count = number(count).unwrap_or_else(|| panic!("{line:?}"));
                assert_eq!(
                    traces,
                    (0..count).collect::<Vec<_>>(),
                    "{kernel:?} in:\n{text}"
                );
                traces.clear();
                whole_traces += 1;
            }
            _ if line.contains(": 0x") => {
                traces.extend(line.trim_start().split(':').next().and_then(number));
            }
            ["kernel", "on", ..] | ["info:", "2", "of", "2", "cpus", "run"] => {}
            _ if line.starts_with("   ----- ") => {}
            _ if line.starts_with("        reached by a tail call from 0x") => {}
            _ => panic!("{kernel:?}: {line:?} in:\n{text}"),
        }
    }
    let (all_frames, all_nmis) = all.expect("the last frame");
    for seen in [&frames, &nmis] {
        assert!(
            seen.is_sorted_by(|one, next| one < next),
            "{kernel:?} in:\n{text}"
        );
    }
    assert!(lost > 0, "{kernel:?}: no frame was interrupted");
    let missing = all_frames + all_nmis - frames.len() - nmis.len();
    assert_eq!(lost, missing, "{kernel:?} in:\n{text}");
    assert_eq!(whole_traces, all_nmis / 8, "{kernel:?} in:\n{text}");
}

/// A host with the image needs no names from the kernel; and numbers take less of the line.
#[test]
#[ignore = "takes long: .ci/long"]
fn a_kernel_without_names_gives_the_same_decoded_report() {
    let kernel = kernel(Arch::Aarch64);
    let (with, without) = (image(kernel), built::image_without_names(kernel));
    let words = ["deep", "14", "defmt"];
    let [whole, small] = [&with, &without].map(|image| {
        let line = line_of(image, &words);
        let text = plain(&line, image).expect("the image can be read");
        (line, Report::find(text.as_bytes()))
    });
    assert!(small.1.frames.len() >= 20, "{}", small.1.text);
    assert_eq!(small.1.end, whole.1.end);
    let same = |frame: &Frame| (frame.letter, frame.name.clone(), frame.sources.clone());
    let frames = |report: &Report| report.frames.iter().map(same).collect::<Vec<_>>();
    assert_eq!(frames(&small.1), frames(&whole.1));
    assert!(frames(&small.1).iter().all(|(_, name, _)| name.is_some()));

    let text = line_of(&with, &words[..2]);
    let loaded = |image: &Path| -> u64 {
        let data = std::fs::read(image).expect("the image is there");
        let file = object::File::parse(&*data).expect("the image is ELF");
        file.segments().map(|segment| segment.size()).sum()
    };
    let (with, without) = (loaded(&with), loaded(&without));
    println!(
        "{} frames: {} bytes of text, {} of log frames; {with} bytes of memory with names, {without} without",
        small.1.frames.len(),
        text.len(),
        small.0.len(),
    );
    assert!(small.0.len() * 2 < text.len() && without < with);
}

#[test]
fn the_runner_judges_frames() {
    let ran = run(["--arch", "aarch64", "--defmt", "panic"]).expect(0);
    assert!(
        ran.text().contains("\ninfo: 1 of 1 cpus run\n"),
        "{}",
        ran.text()
    );
    Report::find(&ran.serial).expect_complete();
}

/// A terminal without a decoder shows the text, each line of it whole.
#[test]
fn the_text_between_frames_is_untouched() {
    let line = line(kernel(Arch::X86_64), &["panic", "defmt"]);
    let text = String::from_utf8_lossy(&line);
    assert!(text.contains("\0panicked at kernel/src/scenario/panic.rs:"));
    assert!(text.contains("\0first failure: panicked at kernel/src/scenario/panic.rs:"));
    assert!(text.ends_with("the index is 7\n"));
}

/// What really went over the line once, and the words to decode it by.
static CAPTURED: LazyLock<(Vec<u8>, Words)> = LazyLock::new(|| {
    let kernel = kernel(Arch::Aarch64);
    let line = line(kernel, &["exception-in-handler", "defmt"]);
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
#[test]
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

    #[test]
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
