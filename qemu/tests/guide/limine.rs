//! A kernel for the boot protocol of Limine. There is no binary of Limine to be had, so its image is looked at, and a loader of our
//! own, which is written by the protocol's specification, starts it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use object::{Object, ObjectSection, ObjectSegment};
use qemu::build::{Kernel, Profile};

use super::builds::{Built, PLACE, Sources, compile, outside};
use super::said::Said;
use super::short::{HANDLERS, Kind};

pub const LIMINE: Kind = Kind {
    name: "limine",
    page: "limine.md",
    lines: 8,
    boot,
    ..HANDLERS
};

/// Words by which a loader finds what the kernel asks for, as the protocol's specification has them: where requests begin, the base
/// revision, the request for the map of physical memory, and where requests end.
const MAGIC: [&[u64]; 4] = [
    &[0xf6b8_f4b3_9de7_d1ae, 0xfab9_1a69_40fc_b9cf],
    &[0xf956_2b2d_5c95_a6c8, 0x6a7b_3849_4453_6bdc],
    &[0x48dc_f1cb_8ad2_b852, 0x6398_4e95_9a98_244b],
    &[0xadc0_e053_1bb1_0d03, 0x9572_709f_3176_4c62],
];

/// Builds the kernel, with the loader beside its image.
fn build(sources: Sources, kernel: Kernel) -> Built {
    sources.once(kernel.profile, |sources, to| {
        compile(sources, kernel.arch.triple(), kernel.profile, to);
        fs::copy(loader(), to.join("loader")).expect("the loader can be copied");
    })
}

/// The loader. Built while the sources of a kernel are held.
fn loader() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        outside("limine_loader").build(LIMINE.arch, PLACE, Profile::Debug, "loader")
    })
}

fn boot(sources: Sources, kernel: Kernel) -> Said {
    let built = build(sources, kernel);
    let [image, loader] = ["corner-shop", "loader"].map(|name| built.beside(name));
    let exit = ["-device", "isa-debug-exit,iobase=0xf4", "-serial", "stdio"];
    let machine = ["qemu-system-x86_64", "-kernel", &loader, "-initrd", &image];
    Said::of(kernel, built, &[&machine[..], &exit].concat())
}

/// Fails unless the loader finds each of these words, once, in memory that the kernel can write.
#[track_caller]
fn expect_requests(file: &object::File<'_>) {
    let data = file.section_by_name(".data").expect("data");
    let bytes = data.data().expect("it is in the file");
    let words: Vec<_> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .collect();
    let at = MAGIC.map(|magic| {
        let mut places = words
            .windows(magic.len())
            .enumerate()
            .filter(|(_, it)| *it == magic);
        let (at, _) = places.next().expect("it is there");
        assert_eq!(places.count(), 0);
        at
    });
    let [start, revision, request, end] = at;
    assert!(start < revision.min(request) && revision.max(request) < end);
}

/// What `sframe check` says of an image, which is right.
fn check(image: &Path) -> String {
    let sframe = env!("CARGO_BIN_EXE_unwind-qemu").replace("unwind-qemu", "sframe");
    let output = Command::new(sframe).arg("check").arg(image).output();
    let output = output.expect("sframe starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{output:?}");
    text
}

#[long]
fn a_kernel_for_limine_is_linked_with_all_tables() {
    let image = |profile, change: fn(&Sources)| {
        let sources = Sources::of(LIMINE.name);
        change(&sources);
        let arch = LIMINE.arch;
        let built = build(sources, Kernel { arch, profile });
        built.image
    };
    for profile in [Profile::Debug, Profile::Release] {
        let before = fs::read(image(profile, |_| ())).expect("the image can be read");
        let before = object::File::parse(&*before).expect("the image is ELF");
        expect_requests(&before);
        assert!(before.section_by_name(".sframe").is_none());

        let image = image(profile, |sources| LIMINE.apply(sources));
        let data = fs::read(&image).expect("the image can be read");
        let file = object::File::parse(&*data).expect("the image is ELF");
        expect_requests(&file);
        // The loader takes as many segments, and maps the tables as it maps the code.
        assert_eq!(file.segments().count(), before.segments().count());
        let code = file.segments().next().expect("a segment");
        let code = code.address()..code.address() + code.file_range().1;
        for name in [".text", ".sframe", ".symbols"] {
            let section = file.section_by_name(name).expect(name);
            let end = section.address() + section.size();
            assert!(
                code.contains(&section.address()) && end <= code.end,
                "{name}"
            );
        }
        let text = check(&image);
        assert!(text.contains(": 0 differences"), "{text}");
        assert!(
            text.contains("kmain: the function is declared to have no caller"),
            "{text}"
        );
        let covered = text
            .split(".sframe has unwind rows for ")
            .nth(1)
            .expect(&text);
        let percent = covered.split(' ').next().unwrap_or_default();
        assert!(percent.parse::<f64>().expect("a number") > 99.0, "{text}");
        let contradicts = text.contains(", interrupt handlers: 3;");
        match profile {
            Profile::Debug => assert!(contradicts, "{text}"),
            // Optimized, without call frame information: all rows are read out of the code.
            _ => assert!(
                text.contains("\nverified functions: 0 of 0 (100.00 %), "),
                "{text}"
            ),
        }
    }
}
