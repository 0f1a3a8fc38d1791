//! Dumps, and that a machine of which only its dump is left tells the same as when it was asked.

mod gdb;
mod monitor;
mod refused;
mod sent;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::built::{image, kernel};
use crate::support::corrupt;
use crate::support::each::kernel_tests;
use crate::support::runner::{command, run};
use crate::support::session::Session;
use crate::support::tiny::{self, Act};
use gdb::{gdb_may_come_by_a_port, gdb_says_the_same, what_gdb_has_read_says_the_same};
use monitor::{
    a_terminal_edits_commands, commands_say_what_the_machine_was, statics_have_their_parts,
    what_cannot_be_run_is_named,
};
use qemu::build::Kernel;
use qemu::decode::Symbolizer;
use qemu::machine::{Arch, Processor};
use sent::{
    all_that_is_sent_says_the_same, gdb_says_the_same_of_what_is_sent,
    tasks_are_in_doubt_if_a_cpu_did_not_answer, what_is_missing_is_said,
    what_is_sent_can_be_asked_more, what_is_sent_has_its_image, what_is_sent_says_the_same,
    what_is_sent_without_a_build_id_is_in_doubt,
};
use tempfile::TempDir;

kernel_tests! { every_of_all:
    four_cpus,
    tasks,
}
kernel_tests! { much_and_little_inlined:
    commands_say_what_the_machine_was,
    in_an_interrupt,
    without_checksum,
}

kernel_tests! { every_in_long:
    all_that_is_sent_says_the_same,
}

kernel_tests! { release:
    what_is_missing_is_said,
    what_is_sent_can_be_asked_more,
    what_is_sent_says_the_same,
    tasks_are_in_doubt_if_a_cpu_did_not_answer,
    what_is_sent_without_a_build_id_is_in_doubt,
    gdb_says_the_same_of_what_is_sent,
}

kernel_tests! { release_of_all:
    what_gdb_has_read_says_the_same,
}

kernel_tests! { release_of_all:
    gdb_says_the_same,
}

kernel_tests! { debug:
    statics_have_their_parts,
}

kernel_tests! { x86_64:
    what_is_sent_has_its_image,
    gdb_may_come_by_a_port,
    a_terminal_edits_commands,
    what_cannot_be_run_is_named,
}

/// How the report begins.
const ASKED: &str = "inspected by the runner, because ";
/// What the runner says of a dump, before its path.
const KEPT: &str = "; to read the dump, type: cargo run -- autopsy ";

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

/// Boots with dumps in this folder, whatever comes of it; returns each report, and its dump.
#[track_caller]
fn asked<A: AsRef<OsStr>>(folder: &Path, status: i32, arguments: &[A]) -> Vec<(String, PathBuf)> {
    let dump = ["--dump".as_ref(), folder.as_os_str()];
    let arguments = arguments.iter().map(AsRef::as_ref);
    let ran = run(dump.into_iter().chain(arguments)).expect(status);
    let mut reports = Vec::new();
    let mut words = ran.words.as_str();
    while let Some(from) = words.find(ASKED) {
        let rest = &words[from..];
        let end = rest.find("runner: ");
        let end = end.unwrap_or_else(|| panic!("nothing follows: {}", ran.words));
        let line = rest[end..].lines().next().unwrap_or_default();
        let (_, path) = line
            .split_once(KEPT)
            .unwrap_or_else(|| panic!("no dump is named: {}", ran.words));
        reports.push((rest[..end].to_owned(), PathBuf::from(path)));
        words = &rest[end..];
    }
    assert!(!reports.is_empty(), "nobody was asked: {}", ran.words);
    reports
}

/// Fails unless the dump tells the same.
#[track_caller]
fn expect_same(report: &str, dump: &Path) {
    let ran = run(["autopsy".as_ref(), dump.as_os_str()]).expect(0);
    expect_equal(report, &ran.text());
    assert_eq!(ran.words, "", "it says no more");
}

#[track_caller]
fn expect_equal(live: &str, dead: &str) {
    let difference = similar::TextDiff::from_lines(live, dead);
    assert_eq!(
        live,
        dead,
        "the machine and its dump differ:\n{}",
        difference.unified_diff()
    );
}

/// Boots a scenario that hangs, up to two seconds of the machine's own time; the report has all of `says`.
#[track_caller]
fn expect_of(image: &Path, scenario: &str, cpus: &str, says: &[&str]) -> (TempDir, PathBuf) {
    let folder = folder();
    let image = image.to_str().expect("a path in UTF-8");
    let words = [
        "--guest-timeout",
        "2",
        "--cpus",
        cpus,
        "--image",
        image,
        scenario,
    ];
    let reports = asked(folder.path(), 124, &words);
    let [(report, dump)] = &reports[..] else {
        panic!("{reports:?}");
    };
    for part in says {
        assert!(report.contains(part), "no {part:?} in:\n{report}");
    }
    expect_same(report, dump);
    let dump = dump.clone();
    (folder, dump)
}

