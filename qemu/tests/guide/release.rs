//! The programs as they are released.

use std::fs;
use std::path::Path;
use std::process::Command;

use qemu::machine::Arch;
use qemu::workspace;

use super::modules;
use crate::support::built::target;
use crate::support::tiny::{self, Act};

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

    let image = tiny::image(folder.path(), Arch::X86_64, &[Act::Exit(33)]);
    let empty = tempfile::tempdir().expect("a folder can be made");
    let status = Command::new(folder.path().join("unwind-qemu"))
        .arg("--image")
        .arg(image)
        .current_dir(empty.path())
        .status();
    assert!(status.expect("it starts").success());
}

/// The exit status and the messages of `.ci/release --tag TAG`, with this `Cargo.toml`.
fn release(cargo_toml: &str, tag: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::create_dir(folder.path().join(".ci")).expect("a folder can be made");
    let script = folder.path().join(".ci/release");
    fs::copy(workspace::root().join(".ci/release"), &script).expect("there is a script");
    fs::write(folder.path().join("Cargo.toml"), cargo_toml).expect("a file can be written");
    let output = Command::new(script).args(["--tag", tag]).output();
    let output = output.expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[gate]
fn a_release_needs_the_tag_of_its_version_and_an_address() {
    let of_workspace = fs::read_to_string(workspace::root().join("Cargo.toml"));
    let (status, said) = release(&of_workspace.expect("there is a workspace"), "v0.0.0");
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("the tag is v0.0.0, but Cargo.toml has version "),
        "{said}"
    );

    let manifest =
        "[workspace.package]\nversion = \"1.2.3\"\nrepository = \"\"\n\n[workspace.lints.rust]\n";
    let (status, said) = release(manifest, "v1.2.3");
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("set the public address of this repository"),
        "{said}"
    );
    // Then it is built, of which there is nothing here.
    let (_, said) = release(
        &manifest.replace("\"\"", "\"https://example.org\""),
        "v1.2.3",
    );
    assert!(said.contains("--locked"), "{said}");
}
