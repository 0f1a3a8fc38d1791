//! Tells the linker where its scripts are, and the compiler what may be set.

use std::env;
use std::path::Path;

fn main() {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let script = Path::new(&here)
        .join("src/arch")
        .join(&arch)
        .join("link.ld");
    // AArch64: the compiler signs return addresses (`-Zbranch-protection=pac-ret`), so the CPU has to, too.
    println!("cargo::rustc-check-cfg=cfg(signed_return_addresses)");
    // For this machine there is no script, and main.rs says what to do instead.
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return;
    }
    let scripts = Path::new(&here).join("../linker/scripts");
    for argument in [
        format!("-T{}", script.display()),
        // Where `INCLUDE tables.ld` is looked for.
        format!("-L{}", scripts.display()),
        // Where `INCLUDE defmt.ld` is.
        format!("-L{}/src", here),
        // Tells whether a report and an image belong together.
        "--build-id=sha1".into(),
    ]
    .into_iter()
    // One entry for each function, although its neighbour may have the same: so a call is known to lead to that function.
    .chain((arch == "arm").then(|| "--no-merge-exidx-entries".into()))
    {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    println!("cargo::rerun-if-changed={}", script.display());
    println!("cargo::rerun-if-changed={here}/src/defmt.ld");
    println!(
        "cargo::rerun-if-changed={}",
        scripts.join("tables.ld").display()
    );
    // Cargo does not notice a new linker by itself, and an image with yesterday's tables would be booted. A bare name,
    // as `rust-lld`, is none of the files here.
    if let Some(linker) = env::var_os("RUSTC_LINKER").filter(|linker| Path::new(linker).is_file()) {
        println!("cargo::rerun-if-changed={}", Path::new(&linker).display());
    }
}
