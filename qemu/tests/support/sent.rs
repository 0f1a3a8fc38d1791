//! Dumps that a dying kernel has sent over its serial line: what is asked of the image of any architecture.

use std::fs;
use std::path::{Path, PathBuf};

use flate2::Crc;
use portable::scenarios::{Outcome, SCENARIOS};
use qemu::dump::{Remains, Sent};
use qemu::image::processor;
use qemu::machine::Processor;
use qemu::outside::Outside;
use tempfile::TempDir;

use super::boots::Request;
use super::report::{Frame, Report};
use super::runner::{Ran, fed, run};

/// The kernel's report and, behind it, what it has sent; as a file, too.
pub fn boot(image: &Path, scenario: &str) -> (String, TempDir, PathBuf) {
    let request = Request::of(image, &format!("{scenario} dump")).cpus(2);
    let ran = request.run().expect(101);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let log = folder.path().join("log");
    fs::write(&log, &ran.serial).expect("a file can be written");
    (ran.text(), folder, log)
}

/// What the runner says of a log.
pub fn autopsy(log: &Path, image: &Path, more: &[&str]) -> Ran {
    let words = [
        "autopsy".as_ref(),
        log.as_os_str(),
        "--image".as_ref(),
        image.as_os_str(),
    ];
    run(words.into_iter().chain(more.iter().map(AsRef::as_ref)))
}

/// A list, and how it ends.
type List = (Vec<(u64, char)>, String);

fn lists(text: &str) -> Vec<List> {
    let reports = Report::find_all(text.as_bytes()).into_iter();
    let place = |frame: &Frame| (frame.address, frame.letter);
    reports
        .map(|report| (report.frames.iter().map(place).collect(), report.end))
        .collect()
}

/// Every list of the kernel's last report is among those of its dump.
pub fn expect_same(image: &Path, scenario: &str) {
    let (text, _folder, log) = boot(image, scenario);
    let sent = lists(&autopsy(&log, image, &[]).expect(0).text());
    // Before it fails there, it reports its three tasks, of which one still runs, so that it may be elsewhere when the kernel fails.
    let earlier = if scenario == "elsewhere" { 3 } else { 0 };
    let own = lists(&text);
    assert!(own.len() > earlier, "{text}");
    for list in &own[earlier..] {
        // Of user code, without a program's image, there is one line.
        let is_user = list.1.contains("user code reached") && list.0.len() == 1;
        assert!(
            is_user || sent.contains(list),
            "{scenario}: {list:x?} is none of {sent:x?}"
        );
    }
}

/// Other stacks than the one that failed: of another CPU, of tasks, of handlers; and one that is full.
pub fn what_is_sent_says_the_same(image: &Path) {
    for scenario in ["deadlock", "exception-in-handler", "stack-overflow", "hang"] {
        expect_same(image, scenario);
    }
}

/// In all scenarios that end in a report.
pub fn all_that_is_sent_says_the_same(image: &Path) {
    let outcomes = [Outcome::Panics, Outcome::PanicsInDoubt];
    let processor = processor(image).expect("it is an image");
    let scenarios = SCENARIOS
        .iter()
        .filter(|scenario| outcomes.contains(&scenario.outcome))
        // The host reads that code from the image, and its list is longer.
        .filter(|scenario| scenario.name != "unreadable-code")
        .filter(|scenario| scenario.is_on(processor.name()));
    let mut count = 0;
    for scenario in scenarios {
        expect_same(image, scenario.name);
        count += 1;
    }
    assert!(count > 40, "{count} scenarios");
}

/// Names of tasks and locks, registers, memory and code.
pub fn what_is_sent_can_be_asked_more(image: &Path) {
    let (_, _folder, log) = boot(image, "deadlock");
    let report = autopsy(&log, image, &[]).expect(0).text();
    let task = "task 8 first: waits for lock right, which task 9 second holds, stack task first\n";
    assert!(report.contains(task), "{report}");
    // The code is the image's, not the machine's.
    for state in ["tables verified, ", "code not compared"] {
        assert!(report.contains(state), "{report}");
    }
    let words = ["autopsy", "-i", "--image"].map(AsRef::as_ref);
    let paths = [image.as_os_str(), log.as_os_str()];
    let commands = "bt task 8\ncpu 1\nregisters\ncpu 0\nregisters\nx kernel_entry 2\ndisassemble kernel_entry 1\nx 10\n";
    let answers = fed(words.into_iter().chain(paths), commands);
    let answers = answers.expect(0).text();
    assert!(answers.starts_with(task), "{answers}");
    let (pc, code) = match processor(image).expect("it is an image") {
        Processor::X86_64 => ("\nrip ", "mov "),
        Processor::Aarch64 => ("\npc ", "ldr x1"),
        Processor::Armv7a => ("\npc ", ".word 0xe59f0"),
    };
    assert_eq!(answers.matches(pc).count(), 2, "{answers}");
    assert!(answers.contains(code), "{answers}");
    let unknown = "0x0000000000000010: not mapped";
    assert!(answers.contains(unknown), "{answers}");
}

