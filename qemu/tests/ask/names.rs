//! Names that are in the machine's memory: whatever they contain, they are no lines of a report.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment};

use super::asked::Asked;
use crate::support::built::{image, kernel};
use crate::support::runner::run;
use crate::support::symbols;

/// The name of a lock in the kernel.
const NAME: &[u8] = b"ledger";

/// The name of a lock looks like a frame, to which the runner would add the name of a function.
#[gate]
fn the_name_of_a_lock_is_no_frame() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let kernel = image(kernel("x86_64_release"));
    let entry = {
        let data = fs::read(&kernel).expect("the image can be read");
        let file = object::File::parse(&*data).expect("it is ELF");
        symbols::address(&file, "kernel_entry")
    };
    let name = format!("   0: {entry:#018x} p x");
    let copy = renamed(&kernel, folder.path(), name.as_bytes());
    let arguments = ["--guest-timeout", "1", "--image"].map(str::as_ref);
    let words = [copy.as_os_str(), "hang-tasks".as_ref()];
    let asked = Asked::of(run([&arguments[..], &words[..]].concat()).expect(124));
    let says = format!(
        "\ntask 9 waiter: waits for lock {name}, which task 8 worker holds, stack task waiter\n"
    );
    assert!(asked.text.contains(&says), "{}", asked.text);
}

/// A word that is the state of no task, as after something has written over it: the task is not passed over.
#[gate]
fn a_task_in_no_known_state_is_named() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let kernel = image(kernel("x86_64_release"));
    let tasks = {
        let data = fs::read(&kernel).expect("the image can be read");
        let file = object::File::parse(&*data).expect("it is ELF");
        symbols::array(&file, "TASKS")
    };
    let mut words = vec![0; (tasks.count * tasks.stride) as usize];
    words[(3 * tasks.stride) as usize] = 0xfe;
    let [memory, registers] = ["memory", "registers"].map(|name| folder.path().join(name));
    fs::write(&memory, words).expect("a file can be written");
    fs::write(&registers, "rip 0x1000\nrsp 0x2000\nrbp 0x0\n").expect("a file can be written");
    let memory = format!("{:#x}={}", tasks.first, memory.display());
    let words = [
        "autopsy".as_ref(),
        "--registers".as_ref(),
        registers.as_os_str(),
    ];
    let more = [
        "--memory".as_ref(),
        memory.as_ref(),
        "--image".as_ref(),
        kernel.as_os_str(),
    ];
    let text = run(words.into_iter().chain(more)).expect(0).text();
    assert!(
        text.contains("\ntask 3: the task state 0xfe is unknown\n"),
        "{text}"
    );
}

/// Writes a copy of an image in which the kernel's lock has this name.
fn renamed(image: &Path, folder: &Path, name: &[u8]) -> PathBuf {
    let mut bytes = fs::read(image).expect("the image can be read");
    let addresses: Vec<_> = {
        let file = object::File::parse(&*bytes).expect("it is ELF");
        let places = places(&bytes, NAME).into_iter();
        let address = |at: usize| {
            file.segments().find_map(|segment| {
                let (offset, size) = segment.file_range();
                let into = (at as u64).checked_sub(offset)?;
                (into < size).then(|| segment.address() + into)
            })
        };
        places.filter_map(|at| Some((at, address(at)?))).collect()
    };
    let mut is_renamed = false;
    for (at, address) in addresses {
        let slice = |size: usize| [address, size as u64].map(u64::to_le_bytes).concat();
        for place in places(&bytes, &slice(NAME.len())) {
            bytes[place..place + 16].copy_from_slice(&slice(name.len()));
            bytes[at..at + name.len()].copy_from_slice(name);
            is_renamed = true;
        }
    }
    assert!(is_renamed, "no lock has the name");
    let copy = folder.join("kernel");
    fs::write(&copy, bytes).expect("a file can be written");
    copy
}

/// Where these bytes are.
fn places(bytes: &[u8], wanted: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(wanted.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == wanted);
    found.map(|(at, _)| at).collect()
}
