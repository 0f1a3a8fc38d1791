//! A kernel that has a rule map loaded instead of `.sframe`: the same reports as of the kernel with `.sframe`, through traps and of
//! tasks that do not run. A damaged map is noticed, and no report by it is complete.

use std::path::Path;

use crate::support::boots::boot_image;
use crate::support::built::{image, image_with_map, kernel};
use crate::support::corrupt;
use crate::support::report::Report;
use object::{Object, ObjectSection};
use qemu::build::Kernel;

/// Scenarios, and the exit status of each.
const SCENARIOS: [(&str, i32); 6] = [
    ("panic", 101),
    ("exception-in-handler", 101),
    ("interrupt-in-interrupt", 101),
    ("stack-overflow", 101),
    ("null-read", 101),
    ("tasks", 0),
];

/// Bytes of a section that are loaded.
fn loaded(image: &[u8], name: &str) -> u64 {
    let file = object::File::parse(image).unwrap();
    let section = file.section_by_name(name);
    let section = section.filter(|section| section.kind() == object::SectionKind::ReadOnlyData);
    section.map_or(0, |section| section.size())
}

fn check(kernel: Kernel) {
    let images = [image_with_map(kernel), image(kernel)];
    let data = images.each_ref().map(|path| std::fs::read(path).unwrap());
    let map = loaded(&data[0], ".unwind_map");
    assert!(map > 0 && loaded(&data[1], ".unwind_map") == 0);
    println!("{kernel:?}: {map} bytes");
    for (scenario, status) in SCENARIOS {
        let [by_map, by_table] = images.each_ref().map(|image| {
            let ran = boot_image(image, scenario).expect(status);
            let text = String::from_utf8_lossy(&ran.serial);
            // A list of tasks says nothing of the tables.
            let is_report = text.contains("tables ");
            assert!(is_report || status == 0, "{text}");
            assert_eq!(
                is_report,
                text.contains("tables and code verified"),
                "{text}"
            );
            Report::find_all(&ran.serial)
        });
        assert!(!by_map.is_empty(), "{scenario}: no report");
        assert_eq!(by_map.len(), by_table.len(), "{scenario}: reports");
        for (by_map, by_table) in by_map.iter().zip(&by_table) {
            assert_eq!(by_map.names(), by_table.names(), "{scenario}");
            assert_eq!(by_map.end, by_table.end, "{scenario}:\n{}", by_map.text);
            let is_complete = by_map.end.starts_with("end of backtrace: complete, ");
            assert!(is_complete, "{scenario}:\n{}", by_map.text);
        }
    }
}

/// The report of a kernel whose map was damaged so, and that of the kernel.
fn damaged(kernel: Kernel, damage: impl FnOnce(&mut [u8])) -> (Report, Report) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = image_with_map(kernel);
    let copy = corrupt::copy(&image, folder.path(), ".unwind_map", damage);
    let report = |image: &Path| Report::find(&boot_image(image, "panic").expect(101).serial);
    (report(&copy), report(&image))
}

/// A wrong bit of a map is noticed by its checksum, whatever it means, and no list is complete then.
fn check_a_wrong_bit(kernel: Kernel) {
    let mut same = 0;
    for place in 1..8 {
        let (report, whole) = damaged(kernel, |map| map[map.len() / 8 * place] ^= 4);
        let text = &report.text;
        assert!(text.contains("tables damaged: "), "{text}");
        assert!(!report.end.contains(": complete"), "{text}");
        assert!(report.end.contains("damaged"), "{text}");
        same += u32::from(report.names() == whole.names());
    }
    // Most bits are those of other functions.
    assert!(same > 0, "no list was as long as without damage");
}

/// Without a map that can be read the code tells the same callers, in doubt.
fn check_a_wrong_begin(kernel: Kernel) {
    let wrong: fn(&mut [u8]) = |map| map[0] ^= 0xff;
    let empty: fn(&mut [u8]) = |map| map.fill(0);
    let damages = [(wrong, ", tables damaged: "), (empty, ", no tables\n")];
    for (damage, says) in damages {
        let (report, whole) = damaged(kernel, damage);
        let text = &report.text;
        assert!(text.contains(says), "{text}");
        assert_eq!(report.names(), whole.names(), "{text}");
        let letters: String = report.frames.iter().map(|frame| frame.letter).collect();
        assert_eq!(letters.trim_end_matches('a'), "p", "{text}");
        assert!(report.end.contains(": incomplete: "), "{text}");
    }
}

#[test]
fn on_x86_64() {
    let kernel = kernel("x86_64_release");
    check(kernel);
    check_a_wrong_bit(kernel);
    check_a_wrong_begin(kernel);
}

#[test]
fn on_aarch64() {
    let kernel = kernel("aarch64_release");
    check(kernel);
    check_a_wrong_bit(kernel);
    check_a_wrong_begin(kernel);
}