/// All CPUs; and no other image is taken for the one that ran.
fn four_cpus(kernel: Kernel<Processor>) {
    let last = "cpu 3, stopped at ";
    let (folder, dump) = expect_of(&image(kernel), "hang-masked", "4", &[last, ": complete, "]);
    let other = match kernel.arch {
        Processor::X86_64 => tiny::image(folder.path(), Arch::X86_64, &[Act::Spin]),
        // One with a build id, and another one.
        Processor::Aarch64 | Processor::Armv7a => {
            let name = folder.path().join("other");
            let mut bytes = fs::read(image(kernel)).expect("the image is there");
            let id = build_id(&bytes);
            bytes[id] ^= 1;
            fs::write(&name, bytes).expect("a file can be written");
            name
        }
    };
    let words = ["autopsy".as_ref(), dump.as_os_str(), "--image".as_ref()];
    let with = |image: &Path| run(words.into_iter().chain([image.as_os_str()]));
    with(&other)
        .expect(2)
        .expect_words("does not match the dump");
    let same = with(&image(kernel)).expect(0).text();
    assert!(same.contains(last), "{same}");
}

/// Where the first byte of an image's build id is.
fn build_id(image: &[u8]) -> usize {
    use object::{Object, ObjectSection};

    let file = object::File::parse(image).expect("it is ELF");
    let id = file
        .build_id()
        .expect("it can be read")
        .expect("it has one");
    let section = file.section_by_name(".note.gnu.build-id");
    let (start, size) = section
        .and_then(|section| section.file_range())
        .expect("a section has it");
    let end = (start + size) as usize;
    assert_eq!(&image[end - id.len()..end], id);
    end - id.len()
}

/// The address of an image's build id, and how many bytes it has.
fn loaded_build_id(image: &[u8]) -> (u64, u64) {
    use object::{Object, ObjectSection};

    let file = object::File::parse(image).expect("it is ELF");
    let section = file.section_by_name(".note.gnu.build-id");
    let section = section.expect("it has a build id");
    let (start, _) = section.file_range().expect("a section has it");
    let before = build_id(image) as u64 - start;
    (section.address() + before, section.size() - before)
}

/// Those that run and those that do not, and what they wait for.
fn tasks(kernel: Kernel<Processor>) {
    let says = [
        "cpu 0, stopped at ",
        "\ntask 0 main: waits for task 8 worker to end, stack boot\n",
        "\ntask 9 waiter: waits for lock ledger, which task 8 worker holds, stack task waiter\n",
    ];
    expect_of(&image(kernel), "hang-tasks", "1", &says);
}

fn in_an_interrupt(kernel: Kernel) {
    let says = ["   ----- interrupted, stack boot -----\n", "\ncpu 1, "];
    expect_of(&image(kernel), "hang-in-interrupt", "2", &says);
}

/// As of an image that another tool has linked.
fn without_checksum(kernel: Kernel) {
    let folder = folder();
    let copy = corrupt::copy(&image(kernel), folder.path(), ".sframe", |table| {
        // The word that marks the checksum.
        let mark = table.len() - 4;
        table[mark..].fill(0);
    });
    let says = [", tables without checksum\n", "in doubt"];
    expect_of(&copy, "hang-deep", "1", &says);
}

/// An image of a few instructions that spins, as boots and dumps of it take little time: without paging, and without build id.
fn spin(folder: &Path, arch: Arch) -> PathBuf {
    tiny::image(folder, arch, &[Act::Spin])
}

#[gate]
fn a_machine_without_page_tables_is_kept_too() {
    for (arch, says) in [
        (Arch::X86_64, "cpu 0 is not in 64-bit mode, at "),
        (Arch::Aarch64, "   0: 0x0000000040200000 p\n"),
    ] {
        let folder = folder();
        expect_of(&spin(folder.path(), arch), "", "1", &[says]);
    }
}

#[gate]
fn a_hypervisor_is_kept_too() {
    let folder = folder();
    let image = spin(folder.path(), Arch::Aarch64);
    let image = image.to_str().expect("a path in UTF-8");
    let machine = format!("qemu-system-aarch64 -M virt,virtualization=on -cpu max -kernel {image}");
    let mut words = vec!["--guest-timeout", "1", "--image", image, "--"];
    words.extend(machine.split(' '));
    let reports = asked(folder.path(), 124, &words);
    let [(report, dump)] = &reports[..] else {
        panic!("{reports:?}");
    };
    assert!(report.contains("   0: 0x0000000040200000 p\n"), "{report}");
    expect_same(report, dump);
}

