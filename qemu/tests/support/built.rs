//! Builds kernels, each once per test program. Cargo avoids repeated builds by several test programs.

use std::ffi::OsString;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
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

/// The image of this kernel, linked by Rust's own linker: without tables, as if the wrapper were forgotten.
pub fn image_without_tables(kernel: Kernel) -> PathBuf {
    linked_again(kernel, "without-tables", |kept, output| {
        // It takes the flavor as its first argument only, not from a file.
        let arguments = std::fs::read_to_string(kept).expect("the arguments are kept");
        let rest = arguments.strip_prefix("\"-flavor\"\n\"gnu\"\n");
        let file = output.with_extension("arguments");
        std::fs::write(&file, rest.expect("rustc gives the flavor"))
            .expect("a file can be written");
        let libraries = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
            .args(["--print", "target-libdir"])
            .current_dir(workspace::root())
            .output()
            .expect("rustc starts");
        let libraries = String::from_utf8(libraries.stdout).expect("a path in UTF-8");
        let linker = Path::new(libraries.trim()).with_file_name("bin/rust-lld");
        let mut command = Command::new(linker);
        command.args(["-flavor", "gnu", "--rsp-quoting=posix"]);
        command.arg(format!("@{}", file.display()));
        let status = command.arg("-o").arg(output).status();
        assert!(status.expect("rust-lld starts").success(), "{command:?}");
    })
}

/// The image of this kernel with a rule map loaded instead of `.sframe`.
pub fn image_with_map(kernel: Kernel) -> PathBuf {
    linked_again(kernel, "with-map", with_switch("--sframe-load=map"))
}

/// The image of this kernel without `.symbols`.
pub fn image_without_names(kernel: Kernel) -> PathBuf {
    linked_again(kernel, "without-names", with_switch("--symbols=none"))
}

/// Links an image again, by its kept arguments: the paths of these and of the output.
fn with_switch(switch: &str) -> impl FnOnce(&Path, &Path) {
    move |kept, output| {
        let mut arguments = [
            OsString::from("@"),
            switch.into(),
            "-o".into(),
            output.into(),
        ];
        arguments[0].push(kept);
        let status = linker::link::run(Path::new("sframe-link"), &arguments);
        let status = status.expect("the kernel is linked again");
        assert_eq!(status, ExitCode::SUCCESS, "sframe-link {arguments:?}");
    }
}

/// The image of this kernel, linked again to a file with `name` in its name.
fn linked_again(kernel: Kernel, name: &'static str, link: impl FnOnce(&Path, &Path)) -> PathBuf {
    static LINKED: Memo<(Kernel, &str), PathBuf> = Memo::new();

    let image = image(kernel);
    LINKED.get((kernel, name), || {
        let begun = Instant::now();
        let output = image.with_file_name(format!("kernel-{name}"));
        link(&build::link_again(&image), &output);
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
