//! Images damaged on purpose: each still says that it panicked, what is missing, and the addresses it can vouch for.

use std::ops::Range;
use std::path::Path;

use crate::support::boots::boot_image;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::{built, corrupt};
use object::{Object, ObjectSection, ObjectSymbol};
use qemu::build::Kernel;

// Unoptimized kernels: the tables do not know how the code was made.
kernel_tests! { debug:
    a_damaged_sframe_magic_is_named,
    a_wrong_bit_in_sframe_is_noticed,
    a_wrong_bit_in_the_code_is_noticed,
    an_emptied_sframe_is_named,
    an_emptied_symbols_costs_the_names_and_no_address,
    a_damaged_symbols_is_not_believed,
}

kernel_tests! { debug:
    an_image_linked_without_the_wrapper_says_so,
}

/// Boots the image and takes its report; it must end as a panic.
#[track_caller]
fn report(image: &Path) -> Report {
    Report::find(&boot_image(image, "").expect(101).serial)
}

/// The report of `image` with `damage` done to a section.
#[track_caller]
fn report_with(image: &Path, section: &str, damage: impl FnOnce(&mut [u8])) -> Report {
    let folder = tempfile::tempdir().expect("a folder can be made");
    report(&corrupt::copy(image, folder.path(), section, damage))
}

/// Addresses of the function with this end of its (mangled) name, and of all code.
fn code(image: &Path, function: &str) -> (Range<u64>, Range<u64>) {
    let bytes = std::fs::read(image).expect("the image can be read");
    let file = object::File::parse(&*bytes).expect("the image is ELF");
    let symbol = file
        .symbols()
        .find(|symbol| symbol.name().is_ok_and(|name| name.ends_with(function)))
        .unwrap_or_else(|| panic!("no function {function}"));
    let text = file.section_by_name(".text").expect("an image has code");
    (
        symbol.address()..symbol.address() + symbol.size(),
        text.address()..text.address() + text.size(),
    )
}

/// Without tables only the first frame is sure. Whatever else is listed is code, is marked as a guess, and the end line
/// does not claim more.
#[track_caller]
fn expect_only_the_first_is_sure(image: &Path, report: &Report, why: &str) {
    let (handler, text) = code(image, "rust_begin_unwind");
    let [first, guesses @ ..] = &*report.frames else {
        panic!("no frame in:\n{}", report.text);
    };
    assert_eq!(first.letter, 'p', "{}", report.text);
    assert!(handler.contains(&first.address), "{}", report.text);
    for frame in guesses {
        assert!(
            "?fla".contains(frame.letter),
            "{frame:x?} claims too much:\n{}",
            report.text
        );
        assert!(
            text.contains(&frame.address),
            "{frame:x?} is no code:\n{}",
            report.text
        );
    }
    let end = format!("end of backtrace: incomplete: no .sframe table: {why}");
    assert!(report.end.starts_with(&end), "{}", report.end);
}

fn a_damaged_sframe_magic_is_named(kernel: Kernel) {
    let image = built::image(kernel);
    let report = report_with(&image, ".sframe", |bytes| bytes[0] ^= 0xff);
    expect_only_the_first_is_sure(&image, &report, "the .sframe section has bad magic number");
    let words = of_tables(&report);
    assert!(
        words.starts_with("tables damaged: the .sframe section has bad magic number"),
        "{words}"
    );
    // What the code tells is not proven, but right: the names come from another section, and with them where each function begins.
    let whole = self::report(&image);
    let addresses = |report: &Report| -> Vec<_> {
        let frames = report.frames.iter();
        frames.map(|frame| frame.address).collect()
    };
    assert_eq!(addresses(&report), addresses(&whole), "{}", report.text);
    let by_code = report.frames[1..].iter().all(|frame| frame.letter == 'a');
    assert!(by_code, "{}", report.text);
}

/// What the line about the image says of its tables.
#[track_caller]
fn of_tables(report: &Report) -> &str {
    let mut lines = report.text.lines();
    let line = lines.find(|line| line.starts_with("cpu 0, task main, "));
    let line = line.unwrap_or_else(|| panic!("no image in:\n{}", report.text));
    let (_, rest) = line.split_once(", build ").expect("a build id");
    let (id, words) = rest.split_once(", ").expect("words about tables");
    assert_eq!(
        id.trim_matches(|c: char| c.is_ascii_hexdigit()),
        "",
        "{line}"
    );
    words
}

