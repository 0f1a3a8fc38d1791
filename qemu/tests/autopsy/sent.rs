//! Dumps that a dying kernel has sent over its serial line.

use std::fs;

use qemu::build::Kernel;

use super::{build_id, gdb};
use crate::support::built::image;
use crate::support::runner::fed;
use crate::support::sent::{self, autopsy, boot};

pub fn what_is_sent_says_the_same(kernel: Kernel) {
    sent::what_is_sent_says_the_same(&image(kernel));
}

pub fn all_that_is_sent_says_the_same(kernel: Kernel) {
    sent::all_that_is_sent_says_the_same(&image(kernel));
}

pub fn what_is_sent_can_be_asked_more(kernel: Kernel) {
    sent::what_is_sent_can_be_asked_more(&image(kernel));
}

pub fn what_is_missing_is_said(kernel: Kernel) {
    sent::what_is_missing_is_said(&image(kernel));
}

pub fn what_is_sent_without_a_build_id_is_in_doubt(kernel: Kernel) {
    sent::what_is_sent_without_a_build_id_is_in_doubt(&image(kernel));
}

pub fn tasks_are_in_doubt_if_a_cpu_did_not_answer(kernel: Kernel) {
    sent::tasks_are_in_doubt_if_a_cpu_did_not_answer(&image(kernel));
}

/// gdb finds the same callers of both CPUs, and reads nothing that was not sent.
pub fn gdb_says_the_same_of_what_is_sent(kernel: Kernel) {
    let image = image(kernel);
    let (_, _folder, log) = boot(&image, "panic");
    let words = ["autopsy".as_ref(), log.as_os_str()];
    let words = words
        .into_iter()
        .chain(["--image".as_ref(), image.as_os_str()]);
    gdb::expect_the_same(&words.clone().collect::<Vec<_>>());
    let commands = "x/2gx $sp\nx/gx 16\nprint $sp\n";
    let said = fed(words.chain(["--gdb=run".as_ref()]), commands).expect(0);
    let text = said.text();
    assert!(
        text.contains("Cannot access memory at address 0x10")
            || said.words.contains("Cannot access memory at address 0x10"),
        "{text}{}",
        said.words
    );
}

/// What cannot be the image that ran is not taken for it, and what has no dump is not asked.
pub fn what_is_sent_has_its_image(kernel: Kernel) {
    let image = image(kernel);
    let (text, folder, log) = boot(&image, "panic");
    let other = folder.path().join("other");
    let mut bytes = fs::read(&image).expect("the image is there");
    let id = build_id(&bytes);
    bytes[id] ^= 1;
    fs::write(&other, bytes).expect("a file can be written");
    autopsy(&log, &other, &[])
        .expect(2)
        .expect_words("but the kernel that sent the data has ");
    let (report, _) = text.split_once("dump begin").expect("it has sent a dump");
    fs::write(&log, report).expect("a file can be written");
    for more in [&[][..], &["-i"]] {
        autopsy(&log, &image, more)
            .expect(2)
            .expect_words("contains no dump sent by a kernel");
    }
}
