//! `--gsym`, as LLVM's own reader sees it: every address of a program has the frames that debug information has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{folder, program, sframe, stdout, succeed, tool};
use linker::image::Image;
use object::{Object, ObjectSection};

/// LLVM's program. Debian gives it a name with the version in `PATH`, but lays it beside the others of the package.
fn gsymutil() -> PathBuf {
    let objdump = tool("llvm-objdump", "llvm");
    let path = fs::canonicalize(objdump.get_program()).unwrap();
    path.with_file_name("llvm-gsymutil")
}

/// A frame: file without its folders, and line.
type Place = (String, u32);

/// What debug information says, innermost frame first. Nothing where any line is unknown.
fn expected(data: &[u8], addresses: &[u64]) -> Vec<Option<Vec<Place>>> {
    let file = object::File::parse(data).unwrap();
    let sections = gimli::DwarfSections::load(|id| {
        let section = file.section_by_name(id.name());
        let data = section.map_or(Ok(Default::default()), |section| {
            section.uncompressed_data()
        });
        data.map_err(|_| gimli::Error::Io)
    })
    .unwrap();
    let dwarf = sections.borrow(|data| gimli::EndianSlice::new(data, gimli::LittleEndian));
    let context = addr2line::Context::from_dwarf(dwarf).unwrap();
    let place = |address: &u64| {
        let mut frames = context.find_frames(*address).skip_all_loads().unwrap();
        let mut places = Vec::new();
        while let Some(frame) = frames.next().unwrap() {
            let location = frame.location?;
            let name = Path::new(location.file?).file_name()?.to_str()?.to_owned();
            places.push((name, location.line.filter(|line| *line != 0)?));
        }
        Some(places).filter(|places| !places.is_empty())
    };
    addresses.iter().map(place).collect()
}

/// What `llvm-gsymutil` prints for one address: `0x…: name + 4 @ folder/name:line [inlined]`, and more lines of callers.
fn printed(text: &str) -> Vec<Place> {
    let place = |line: &str| {
        let at = line.rsplit_once(" @ ")?.1;
        let (path, line) = at.split(' ').next()?.rsplit_once(':')?;
        let name = path.rsplit('/').next()?;
        Some((name.to_owned(), line.parse().ok()?))
    };
    text.lines().filter_map(place).collect()
}

#[test]
fn llvm_reads_the_same_frames_as_debug_information_has() {
    let gsymutil = gsymutil();
    let folder = folder("gsym");
    program(&folder, &["-Clink-arg=--gsym=image.gsym", "-Copt-level=3"]);
    let data = fs::read(folder.join("image")).unwrap();
    let image = Image::parse(&data).unwrap();
    let code = image.section(".text").unwrap().unwrap();
    let addresses: Vec<u64> = (code.address..code.address + code.data.len() as u64)
        .step_by(3)
        .collect();

    let mut inlined = 0;
    let mut compared = 0;
    let expected = expected(&data, &addresses);
    for (addresses, expected) in addresses.chunks(400).zip(expected.chunks(400)) {
        let mut command = Command::new(&gsymutil);
        command.args(
            addresses
                .iter()
                .map(|address| format!("--address={address:#x}")),
        );
        let text = stdout(&succeed(command.arg(folder.join("image.gsym"))));
        // An answer starts with its address; callers follow on more lines.
        let mut answers = text.split("\n0x").skip(1);
        for (address, expected) in addresses.iter().zip(expected) {
            let answer = answers.next().unwrap();
            let Some(expected) = expected else { continue };
            assert_eq!(printed(answer), *expected, "{address:#x}: {answer}");
            compared += 1;
            inlined += u32::from(expected.len() > 1);
        }
    }
    assert!(
        compared > 200 && inlined > 50,
        "{compared} compared, {inlined} inlined"
    );

    // The same from a file that is linked already.
    let made = folder.join("made.gsym");
    let made_image = folder.join("made");
    let arguments = [
        "make",
        "-o",
        made_image.to_str().unwrap(),
        "--gsym",
        made.to_str().unwrap(),
    ];
    let output = sframe(&arguments, &folder.join("image"));
    assert!(output.status.success());
    assert!(fs::read(made).unwrap() == fs::read(folder.join("image.gsym")).unwrap());
}