/// One wrong bit, in a field of the header that no look-up reads, in the entry of a function, in rows, in the checksum: the
/// callers are there, and not said to be complete.
fn a_wrong_bit_in_sframe_is_noticed(kernel: Kernel) {
    let image = built::image(kernel);
    let whole = report(&image);
    assert_eq!(of_tables(&whole), "tables and code verified");
    whole.expect_complete();
    for (place, bit) in [("rows", 0), ("header", 3), ("entry", 5), ("checksum", 7)] {
        let report = report_with(&image, ".sframe", |bytes| {
            let word = |at: usize| {
                let word = bytes[at..].first_chunk().expect("a header");
                u32::from_le_bytes(*word) as usize
            };
            let at = match place {
                "header" => 12,
                "entry" => 28 + word(8) / 2 * 16 + 8,
                "rows" => 28 + word(24) + word(16) / 2,
                // Behind that is its magic.
                _ => bytes.len() - 5,
            };
            bytes[at] ^= 1 << bit;
        });
        assert_eq!(
            of_tables(&report),
            "tables damaged: wrong checksum",
            "{place}"
        );
        let doubt = ", from frame 0 on in doubt (the tables are damaged: wrong checksum), ";
        assert!(report.end.contains(doubt), "{place}: {}", report.end);
        assert!(
            !report.end.contains(": complete"),
            "{place}: {}",
            report.end
        );
        if ["header", "checksum"].contains(&place) {
            assert_eq!(report.frames, whole.frames, "{}", report.text);
            let end = "end of backtrace: outermost function reached, from frame 0 on ";
            assert!(report.end.starts_with(end), "{}", report.end);
        }
    }
}

/// One wrong bit in code that does not run: the tables are right, but they are tables of other code.
fn a_wrong_bit_in_the_code_is_noticed(kernel: Kernel) {
    let image = built::image(kernel);
    let whole = report(&image);
    let (function, text) = code(&image, "8scenario5hangs10exceptions");
    let at = (function.start - text.start) as usize;
    let report = report_with(&image, ".text", |bytes| bytes[at] ^= 1);
    let words = of_tables(&report);
    let (_, range) = words
        .split_once("tables verified, the code at address ")
        .unwrap_or_else(|| panic!("{words}"));
    let (start, rest) = range.split_once(' ').expect("an address");
    assert!(rest.starts_with("differs from the linked code"), "{words}");
    let start = u64::from_str_radix(start.trim_start_matches("0x"), 16).expect("an address");
    assert!((start..start + 0x4000).contains(&function.start), "{words}");
    assert_eq!(report.frames, whole.frames, "{}", report.text);
    let doubt = format!(
        "end of backtrace: outermost function reached, from frame 0 on in doubt (the code at address {start:#018x} differs from the linked code), "
    );
    assert!(report.end.starts_with(&doubt), "{}", report.end);
}

fn an_emptied_sframe_is_named(kernel: Kernel) {
    let image = built::image(kernel);
    let report = report_with(&image, ".sframe", |bytes| bytes.fill(0));
    expect_only_the_first_is_sure(&image, &report, "empty");
}

fn an_emptied_symbols_costs_the_names_and_no_address(kernel: Kernel) {
    let image = built::image(kernel);
    let whole = report(&image);
    let nameless = report_with(&image, ".symbols", |bytes| bytes.fill(0));
    assert!(
        nameless
            .text
            .contains("no function names, because .symbols cannot be used: "),
        "{}",
        nameless.text
    );
    nameless.expect_complete();
    let addresses = |report: &Report| -> Vec<_> {
        report
            .frames
            .iter()
            .map(|frame| (frame.address, frame.letter))
            .collect()
    };
    assert_eq!(addresses(&nameless), addresses(&whole));
    assert!(
        nameless.frames.iter().all(|frame| frame.name.is_none()),
        "{}",
        nameless.text
    );
}

/// One wrong bit in a name: the checksum finds it, and no name is better than a wrong one.
fn a_damaged_symbols_is_not_believed(kernel: Kernel) {
    let image = built::image(kernel);
    let report = report_with(&image, ".symbols", |bytes| {
        // The section may have more room than the table needs: see `unwind/src/symbols/FORMAT.md`.
        let length = bytes[12..].first_chunk().expect("a header");
        bytes[u32::from_le_bytes(*length) as usize - 1] ^= 1;
    });
    assert!(
        report
            .text
            .contains("no function names, because .symbols cannot be used: "),
        "{}",
        report.text
    );
    report.expect_complete();
    assert!(
        report.frames.iter().all(|frame| frame.name.is_none()),
        "{}",
        report.text
    );
}

fn an_image_linked_without_the_wrapper_says_so(kernel: Kernel) {
    let image = built::image_without_tables(kernel);
    let report = report(&image);
    assert!(
        report
            .text
            .contains("no function names, because .symbols cannot be used: "),
        "{}",
        report.text
    );
    assert_eq!(of_tables(&report), "no tables");
    expect_only_the_first_is_sure(&image, &report, "empty");
    assert!(
        report.frames.iter().all(|frame| frame.name.is_none()),
        "{}",
        report.text
    );
}