/// It tells QEMU of it, by a device.
#[gate]
fn a_panic_is_kept() {
    let folder = folder();
    let image = tiny::image(folder.path(), Arch::X86_64, &[Act::Panic]);
    let image = image.to_str().expect("a path in UTF-8");
    let machine = format!("qemu-system-x86_64 -M pc -device pvpanic -kernel {image}");
    let mut words = vec!["--timeout", "60", "--image", image, "--"];
    words.extend(machine.split(' '));
    let reports = asked(folder.path(), 101, &words);
    let [(report, dump)] = &reports[..] else {
        panic!("{reports:?}");
    };
    let reason = "inspected by the runner, because the kernel reported a panic to QEMU: 1 CPU, ";
    assert!(report.starts_with(reason), "{report}");
    expect_same(report, dump);
}

/// Each has a folder of its own, and a second run takes nothing from the first.
#[gate]
fn each_time_is_kept() {
    let folder = folder();
    let image = spin(folder.path(), Arch::Aarch64);
    let image = image.to_str().expect("a path in UTF-8");
    let words = ["--ask", "0.2", "--timeout", "2", "--image", image];
    let mut names = Vec::new();
    for _ in 0..2 {
        for (report, dump) in asked(&folder.path().join("dumps"), 124, &words) {
            expect_same(&report, &dump);
            let name = dump.file_name().expect("it has a name");
            names.push(name.to_string_lossy().into_owned());
        }
    }
    let name = "tiny-aarch64-aarch64";
    let others = [2, 3, 4].map(|number| format!("{name}-{number}"));
    assert_eq!(names[0], name);
    assert_eq!(names[1..], others);
    let left = fs::read_dir(folder.path().join("dumps")).expect("the folder is there");
    assert_eq!(left.count(), names.len(), "and nothing else is left there");
}

/// An image that is built anew while the machine runs, in place or as another file, has nothing to do with its memory: names and the dump are
/// of the one that was booted.
#[gate]
fn an_image_that_was_built_anew_changes_nothing() {
    let folder = folder();
    let built = image(kernel("aarch64_debug"));
    let name = folder.path().join("kernel");
    let dumps = folder.path().join("dumps");
    let mut reports = Vec::new();
    for in_place in [true, false] {
        fs::copy(&built, &name).expect("it can be copied");
        let mut command = command();
        let limits = ["--ask", "1", "--timeout", "120", "--dump"];
        command.args(limits).arg(&dumps).arg("--image").arg(&name);
        let mut session = Session::of(command.arg("hang-masked"));
        session.wait_for_words("to read the dump, type: cargo run -- autopsy ");
        if !in_place {
            fs::remove_file(&name).expect("it is there");
        }
        let mut bytes = fs::read(&built).expect("the image is there");
        let id = build_id(&bytes);
        bytes[id] ^= 1;
        fs::write(&name, bytes).expect("a file can be written");
        session.interrupt();
        let ran = session.end().expect(130);
        reports.push(ran.words);
    }
    let kept = fs::read_dir(&dumps).expect("the folder is there");
    let images = kept.map(|dump| dump.expect("a folder").path().join("image.elf"));
    let images: Vec<_> = images
        .map(|path| fs::read(path).expect("it is kept"))
        .collect();
    assert_eq!(images.len(), 4, "{reports:?}");
    let booted = fs::read(&built).expect("the image is there");
    assert!(images.iter().all(|image| *image == booted));
}

/// Nothing was asked before: the image is read only then.
#[gate]
fn an_image_is_that_which_was_booted_though_it_is_read_later() {
    let folder = folder();
    let [built, other] = ["aarch64_debug", "aarch64_release"].map(|name| image(kernel(name)));
    let name = folder.path().join("kernel");
    fs::copy(&built, &name).expect("it can be copied");
    let mut command = command();
    command.args(["--timeout", "120", "--image"]).arg(&name);
    let mut session = Session::of(command.arg("hang-masked"));
    session.wait_for("kernel on ");
    fs::copy(&other, &name).expect("it can be copied");
    session.interrupt();
    let ran = session.end().expect(130);
    let id = |image: &Path| {
        let symbolizer = Symbolizer::open(image).expect("the image can be read");
        symbolizer.build_id().expect("it has one").to_owned()
    };
    ran.expect_words(&format!(", build {}, ", id(&built)));
}
