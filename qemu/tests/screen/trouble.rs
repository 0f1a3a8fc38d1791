//! A screen never makes a report worse: the serial line has it before anything is drawn.

use qemu::build::Kernel;
use qemu::machine::Arch;

use super::machine::{Machine, kernel};
use crate::support::boots::judge;
use crate::support::runner::run;

/// The serial line of a machine without a screen.
fn serial(arch: Arch, scenario: &str) -> String {
    judge(kernel(arch), scenario).expect(0).text()
}

/// The same report, byte for byte, from a machine without a screen and from one with; what is said of the screen comes after it.
#[gate]
fn the_report_is_the_same_with_a_screen_and_without() {
    for arch in Arch::ALL {
        let without = serial(arch, "panic");
        assert!(!without.contains("screen"), "{without}");
        let mut machine = Machine::boot(kernel(arch), "panic", &[]);
        assert_eq!(machine.report(), without, "{arch}");
        machine.type_in("q");
        let ran = machine.end();
        assert_eq!(ran.status, 101);
        assert_eq!(ran.text(), without + super::machine::ON_SCREEN, "{arch}");
    }
}

/// Drawing raises an exception: one line says so, behind the whole report, and the kernel ends as ever.
#[gate]
fn what_fails_in_drawing_comes_after_the_report() {
    for arch in Arch::ALL {
        let text = serial(arch, "no-screen");
        let (report, after) = text.split_once("\nduring the report: ").expect("it fails");
        assert!(report.contains("end of backtrace: complete, "), "{report}");
        let first = "first failure: panicked at kernel/src/scenario/screen.rs:";
        assert!(
            report.lines().last().expect("lines").starts_with(first),
            "{report}"
        );
        let lines: Vec<&str> = after.lines().collect();
        assert_eq!(lines.len(), 2, "{after}");
        assert!(lines[0].starts_with("fault on cpu 0 at 0xffff"), "{after}");
        assert!(lines[0].contains("0x0000000000001000"), "{after}");
        assert!(lines[1].starts_with(first), "{after}");
    }
}

/// A report that fails itself is shown as far as it came, with the failure.
#[gate]
fn a_report_that_fails_is_shown() {
    for arch in Arch::ALL {
        let mut machine = Machine::boot(kernel(arch), "panic-in-panic", &[]);
        let serial = machine.report();
        let lines = machine.page("1/2  what failed").lines();
        let begin = "panicked at kernel/src/scenario/display.rs:";
        let at = serial.find(begin).expect("a report");
        // One of these lines is folded on the screen.
        let said = serial[at..].lines().flat_map(|line| line.split(' '));
        let shown = lines[1..].join(" ");
        let shown: Vec<&str> = shown.split_whitespace().collect();
        for word in said.filter(|word| !word.is_empty() && word.len() < 8) {
            assert!(shown.contains(&word), "{word:?}: {lines:#?}");
        }
        assert!(lines[1].starts_with(begin), "{lines:#?}");
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("during the report: panicked at ")),
            "{lines:#?}"
        );
        machine.type_in("q");
        assert_eq!(machine.end().status, 101, "{arch}");
    }
}

/// On the small stacks of exceptions there is room for all of it, and the QR code. A code has a list of a few lines as a whole, and of a long
/// list its beginning.
#[gate]
fn a_stack_that_is_full_has_its_report_on_the_screen() {
    let whole = (" frames left out\n", " frames\n");
    let cut = (
        " r kernel::scenario::deep::descend",
        "... the rest of the report is on the screen\n",
    );
    for arch in Arch::ALL {
        for (scenario, begin, (has, end)) in [
            ("stack-overflow", "fault on cpu 0 at 0xffff", whole),
            ("deep", "panicked at ", cut),
        ] {
            let mut machine = Machine::boot(kernel(arch), scenario, &[]);
            machine.report();
            machine.type_in("p");
            let code = machine.page("for a phone").qr();
            assert!(code.starts_with(begin), "{code}");
            assert!(code.contains(has) && code.ends_with(end), "{code}");
            machine.type_in("q");
            let ran = machine.end();
            assert_eq!(ran.status, 101, "{}", ran.text());
            assert!(!ran.text().contains("during the report"), "{}", ran.text());
        }
    }
}

/// Log frames go to the serial line, and the same callers as text to the screen.
#[gate]
fn log_frames_are_text_on_the_screen() {
    let kernel: Kernel = kernel(Arch::X86_64);
    let mut machine = Machine::boot(kernel, "panic defmt", &[]);
    machine.report();
    let lines = machine.page("1/2  what failed").lines();
    let has = |words: &str| lines.iter().any(|line| line.contains(words));
    assert!(has("r kernel::scenario::panic::fifth+0x"), "{lines:#?}");
    assert!(has("end of backtrace: complete, 13 frames"), "{lines:#?}");
    machine.type_in("q");
    assert_eq!(machine.end().status, 101);
}

/// After the report the kernel sends its machine, which nobody wants to see.
#[gate]
fn a_dump_is_not_on_the_screen() {
    let mut machine = Machine::boot(kernel(Arch::X86_64), "panic dump", &[]);
    let serial = machine.report();
    assert!(serial.contains("\ndump end "), "{serial}");
    let lines = machine.page("1/2  what failed").lines();
    assert!(
        !lines.iter().any(|line| line.starts_with("dump ")),
        "{lines:#?}"
    );
    machine.type_in("q");
    assert_eq!(machine.end().status, 101);
}

/// `--screenshot` writes what a person would see, and ends the kernel.
#[gate]
fn the_runner_takes_a_picture() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("screen.png");
    let named = path.to_str().expect("its name is text");
    let ran = run(["--screenshot", named, "panic"]).expect(0).text();
    assert!(ran.ends_with(super::machine::ON_SCREEN), "{ran}");
    let file = std::io::BufReader::new(std::fs::File::open(&path).expect("it is there"));
    let mut decoder = png::Decoder::new(file);
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().expect("it is PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a small picture")];
    let info = reader.next_frame(&mut pixels).expect("it is whole");
    let mut ppm = format!("P6\n{} {}\n255\n", info.width, info.height).into_bytes();
    ppm.extend(pixels);
    let lines = super::drawn::Picture::parse(&ppm).lines();
    assert!(lines[0].ends_with("1/2  what failed"), "{lines:#?}");
    assert!(
        lines[1].starts_with("panicked at kernel/src/scenario/panic.rs:"),
        "{lines:#?}"
    );

    let ran = run(["--screenshot", named, "ok"]).expect(1);
    assert!(ran.words.contains("no screenshot "), "{}", ran.words);
}
