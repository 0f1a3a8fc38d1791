//! Symbolizer markup: what LLVM's symbolizer makes of it, from debug information, is what the report says.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::boots::boot;
use crate::support::built::image;
use crate::support::each::kernel_tests;
use crate::support::llvm::symbolizer;
use crate::support::report::Report;
use object::{File, Object};
use qemu::build::Kernel;

kernel_tests! { every:
    a_symbolizer_finds_what_the_report_says,
}

/// A folder in which a symbolizer finds an image by its build id.
fn by_build_id(image: &Path, folder: &Path) {
    let data = fs::read(image).expect("the image can be read");
    let file = File::parse(&*data).expect("the image is an ELF file");
    let id = file
        .build_id()
        .expect("its notes can be read")
        .expect("it has a build id");
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = folder.join(".build-id").join(&id[..2]);
    fs::create_dir_all(&folder).expect("a folder can be made");
    symlink(image, folder.join(format!("{}.debug", &id[2..]))).expect("a link can be made");
}

fn a_symbolizer_finds_what_the_report_says(kernel: Kernel) {
    let symbolizer = symbolizer();
    let image = image(kernel);
    let ran = boot(kernel, "null-read markup").expect(101);
    let report = Report::find(&ran.serial);
    let text = ran.text().replace('\r', "");
    let markup: String = text
        .lines()
        .filter(|line| line.starts_with("{{{"))
        .flat_map(|line| [line, "\n"])
        .collect();

    let folder = tempfile::tempdir().expect("a temporary folder");
    by_build_id(&image, folder.path());
    let mut command = Command::new(&symbolizer)
        .arg("--filter-markup")
        .arg("--debug-file-directory")
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the symbolizer starts");
    let mut input = command.stdin.take().expect("it has an input");
    input.write_all(markup.as_bytes()).expect("it reads");
    drop(input);
    let output = command.wait_with_output().expect("it ends");
    let output = String::from_utf8_lossy(&output.stdout);
    // "   #3      0x... function file:line:column (kernel+0x...)", and for what is inlined there "   #3.1 ..." before it.
    let found: Vec<&str> = output
        .lines()
        .filter(|line| line.trim_start().starts_with('#'))
        .collect();
    let is_frame = |line: &&&str| {
        !line
            .split_whitespace()
            .next()
            .is_some_and(|word| word.contains('.'))
    };
    let frames: Vec<_> = found.iter().filter(is_frame).collect();
    assert_eq!(frames.len(), report.frames.len(), "{kernel:?}: {output}");
    for (line, frame) in frames.iter().zip(&report.frames) {
        // It shows a return address as it looks it up.
        let before = u64::from(frame.letter != 'p');
        let address = format!("{:#018x}", frame.address - before);
        assert!(
            line.contains(&address),
            "{kernel:?}: no {address} in {line}"
        );
        let outermost = frame.sources.last().expect("a name");
        if let Some((file, number)) = &outermost.place {
            let file = Path::new(file)
                .file_name()
                .expect("a name")
                .to_string_lossy();
            let place = format!("{file}:{number}:");
            assert!(line.contains(&place), "{kernel:?}: no {place} in {line}");
        }
    }
    let inlined = found.len() - frames.len();
    let sources: usize = report
        .frames
        .iter()
        .map(|frame| frame.sources.len() - 1)
        .sum();
    println!(
        "{kernel:?}: {} frames, {inlined} inlined, {sources} of them in the report",
        frames.len()
    );
    assert!(inlined >= sources, "{kernel:?}: {output}");
}
