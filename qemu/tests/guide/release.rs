//! The linker's programs as they are released.

use std::fs;
use std::path::Path;
use std::process::Command;

use qemu::machine::Arch;
use qemu::workspace;

use super::modules;
use crate::support::built::target;

#[long]
fn what_is_released_links_as_what_is_built() {
    let status = Command::new(workspace::root().join(".ci/release"))
        .env("CARGO_TARGET_DIR", target())
        .status();
    assert!(status.expect("it starts").success());
    let files = target().join("release-files");
    let mut archives = fs::read_dir(&files)
        .expect("it is made")
        .filter_map(|file| {
            let path = file.expect("a folder can be read").path();
            (path.extension() == Some("gz".as_ref())).then_some(path)
        });
    let archive = archives.next().expect("an archive");
    assert!(archives.next().is_none());
    let checksums = archive.with_extension("gz.sha256");
    let status = Command::new("sha256sum")
        .args(["--check", "--quiet"])
        .arg(checksums)
        .current_dir(&files)
        .status();
    assert!(status.expect("sha256sum starts").success());

    let folder = tempfile::tempdir().expect("a folder can be made");
    let status = Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(&archive)
        .current_dir(folder.path())
        .status();
    assert!(status.expect("tar starts").success());
    let built = qemu::build::linker::build(&target()).expect("sframe-link is built");
    let module = |link: &Path| {
        let sources = tempfile::tempdir().expect("a folder can be made");
        let parts = modules::build(Arch::X86_64, link, sources.path());
        (
            parts,
            fs::read(sources.path().join("module.bin")).expect("it is made"),
        )
    };
    assert_eq!(module(&folder.path().join("sframe-link")), module(&built));
    let output = Command::new(folder.path().join("sframe"))
        .arg("--version")
        .output();
    let said = output.expect("it starts").stdout;
    assert!(said.starts_with(b"sframe "), "{said:?}");
}
