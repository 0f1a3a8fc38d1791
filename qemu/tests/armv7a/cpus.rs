//! Several CPUs of 32 bits, which firmware starts, and which stop each other by FIQ; user programs; the screen.

use super::{armv7a, built_image, judge, own};
use crate::support::boots::Request;
use crate::support::report::Report;
use crate::support::runner::Ran;

/// Boots the scenario with this number of CPUs.
#[track_caller]
fn on_cpus(cpus: u32, scenario: &str) -> Ran {
    let request = Request::of(&built_image(false), scenario).cpus(cpus);
    request.judged().expect(0)
}

#[gate]
fn all_cpus_come() {
    let text = on_cpus(8, "cpus").text();
    for cpu in 0..8 {
        let line = format!("cpu {cpu} runs and has hardware ID {cpu:#x}\n");
        assert!(text.contains(&line), "{text}");
    }
}

/// The report of a panic has every CPU that answers, interrupted where it is; and says which one does not.
#[gate]
fn a_panic_stops_the_other_cpus() {
    let ran = on_cpus(3, "silent-cpu");
    Report::find(&ran.serial).expect_complete();
    let text = ran.text();
    let silent = "\ncpu 1 does not answer\n";
    assert!(text.contains(silent), "{text}");
    let (_, idle) = text.split_once(silent).expect("it was just found");
    assert!(
        idle.starts_with("cpu 2, task main2, stopped at 0x"),
        "{idle}"
    );
    assert!(idle.contains(", stack boot of cpu 2\n"), "{idle}");
    for function in [
        "kernel::task::schedule::work",
        "kernel::start_main",
        "start_outermost",
    ] {
        assert!(idle.contains(function), "{function}: {idle}");
    }
}

/// It has masked IRQs, and loops in assembly: only an FIQ tells where it is.
#[gate]
fn a_cpu_that_hangs_is_found_by_another_one() {
    let report = Report::find(&on_cpus(2, "hang").serial);
    assert!(
        report
            .text
            .contains("hang on cpu 1: its timer has not ticked for ")
    );
    assert_eq!(report.frames[0].name.as_deref(), Some("bad_loop"));
    assert_eq!(report.names().last(), Some(&"start_outermost"));
    assert!(report.text.contains("IRQ_MASKED"), "{}", report.text);
}

/// Two at once: the first one's report is whole, the other one's failure is a line of it.
#[gate]
fn of_two_panics_the_first_one_reports() {
    let ran = judge(false, "two-panics").expect(0);
    Report::find(&ran.serial).expect_complete();
    assert_eq!(
        ran.text().matches("first failure: ").count(),
        1,
        "{}",
        ran.text()
    );
}

/// The list ends with the program counter of the user program, and is complete for the kernel.
#[gate]
fn a_user_program_ends_the_list() {
    let report = Report::find(&judge(false, "user-call").expect(0).serial);
    assert_eq!(own(&report, "user").len(), 2, "{}", report.text);
    let (_, words) = &report.words[0];
    assert_eq!(words, "SVC, user code");
    let last = report.frames.last().expect("frames");
    assert_eq!((last.address, last.letter), (0x40_0004, 'p'));
    let end = "user code reached at 0x0000000000400004, complete for the kernel";
    assert!(report.end.contains(end), "{}", report.end);

    let read = judge(false, "user-read").expect(0).text();
    let cause = "data abort: read of 0x00000000, translation fault";
    assert!(
        read.contains(cause) && read.contains(" user mode"),
        "{read}"
    );
    judge(false, "user-interrupted").expect(0);
}

/// By the same driver as on 64 bits: QEMU's `ramfb`.
#[gate]
fn the_report_is_on_the_screen() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("screen.png");
    let name = path.to_str().expect("a path in UTF-8");
    armv7a(false, &["--screenshot", name, "panic"]).expect(0);
    let file = std::fs::File::open(&path).expect("there is a picture");
    let decoder = png::Decoder::new(std::io::BufReader::new(file));
    let mut picture = decoder.read_info().expect("it is PNG");
    let size = picture.info().size();
    assert_eq!(size, (1024, 768));
    let mut pixels = vec![0; picture.output_buffer_size().expect("it has a size")];
    picture.next_frame(&mut pixels).expect("it is whole");
    // Text: most of it has the colour of the background, and some has not.
    let background = pixels[pixels.len() - 1];
    let drawn = pixels.iter().filter(|pixel| **pixel != background).count();
    assert!(drawn > 10_000 && drawn < pixels.len() / 2, "{drawn}");
}
