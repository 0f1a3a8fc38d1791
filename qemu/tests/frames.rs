//! Traces as log frames: the same trace as in text, in fewer bytes, and damage that harms nothing but what it hits.

mod damaged;
mod only;

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::boots::boot_image;
use crate::support::built::{self, image};
use crate::support::each::kernel_tests;
use crate::support::report::{Frame, Report};
use crate::support::runner::run;
use object::{Object, ObjectSegment};
use qemu::build::{Kernel, Profile};
use qemu::decode::plain;
use qemu::machine::Arch;

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

/// The bytes of the serial line.
fn line(kernel: Kernel, words: &str) -> Vec<u8> {
    line_of(&image(kernel), words)
}

fn line_of(image: &Path, words: &str) -> Vec<u8> {
    boot_image(image, words).expect(101).serial
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
            let line = line(kernel, &format!("{scenario} {word}"));
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
        let ran = boot_image(&image, &format!("print-in-nmi {word}")).expect(0);
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
    let line = boot_image(&image, "log-in-nmi defmt").expect(0);
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
            [
                "info:",
                "the",
                "loop",
                "sent",
                one,
                "log",
                "frames",
                "during",
                other,
                "NMIs",
            ] => {
                all = number(one).zip(number(other));
            }
            [count, "log", "frames", "were", "lost"] => {
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
            ["kernel", "on", ..] => {}
            _ if line == "info: 2 of 2 started cpus are online" => {}
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
#[long]
fn a_kernel_without_names_gives_the_same_decoded_report() {
    let kernel = kernel(Arch::Aarch64);
    let (with, without) = (image(kernel), built::image_without_names(kernel));
    let [whole, small] = [&with, &without].map(|image| {
        let line = line_of(image, "deep 14 defmt");
        let text = plain(&line, image).expect("the image can be read");
        (line, Report::find(text.as_bytes()))
    });
    assert!(small.1.frames.len() >= 20, "{}", small.1.text);
    assert_eq!(small.1.end, whole.1.end);
    let same = |frame: &Frame| (frame.letter, frame.name.clone(), frame.sources.clone());
    let frames = |report: &Report| report.frames.iter().map(same).collect::<Vec<_>>();
    assert_eq!(frames(&small.1), frames(&whole.1));
    assert!(frames(&small.1).iter().all(|(_, name, _)| name.is_some()));

    let text = line_of(&with, "deep 14");
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

#[gate]
fn the_runner_judges_frames() {
    let ran = run(["--arch", "aarch64", "--defmt", "panic"]).expect(0);
    assert!(
        ran.text()
            .contains("\ninfo: 1 of 1 started cpus are online\n"),
        "{}",
        ran.text()
    );
    Report::find(&ran.serial).expect_complete();
}

/// A terminal without a decoder shows the text, each line of it whole.
#[gate]
fn the_text_between_frames_is_untouched() {
    let line = line(kernel(Arch::X86_64), "panic defmt");
    let text = String::from_utf8_lossy(&line);
    assert!(text.contains("\0panicked at kernel/src/scenario/panic.rs:"));
    assert!(text.contains("\0first failure: panicked at kernel/src/scenario/panic.rs:"));
    assert!(text.ends_with("the index is 7\n"));
}
