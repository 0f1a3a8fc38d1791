//! Builds kernels, each once per test program. Cargo avoids repeated builds by several test programs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use qemu::{setup, workspace};

/// Every kernel that `cargo run` builds: both architectures, debug and release.
pub fn every_kernel() -> impl Iterator<Item = Kernel> {
    let of = |arch| Profile::ALL.map(|profile| Kernel { arch, profile });
    Arch::ALL.into_iter().flat_map(of)
}

/// [`every_kernel`], and the one for x86_64 without the compiler's unwind tables, whose reports have the same functions, without
/// lines. On AArch64 such a compiler does not save the link register in functions that never return, so that their caller
/// cannot be found: [`every_kernel_and_both_plain`] has that kernel, too.
pub fn every_kernel_and_plain() -> impl Iterator<Item = Kernel> {
    every_kernel().chain([plain(Arch::X86_64)])
}

/// [`every_kernel_and_plain`], and the one for AArch64, for reports that `trace` checks: it expects those of a panic to end
/// early.
pub fn every_kernel_and_both_plain() -> impl Iterator<Item = Kernel> {
    every_kernel().chain(Arch::ALL.map(plain))
}

/// The kernel without the compiler's unwind tables.
pub fn plain(arch: Arch) -> Kernel {
    let profile = Profile::Plain;
    Kernel { arch, profile }
}

/// The image of this kernel, as `cargo run` builds it.
pub fn image(kernel: Kernel) -> PathBuf {
    static BUILT: Mutex<Option<HashMap<Kernel, PathBuf>>> = Mutex::new(None);
    once(&BUILT, kernel, |target| {
        let source = setup::rust_src(target).expect("the source of core is to be had");
        kernel.build(&source, target).expect("the kernel is built")
    })
}

/// The image of this kernel, linked by Rust's own linker: without tables.
pub fn image_without_tables(kernel: Kernel) -> PathBuf {
    static BUILT: Mutex<Option<HashMap<Kernel, PathBuf>>> = Mutex::new(None);
    once(&BUILT, kernel, |target| {
        let source = setup::rust_src(target).expect("the source of core is to be had");
        kernel
            .build_without_tables(&source, target)
            .expect("the kernel is built")
    })
}

/// The image of this kernel without `.symbols`.
pub fn image_without_names(kernel: Kernel) -> PathBuf {
    static BUILT: Mutex<Option<HashMap<Kernel, PathBuf>>> = Mutex::new(None);
    once(&BUILT, kernel, |target| {
        let source = setup::rust_src(target).expect("the source of core is to be had");
        kernel
            .build_without_names(&source, target)
            .expect("the kernel is built")
    })
}

/// The emulator of this architecture.
pub fn emulator(arch: Arch) -> PathBuf {
    setup::program(arch.emulator(), arch.emulator_package(), &target()).expect("QEMU is to be had")
}

/// The target folder.
pub fn target() -> PathBuf {
    workspace::target_folder().expect("the target folder is found")
}

/// Runs a build once. The lock is held during the build: cargo would serialize two builds anyway.
fn once(
    built: &Mutex<Option<HashMap<Kernel, PathBuf>>>,
    kernel: Kernel,
    build: impl FnOnce(&Path) -> PathBuf,
) -> PathBuf {
    let mut built = built.lock().unwrap_or_else(|broken| broken.into_inner());
    let built = built.get_or_insert_default();
    built
        .entry(kernel)
        .or_insert_with(|| build(&target()))
        .clone()
}
