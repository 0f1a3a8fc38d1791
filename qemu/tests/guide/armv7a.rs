//! The kernel for 32-bit ARM, with what the guide changes in it: what it says of a fault, and of a panic in the handler.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSegment};
use qemu::build::Profile;

use super::builds::{Built, Sources, compile};
use super::kinds::expect_shown;
use super::short::{replace, write_shop};
use super::steps;
use super::text::part;
use crate::support::boots::boot_image;
use crate::support::report::Report;

const PAGE: &str = "armv7a.md";

/// How many lines change.
const LINES: usize = 17;

/// A kernel that has run.
struct Said {
    text: String,
    image: Built,
}

/// Builds the kernel for one of the targets, changed in this way, and boots it.
fn boot(triple: &str, profile: Profile, change: impl FnOnce(&Sources)) -> Said {
    let sources = Sources::of("armv7a");
    change(&sources);
    let config = sources.folder().join(".cargo/config.toml");
    replace(&config, "armv7a-none-eabi", triple);
    let image = sources.once(profile, |sources, to| compile(sources, triple, profile, to));
    let ran = boot_image(&image.image, "");
    Said {
        text: ran.expect(101).text().replace('\r', ""),
        image,
    }
}

/// The kernel after the changes of the guide, and this one.
fn with(triple: &str, profile: Profile, change: impl FnOnce(&Path)) -> Said {
    boot(triple, profile, |kernel| {
        let lines = steps::apply(&part(PAGE), kernel.folder());
        assert_eq!(lines, LINES);
        kernel.name_repository("Cargo.toml");
        change(kernel.folder());
    })
}

const ARM: &str = "armv7a-none-eabi";
const THUMB: &str = "thumbv7a-none-eabi";

impl Said {
    /// KiB of the image that are loaded, and of these two of its sections.
    fn sizes(&self) -> [u64; 3] {
        let data = std::fs::read(&self.image.image).expect("the image can be read");
        let file = object::File::parse(&*data).expect("the image is ELF");
        let loaded = file.segments().map(|segment| segment.file_range().1);
        let section = |name| {
            let section = file.section_by_name(name);
            section.map_or(0, |section| section.size())
        };
        let sizes = [loaded.sum(), section(".unwind_map"), section(".symbols")];
        sizes.map(|bytes| bytes.div_ceil(1024))
    }

    /// The report behind this line.
    fn report(&self, begin: &str) -> Report {
        let at = self.text.find(begin);
        let at = at.unwrap_or_else(|| panic!("no {begin:?} in:\n{}", self.text));
        // The runner knows the words of a panic only.
        Report::find(["fault on cpu 0: ", &self.text[at..]].concat().as_bytes())
    }
}

#[long]
fn the_guide_shows_what_a_kernel_for_32_bit_arm_says() {
    let before = boot(ARM, Profile::Debug, |_| ());
    let text = &before.text;
    assert!(text.contains("\nexception 4 at 0x"), "{text}");
    assert!(!text.contains("backtrace"), "{text}");

    let said = with(ARM, Profile::Debug, |_| ());
    expect_shown(&said.text, "exception\narmv7a", PAGE);
    let part = part(PAGE);

    // Sizes differ a little from one checkout to the next, because images contain the paths of their sources.
    let (_, line) = part
        .split_once("the loaded size of the kernel grows from ")
        .expect("its sizes");
    let (line, _) = line.split_once(" are names and lines.").expect("its sizes");
    let words = line.split(|letter: char| !letter.is_ascii_digit());
    let stated: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    let ([before, ..], [after, map, names]) = (before.sizes(), said.sizes());
    let made = [before, after, map, names];
    let is_about = |(stated, made): (&u64, &u64)| stated.abs_diff(*made) <= 2 + made / 50;
    let is_same = stated.len() == 4 && stated.iter().zip(&made).all(is_about);
    assert!(is_same, "the guide says {stated:?}, it is {made:?}");
}

/// What is passed over, and then fails: all callers in ARM code and in Thumb code, optimized; and of a handler that fails, what frame
/// pointers tell.
#[long]
fn a_kernel_for_32_bit_arm_reports_what_returns_and_what_does_not() {
    let shop = "
        use core::hint::black_box;
        #[inline(never)]
        pub fn serve(customers: u64) {
            stop();
            crate::println!(\"went on\");
            sell(black_box(customers));
            crate::println!(\"nobody comes here\");
        }
        #[inline(never)]
        #[instruction_set(arm::a32)]
        fn stop() {
            // SAFETY: its handler returns.
            unsafe { core::arch::asm!(\"udf #7\") };
        }
        #[inline(never)]
        fn sell(customers: u64) { assert!(customers == 0, \"sold out\"); }
    ";
    let names = |report: &Report| -> Vec<String> {
        let names = report.names().into_iter();
        names.map(str::to_owned).collect()
    };
    for triple in [ARM, THUMB] {
        let said = with(triple, Profile::Release, |folder| write_shop(folder, shop));
        assert!(said.text.contains("\nwent on\n"), "{}", said.text);
        for (begin, name) in [("exception\narmv7a", "stop"), ("panicked at ", "sell")] {
            let report = said.report(begin);
            let names = names(&report);
            let at = names
                .iter()
                .position(|it| *it == format!("corner_shop::shop::{name}"));
            let callers = &names[at.unwrap_or_else(|| panic!("no {name}: {}", report.text)) + 1..];
            assert!(callers.iter().any(|it| it == "with_mmu"), "{}", report.text);
            let end = "end of backtrace: complete, ";
            assert!(report.text.contains(end), "{}", report.text);
        }
    }
    let said = with(ARM, Profile::Debug, |folder| {
        write_shop(folder, shop);
        let exceptions = folder.join("src/exceptions.rs");
        replace(
            &exceptions,
            "1 => context.pc += 4",
            "1 => panic!(\"not here\")",
        );
    });
    let report = said.report("panicked at src/exceptions.rs");
    let handler = report.frames.iter().position(|frame| frame.letter == 'f');
    let handler = handler.unwrap_or_else(|| panic!("no frame pointer: {}", report.text));
    let names = names(&report);
    assert_eq!(names[handler - 2..handler], ["exception", "save"]);
    let end = " by frame pointer (no unwind row for address 0x";
    assert!(report.text.contains(end), "{}", report.text);
}
