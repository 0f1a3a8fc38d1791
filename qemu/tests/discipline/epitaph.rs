//! What the next boot tells of the one before.

use super::*;

kernel_tests! { every_and_plain:
    an_epitaph_tells_of_the_boot_before,
    a_damaged_epitaph_is_told_and_not_shown,
    what_is_kept_is_written_back_from_the_caches,
}

kernel_tests! { release:
    an_epitaph_has_the_whole_report_beside_another_writer,
}

kernel_tests! { debug:
    a_reset_from_outside_is_told_too,
}

/// The next boot shows the last lines of the one before, as many as there is room for, and no line of another.
fn an_epitaph_tells_of_the_boot_before(kernel: Kernel) {
    let text = boot(kernel, "epitaph").expect(0).text();
    let (before, after) = text
        .split_once("epitaph, the last output before the reset:\n")
        .unwrap_or_else(|| panic!("{kernel:?}: no epitaph in:\n{text}"));
    let report = Report::find(before.as_bytes());
    assert!(
        report
            .panicked
            .ends_with(": the next boot prints this panic"),
        "{text}"
    );
    let callers = "= panic
                   r kernel::scenario::epitaph::read";
    trace::expect(kernel, &report, callers, "complete, ");
    let quoted: Vec<_> = after
        .lines()
        .map_while(|line| line.strip_prefix("| "))
        .collect();
    let all: Vec<_> = before.lines().collect();
    assert!(all.ends_with(&quoted), "{kernel:?}: {text}");
    let bytes: usize = quoted.iter().map(|line| line.len() + 1).sum();
    assert!((4000..=16384).contains(&bytes), "{kernel:?}: {bytes} bytes");
    let rest: Vec<_> = after.lines().skip(quoted.len()).collect();
    let [kernel_line, boot_line] = &rest[..] else {
        panic!("{kernel:?}: {rest:#?}");
    };
    assert!(
        kernel_line.starts_with("kernel on "),
        "{kernel:?}: {rest:#?}"
    );
    assert_eq!(*boot_line, "boot 2 since power-on");
}

/// On the line, what both CPUs print is mixed; not where it is kept.
fn an_epitaph_has_the_whole_report_beside_another_writer(kernel: Kernel) {
    let text = boot(kernel, "epitaph-beside").expect(0).text();
    let (_, after) = text
        .split_once("epitaph, the last output before the reset:\n")
        .unwrap_or_else(|| panic!("{kernel:?}: no epitaph in:\n{text}"));
    let quoted: String = after
        .lines()
        .map_while(|line| Some(line.strip_prefix("| ")?.to_owned() + "\n"))
        .collect();
    let report = Report::find(quoted.as_bytes());
    let words = ": panic while another CPU does not respond";
    assert!(report.panicked.ends_with(words), "{kernel:?}: {quoted}");
    let callers = "= panic
                   r kernel::scenario::epitaph::beside_another";
    trace::expect(kernel, &report, callers, "complete, ");
    let (_, last) = quoted.split_once(&report.panicked).expect("it is there");
    assert!(!last.contains("this CPU prints"), "{kernel:?}: {quoted}");
    assert!(
        last.contains("\ncpu 1 does not answer\n"),
        "{kernel:?}: {quoted}"
    );
}

fn a_damaged_epitaph_is_told_and_not_shown(kernel: Kernel) {
    let text = boot(kernel, "epitaph-damaged").expect(0).text();
    let boots = [
        "boot 1 since",
        "the stored copy of this line",
        "boot 2 since",
    ];
    assert!(
        boots.iter().all(|words| text.contains(words)),
        "{kernel:?}: {text}"
    );
    let told = "epitaph, the last output before the reset:\n\
                | -- text omitted, because its checksum is wrong --\n";
    assert!(text.contains(told), "{kernel:?}: {text}");
    assert_eq!(
        text.matches("the stored copy of this line").count(),
        1,
        "{kernel:?}: {text}"
    );
}

/// QEMU has no caches, so the instructions are looked for. That they run for each line, a test of `postmortem` shows.
fn what_is_kept_is_written_back_from_the_caches(kernel: Kernel) {
    let code = symbols::code(&image(kernel), "postmortem::caches::clean");
    let is_there = match kernel.arch {
        // clflush [register]
        Arch::X86_64 => (code.windows(3)).any(|it| it[..2] == [0x0f, 0xae] && it[2] & 0xf8 == 0x38),
        // dc cvac
        Arch::Aarch64 => {
            let (words, _) = code.as_chunks();
            let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
            words.any(|word| word & !0x1f == 0xd50b_7a20)
        }
    };
    assert!(is_there, "{kernel:?}: {code:02x?}");
}

/// Nobody tells the kernel: it hangs, so to speak, and somebody presses the button. The checksum is right at any moment.
fn a_reset_from_outside_is_told_too(kernel: Kernel) {
    let arch = kernel.arch;
    let image = image(kernel);
    let data = std::fs::read(&image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    // Stops the machine where it would end, resets it there, and lets it come to its end the second time.
    let stop = format!("hbreak *{:#x}", symbols::pointer(&file, "AT_LEAVE"));
    let commands = [
        &*stop,
        "continue",
        "monitor system_reset",
        "continue",
        "delete",
        "continue",
    ];
    let boot = Boot {
        reboots: true,
        ..Boot::new(arch, &image, "ok")
    };
    let session = gdb::session(boot, commands);
    session.expect_stop();
    let booted = session.booted;
    let text = String::from_utf8_lossy(&booted.serial);
    let (before, after) = text
        .split_once("epitaph, the last output before the reset:\n")
        .unwrap_or_else(|| panic!("{kernel:?}: no epitaph in:\n{text}"));
    let quoted: Vec<_> = after
        .lines()
        .map_while(|line| line.strip_prefix("| "))
        .collect();
    assert_eq!(quoted, before.lines().collect::<Vec<_>>(), "{kernel:?}");
    assert!(
        before.ends_with("the sum of ten squares is 385\n"),
        "{kernel:?}: {text}"
    );
    assert_eq!(booted.verdict, Verdict::Success, "{kernel:?}: {text}");
}
