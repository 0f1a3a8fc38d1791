//! Kernels, each built once a test program. Cargo itself sees to it that nothing is built twice.

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

/// These, and the one for x86_64 whose compiler said nothing of unwinding: reports have the same functions. They have no
/// lines. On AArch64 such a compiler keeps the link register nowhere in functions that never return, so that nobody can
/// know who called them: [`every_kernel_and_both_plain`].
pub fn every_kernel_and_plain() -> impl Iterator<Item = Kernel> {
    every_kernel().chain([plain(Arch::X86_64)])
}

/// These, and the one for AArch64, for reports that `trace` looks at: it knows that those of a panic stop there.
pub fn every_kernel_and_both_plain() -> impl Iterator<Item = Kernel> {
    every_kernel().chain(Arch::ALL.map(plain))
}

/// The kernel whose compiler said nothing of unwinding.
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

/// The lock is held while building: who needs the same kernel waits, and two builds would wait for each other anyway.
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
