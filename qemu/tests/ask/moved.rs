//! An image that a loader has put elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSegment};
use qemu::build::linker;
use qemu::decode::plain;
use setup::assemble;

use super::asked::Asked;
use crate::support::built::target;
use crate::support::report::Report;
use crate::support::runner::{Ran, fed, run, until_time_runs_out};

/// Where it is linked, and where it runs.
const LINKED: u64 = 0x4020_0000;
const LOADED: u64 = 0x4640_0000;

/// A kernel that runs wherever it is: it calls `outer`, which calls `inner`, which never ends.
const KERNEL: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
.cfi_undefined x30
 // Behind the image.
 adr x0, _start + 0x40000
 mov sp, x0
 bl outer
 b .
.cfi_endproc
.size _start, . - _start
.type outer, %function
outer:
.cfi_startproc
 str x30, [sp, #-32]!
.cfi_def_cfa_offset 32
.cfi_offset x30, -32
 bl inner
 ldr x30, [sp], #32
 ret
.cfi_endproc
.size outer, . - outer
.type inner, %function
inner:
.cfi_startproc
 sub sp, sp, #48
.cfi_def_cfa_offset 48
1: nop
 b 1b
.cfi_endproc
.size inner, . - inner
// A page by which the image is found.
.fill 4096
";

const SCRIPT: &str = "
ENTRY(_start)
SECTIONS {
    . = 0x40200000;
    .text : { *(.text .text.*) }
    .eh_frame : { KEEP(*(.eh_frame)) }
}
";

/// Assembles and links the kernel.
fn linked(folder: &Path) -> PathBuf {
    let object = assemble(folder, "aarch64-unknown-none-softfloat", KERNEL);
    object.expect("it is assembled");
    fs::write(folder.join("kernel.ld"), SCRIPT).expect("a file can be written");
    let linker = linker::build(&target()).expect("sframe-link is built");
    let mut link = Command::new(linker);
    link.args("-T kernel.ld -o kernel input.o".split(' '));
    let output = link.current_dir(folder).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    folder.join("kernel")
}

/// The bytes of memory that the image is, from where it is linked on.
fn flat(image: &Path) -> Vec<u8> {
    let data = fs::read(image).expect("the image is there");
    let file = object::File::parse(&*data).expect("it is ELF");
    let mut flat = Vec::new();
    for segment in file.segments() {
        let (at, data) = (
            segment.address() - LINKED,
            segment.data().expect("it has data"),
        );
        flat.resize(flat.len().max(at as usize + data.len()), 0);
        flat[at as usize..][..data.len()].copy_from_slice(data);
    }
    flat
}

#[gate]
fn an_image_that_was_moved_is_found() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = linked(folder.path());
    let memory = folder.path().join("memory");
    fs::write(&memory, flat(&image)).expect("a file can be written");
    let dumps = folder.path().join("dumps");
    let asked = |address: u64| {
        let given = format!(
            "qemu-system-aarch64 -M virt -cpu max -device loader,addr={address:#x},cpu-num=0,force-raw=on,file={}",
            memory.display()
        );
        let image = image.to_str().expect("a path in UTF-8");
        let dumps = dumps.to_str().expect("a path in UTF-8");
        let run = |seconds: &str| {
            let words = [
                "--timeout",
                seconds,
                "--dump",
                dumps,
                "--image",
                image,
                "--",
            ];
            run(words.into_iter().chain(given.split(' ')))
        };
        // The innermost function of the image.
        let is_there = |ran: &Ran| ran.words.contains(" inner");
        Asked::of(until_time_runs_out(run, is_there))
    };
    let frames = |asked: &Asked| {
        let [report] = &asked.reports[..] else {
            panic!("{}", asked.text);
        };
        // The code shows where its stack begins, wherever it is.
        let end = "end of backtrace: complete, 3 frames\n";
        assert!(asked.text.contains(end), "{}", asked.text);
        let names: Vec<_> = report.names().into_iter().map(str::to_owned).collect();
        assert_eq!(names, ["inner", "outer", "_start"], "{}", asked.text);
        let addresses: Vec<_> = report.frames.iter().map(|frame| frame.address).collect();
        addresses
    };
    let there = asked(LINKED);
    assert!(!there.text.contains("moved by"), "{}", there.text);
    let elsewhere = asked(LOADED);
    let by = format!(", moved by {:#x}", LOADED - LINKED);
    assert!(elsewhere.text.contains(&by), "{}", elsewhere.text);
    let [linked, loaded] = [&there, &elsewhere].map(frames);
    let moved = |address: &u64| address + (LOADED - LINKED);
    assert_eq!(
        linked[1..].iter().map(moved).collect::<Vec<_>>(),
        loaded[1..]
    );

    gdb_finds_the_names(&dumps);

    // Somebody decodes it later, who has only the text.
    let nameless: String = elsewhere
        .text
        .lines()
        .map(|line| {
            let end = line.find(['+', '\n']).filter(|_| line.starts_with("   "));
            let line = end.map_or(line, |end| line[..end].rsplit_once(' ').expect("a name").0);
            line.to_owned() + "\n"
        })
        .collect();
    assert!(!nameless.contains("inner"), "{nameless}");
    let decoded = plain(nameless.as_bytes(), &image).expect("the image can be read");
    let decoded = Report::find(decoded.as_bytes());
    assert_eq!(
        decoded.names(),
        ["inner", "outer", "_start"],
        "{}",
        decoded.text
    );
}

/// In the dumps of both machines.
#[track_caller]
fn gdb_finds_the_names(dumps: &Path) {
    let folders = fs::read_dir(dumps).expect("there are dumps");
    let mut count = 0;
    for dump in folders.map(|entry| entry.expect("a folder").path()) {
        let arguments = ["autopsy".as_ref(), "--gdb=run".as_ref(), dump.as_os_str()];
        let text = fed(arguments, "backtrace\n").expect(0).text();
        for name in ["#0  0x", " in inner (", " in outer (", " in _start ("] {
            assert!(text.contains(name), "{name}: {text}");
        }
        count += 1;
    }
    assert_eq!(count, 2);
}
