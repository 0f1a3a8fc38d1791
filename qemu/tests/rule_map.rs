//! A kernel that has a rule map loaded instead of `.sframe`: the same reports as of the kernel with `.sframe`, through traps and of
//! tasks that do not run.

mod support;

use object::{Object, ObjectSection};
use qemu::build::Kernel;
use support::built::{image, image_with_map, kernel};
use support::report::Report;
use support::runner::run;

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
            let ran = run(["--image".as_ref(), image.as_os_str(), scenario.as_ref()]);
            let ran = ran.expect(status);
            let text = String::from_utf8_lossy(&ran.serial);
            // A list of tasks says nothing of the tables.
            let is_report = text.contains("tables ");
            assert!(is_report || status == 0, "{text}");
            assert_eq!(is_report, text.contains("tables verified"), "{text}");
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

#[test]
#[ignore = "builds a kernel: .ci/long"]
fn reports_are_the_same_on_x86_64() {
    check(kernel("x86_64_release"));
}

#[test]
#[ignore = "builds a kernel: .ci/long"]
fn reports_are_the_same_on_aarch64() {
    check(kernel("aarch64_release"));
}
