//! An assembler for every target that rustc knows, with nothing installed for any of them: rustc itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A crate without even `core`, so that there need be none for the target.
const CRATE: &str = r#"
#![feature(no_core, lang_items, rustc_attrs)]
#![no_core]
#![crate_type = "lib"]
#![allow(internal_features)]
#[lang = "pointee_sized"] trait PointeeSized {}
#[lang = "meta_sized"] trait MetaSized: PointeeSized {}
#[lang = "sized"] trait Sized: MetaSized {}
#[rustc_builtin_macro] macro_rules! global_asm { () => {} }
#[rustc_builtin_macro] macro_rules! include_str { () => {} }
"#;

/// Assembles a text into the object file `input.o` of a folder. On x86-64 it is in AT&T's syntax.
///
/// # Errors
/// A file cannot be written; rustc cannot be started, or says what is wrong with the text.
pub fn assemble(folder: &Path, target: &str, text: &str) -> Result<PathBuf> {
    let options = match target.starts_with("x86_64") {
        true => ", options(att_syntax)",
        false => "",
    };
    let source = format!("{CRATE}global_asm!(include_str!(\"input.s\"){options});\n");
    for (name, text) in [("input.s", text), ("assembler.rs", &source)] {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let object = folder.join("input.o");
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["--target", target, "-Cpanic=abort", "--emit=obj", "-o"])
        .args([&object, &folder.join("assembler.rs")])
        .output()
        .context("cannot start rustc")?;
    if !output.status.success() {
        bail!(
            "rustc has failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(object)
}
