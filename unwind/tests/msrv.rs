//! The oldest Rust that `Cargo.toml` promises: clippy knows since when each item of `core` is there. What it does not know is the
//! age of a language feature; the newest one in use, let chains, is of 1.88.

use std::process::Command;

/// Runs clippy's check of the library against a Rust version; what it says against it.
fn against(version: Option<&str>) -> (bool, String) {
    let folder = env!("CARGO_MANIFEST_DIR");
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["clippy", "--lib", "--features", "defmt", "--target-dir"])
        .arg(concat!(env!("CARGO_TARGET_TMPDIR"), "/msrv"))
        .current_dir(folder);
    if let Some(version) = version {
        let configuration = concat!(env!("CARGO_TARGET_TMPDIR"), "/clippy");
        std::fs::create_dir_all(configuration).expect("a folder can be made");
        let file = format!("{configuration}/clippy.toml");
        std::fs::write(file, format!("msrv = \"{version}\"\n")).expect("a file can be written");
        command.env("CLIPPY_CONF_DIR", configuration);
    }
    command.args(["--", "--deny", "clippy::incompatible_msrv"]);
    let output = command.output().expect("cargo can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), said)
}

#[test]
fn nothing_is_newer_than_the_promised_rust() {
    let (fine, said) = against(None);
    assert!(fine, "{said}");
}

/// The check can fail, and the promise is as low as it can be.
#[test]
fn the_release_before_would_be_too_old() {
    let (fine, said) = against(Some("1.87.0"));
    assert!(!fine && said.contains("is stable since `1.88.0`"), "{said}");
}
