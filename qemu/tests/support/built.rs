//! Builds kernels, each once per test program. Cargo avoids repeated builds by several test programs.

use std::ffi::OsString;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use qemu::build::{self, Kernel, Profile};
use qemu::machine::{Arch, Processor};
use qemu::{setup, workspace};

use super::log::{self, Kind};
use super::memo::Memo;

/// What a kernel is built for: one of 64 bits, or any.
pub trait BuiltFor: Copy + Into<Processor> + 'static {
    /// All of them.
    const ALL: &'static [Self];
}

impl BuiltFor for Arch {
    const ALL: &'static [Self] = &Self::ALL;
}

impl BuiltFor for Processor {
    const ALL: &'static [Self] = &Self::ALL;
}

/// The kernel of 64 bits with this name: architecture and profile, `aarch64_release`.
#[track_caller]
pub fn kernel(name: &str) -> Kernel {
    kernel_of(name)
}

/// The kernel with this name.
#[track_caller]
pub fn kernel_of<A: BuiltFor>(name: &str) -> Kernel<A> {
    let (arch, profile) = name.rsplit_once('_').expect("two parts");
    let mut all = A::ALL.iter().copied();
    let arch = all.find(|known| (*known).into().name() == arch);
    let profile = match profile {
        "debug" => Profile::Debug,
        "release" => Profile::Release,
        "plain" => Profile::Plain,
        "unoptimized" => Profile::Unoptimized,
        _ => panic!("no profile {profile}"),
    };
    let arch = arch.unwrap_or_else(|| panic!("no architecture in {name}"));
    Kernel { arch, profile }
}

/// The kernel without the compiler's unwind tables.
pub fn plain(arch: Arch) -> Kernel {
    let profile = Profile::Plain;
    Kernel { arch, profile }
}

/// The image of this kernel, as `cargo run` builds it.
pub fn image<A: BuiltFor>(kernel: Kernel<A>) -> PathBuf {
    static BUILT: Memo<Kernel<Processor>, PathBuf> = Memo::new();
    let kernel = Kernel {
        arch: kernel.arch.into(),
        profile: kernel.profile,
    };
    once(&BUILT, kernel, |target| {
        kernel.build(target).expect("the kernel is built")
    })
}

/// The image of the kernel for 32-bit ARM.
pub fn image_for_arm(profile: Profile) -> PathBuf {
    let arch = Processor::Armv7a;
    image(Kernel { arch, profile })
}

/// The image of this kernel, linked without tables.
pub fn image_without_tables(kernel: Kernel) -> PathBuf {
    linked_again(
        kernel,
        "without-tables",
        &["--sframe=none", "--symbols=none"],
    )
}

/// The image of this kernel with a rule map loaded instead of `.sframe`.
pub fn image_with_map(kernel: Kernel) -> PathBuf {
    linked_again(kernel, "with-map", &["--sframe-load=map"])
}

/// The image of this kernel without `.symbols`.
pub fn image_without_names(kernel: Kernel) -> PathBuf {
    linked_again(kernel, "without-names", &["--symbols=none"])
}

/// The image of this kernel, linked again with more switches, to a file with `name` in its name.
fn linked_again(kernel: Kernel, name: &'static str, switches: &[&str]) -> PathBuf {
    static LINKED: Memo<(Kernel, &str), PathBuf> = Memo::new();

    let image = image(kernel);
    LINKED.get((kernel, name), || {
        let begun = Instant::now();
        let output = image.with_file_name(format!("kernel-{name}"));
        let mut arguments = vec![OsString::from("@")];
        arguments[0].push(build::link_again(&image));
        arguments.extend(switches.iter().map(OsString::from));
        arguments.extend(["-o".into(), output.clone().into()]);
        let status = linker::link::run(Path::new("sframe-link"), &arguments);
        let status = status.expect("the kernel is linked again");
        assert_eq!(status, ExitCode::SUCCESS, "sframe-link {arguments:?}");
        log::add(Kind::Build, begun, &log::image_name(&output), "", None);
        output
    })
}

/// The emulator of this architecture.
pub fn emulator(of: impl Into<Processor>) -> PathBuf {
    let of = of.into();
    setup::program(of.emulator(), of.emulator_package(), &target()).expect("QEMU is to be had")
}

/// The target folder.
pub fn target() -> PathBuf {
    workspace::target_folder().expect("the target folder is found")
}

/// Builds a kernel once.
pub fn once<A: Copy + Eq + Hash>(
    built: &Memo<Kernel<A>, PathBuf>,
    kernel: Kernel<A>,
    build: impl FnOnce(&Path) -> PathBuf,
) -> PathBuf {
    built.get(kernel, || {
        let begun = Instant::now();
        let image = build(&target());
        log::add(Kind::Build, begun, &log::image_name(&image), "", None);
        image
    })
}