/// The log, whose lines that begin something sent have another build id, or none (`-`).
pub fn with_build(text: &str, word: &str, build: &str) -> String {
    let begin = format!("{word} begin ");
    let lines = text.lines().map(|line| {
        if !line.starts_with(&begin) {
            return line.to_owned();
        }
        let mut words: Vec<_> = line.split(' ').collect();
        words.pop();
        words[4] = build;
        with_sum(&words.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The line with its checksum.
fn with_sum(line: &str) -> String {
    let mut crc = Crc::new();
    crc.update(line.as_bytes());
    format!("{line} {:08x}", crc.sum())
}

/// It may be on the stack of any task, although that was noted as one that does not run.
pub fn tasks_are_in_doubt_if_a_cpu_did_not_answer(image: &Path) {
    let (text, _folder, _) = boot(image, "deadlock");
    let tasks = |text: &str| {
        let mut sent = Sent::all(text, image).expect("it can be read");
        let sent = sent.last_mut().expect("a dump");
        let told = Outside::new(image).report(sent, "it was sent");
        let told = told.expect("a report");
        let (_, tasks) = told.split_once("\ntask ").expect(&told);
        lists(tasks)
    };
    let whole = tasks(&text);
    let ends = |list: &List, end: &str| list.1.contains(end);
    let is_complete = |list: &List| ends(list, ": complete, ");
    assert!(whole.iter().any(is_complete), "{whole:x?}");
    let is_of_other = |line: &&str| line.starts_with("dump cpu 1 ");
    assert_eq!(text.lines().filter(is_of_other).count(), 1, "{text}");
    let lines = text.lines().map(|line| match is_of_other(&line) {
        true => with_sum("dump cpu 1 does not answer"),
        false => line.to_owned(),
    });
    let lines = lines.filter(|line| !line.starts_with("dump more 1 "));
    let doubted = tasks(&lines.collect::<Vec<_>>().join("\n"));
    let doubt = "from frame 0 on in doubt (the task may have run during the backtrace)";
    assert!(doubted.len() >= whole.len(), "{doubted:x?}");
    for list in &doubted {
        assert!(ends(list, doubt), "{list:x?}");
    }
    for list in whole {
        assert!(doubted.iter().any(|it| it.0 == list.0), "{list:x?}");
    }
}

/// Without a build id nothing shows that it is of this image, whose own code is no evidence: no list is complete.
pub fn what_is_sent_without_a_build_id_is_in_doubt(image: &Path) {
    let (text, _folder, log) = boot(image, "panic");
    let whole = lists(&autopsy(&log, image, &[]).expect(0).text());
    let is_complete = |list: &&List| list.1.contains(": complete, ");
    assert!(whole.iter().any(|list| is_complete(&list)), "{whole:x?}");
    fs::write(&log, with_build(&text, "dump", "-")).expect("a file can be written");
    let doubted = autopsy(&log, image, &[]).expect(0).text();
    let found = lists(&doubted);
    assert_eq!(found.iter().find(is_complete), None, "{doubted}");
    assert!(
        doubted.contains("it is unknown whether this image ran"),
        "{doubted}"
    );
    let frames = |lists: Vec<List>| lists.into_iter().map(|list| list.0).collect::<Vec<_>>();
    assert_eq!(frames(found), frames(whole));
}

/// A line of it is lost, damaged, or the last that came: that is said, and no list is called complete that is not the kernel's.
pub fn what_is_missing_is_said(image: &Path) {
    let (text, _folder, log) = boot(image, "deadlock");
    let whole = lists(&autopsy(&log, image, &[]).expect(0).text());
    let lines: Vec<&str> = text.lines().collect();
    let is_sent = |line: &&str| line.starts_with("dump ");
    let first = lines.iter().position(is_sent).expect("it has sent a dump");
    let outside = Outside::new(image);
    let mut fewer = 0;
    for at in first..lines.len() {
        if !is_sent(&lines[at]) {
            continue;
        }
        let mut damaged = lines[at].to_owned();
        damaged.replace_range(5..6, "_");
        let without = [&lines[..at], &lines[at + 1..]].concat();
        let with = [&lines[..at], &[&*damaged], &lines[at + 1..]].concat();
        for log in [&without, &with, &lines[..at].to_vec()] {
            let sent = Sent::all(&log.join("\n"), image).expect("what is whole can be read");
            if at == first && log.len() == first {
                assert!(sent.is_empty(), "{sent:?}");
                continue;
            }
            let [mut sent] = <[Sent; 1]>::try_from(sent).expect("one dump");
            if at == first {
                let error = sent.expect_begin().expect_err("nobody knows of what it is");
                assert!(format!("{error:#}").contains("names in the report may be wrong"));
                continue;
            }
            sent.expect_begin().expect("its first line is whole");
            let told = outside.report(&mut sent, "it was sent").expect("a report");
            assert!(sent.check().is_err(), "without {}", lines[at]);
            let found = lists(&told);
            fewer += usize::from(found != whole);
            for list in found {
                let is_right = !list.1.contains("complete, ") || whole.contains(&list);
                let is_in_doubt = list.1.contains("incomplete");
                assert!(is_right || is_in_doubt, "{list:x?} without {}", lines[at]);
            }
        }
    }
    assert!(fewer > 0, "each line is there for nothing");
    let nameless = log.with_extension("nameless");
    fs::write(&nameless, text.replacen("dump begin", "dump begi", 1))
        .expect("a file can be written");
    let ran = autopsy(&nameless, image, &[]).expect(1);
    let ran = ran.expect_words(
        "the first line of the dump, which contains the build id, is damaged or missing",
    );
    assert_eq!(ran.text(), "");
    let cut = log.with_extension("cut");
    let begin = text.find("dump end ").expect("it ends");
    fs::write(&cut, &text[..begin]).expect("a file can be written");
    autopsy(&cut, image, &[])
        .expect(1)
        .expect_words("the dump is incomplete: the dump ends after ");
    // Asked more, it answers all the same.
    let words = ["autopsy", "-i", "--image"].map(AsRef::as_ref);
    let paths = [image.as_os_str(), cut.as_os_str()];
    let answers = fed(words.into_iter().chain(paths), "bt\nbt task 8\n").expect(1);
    let answers = answers.expect_words("warning: the dump is incomplete: the dump ends after ");
    assert_eq!(lists(&answers.text()).len(), 2, "{}", answers.text());
}
