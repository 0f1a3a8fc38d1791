//! A machine with a screen, whose monitor and keys are in the hands of a test.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Monitor};
use tempfile::TempDir;

use super::drawn::Picture;
use crate::support::built::{emulator, image};
use crate::support::monitor::Socket;
use crate::support::runner::{Ran, command};
use crate::support::session::Session;

/// The time between two looks at the screen. No event reports what a machine draws; a machine that never draws what a test
/// waits for ends at the runner's limit.
pub const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What the kernel tells the serial line.
pub const ON_SCREEN: &str =
    "the report is on the screen: press space for the next page, q to quit\n";

/// The debug kernel.
pub const fn kernel(arch: Arch) -> Kernel {
    Kernel {
        arch,
        profile: Profile::Debug,
    }
}

/// A machine.
pub struct Machine {
    session: Session,
    monitor: Monitor,
    folder: TempDir,
}

impl Machine {
    /// Boots the kernel with this command line, more arguments for QEMU, and a screen.
    pub fn boot(kernel: Kernel, command_line: &str, more: &[&str]) -> Self {
        let image = image(kernel);
        let mut runner = command();
        runner.args(["--interactive", "--timeout", "300", "--image"]);
        runner.arg(&image).arg("--").arg(emulator(kernel.arch));
        runner.args(match kernel.arch {
            Arch::X86_64 => [
                "-machine",
                "q35,accel=tcg",
                "-device",
                "isa-debug-exit,iobase=0xf4,iosize=0x04",
            ],
            Arch::Aarch64 => [
                "-machine",
                "virt,accel=tcg",
                "-semihosting-config",
                "enable=on,target=native",
            ],
        });
        runner.args([
            "-nodefaults",
            "-cpu",
            "max",
            "-m",
            "256M",
            "-device",
            "ramfb",
        ]);
        runner.arg("-kernel").arg(&image);
        runner
            .args(["-append", command_line, "-serial", "stdio"])
            .args(more);
        Self::of(runner)
    }

    /// Starts this command of the runner, which ends with one of QEMU's.
    pub fn of(mut runner: Command) -> Self {
        let socket = Socket::new();
        runner.args(["-qmp", &socket.device()]);
        Self {
            session: Session::of(&mut runner),
            monitor: socket.monitor(),
            folder: tempfile::tempdir().expect("a folder can be made"),
        }
    }

    /// The serial line up to the moment at which the report is on the screen.
    #[track_caller]
    pub fn report(&mut self) -> String {
        let serial = self.session.wait_for(ON_SCREEN);
        serial
            .strip_suffix(ON_SCREEN)
            .expect("it ends so")
            .to_owned()
    }

    /// The serial line up to this text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        self.session.wait_for(text)
    }

    /// Types on the serial line.
    pub fn type_in(&mut self, keys: &str) {
        self.session.press(keys);
    }

    /// Presses a key of the machine's keyboard, by QEMU's name of it.
    pub fn press(&self, key: &str) {
        let said = self.monitor.type_in(&format!("sendkey {key}"), 0);
        assert_eq!(said.expect("the machine runs"), "");
    }

    /// What the screen shows.
    pub fn picture(&self) -> Picture {
        let file: PathBuf = self.folder.path().join("screen");
        let said = self
            .monitor
            .type_in(&format!("screendump {}", file.display()), 0);
        assert_eq!(said.expect("the machine runs"), "");
        Picture::parse(&std::fs::read(file).expect("QEMU has written it"))
    }

    /// The screen once its first line has this title, which is drawn last.
    #[track_caller]
    pub fn page(&self, title: &str) -> Picture {
        self.once(|picture| picture.has_title(title))
    }

    /// The screen once it has all of this one's text, and other colors: another frame is chosen.
    #[track_caller]
    pub fn other_colors_than(&self, picture: &Picture) -> Picture {
        self.once(|next| next != picture && next.lines() == picture.lines())
    }

    /// The screen once it is as a test expects.
    #[track_caller]
    fn once(&self, is_expected: impl Fn(&Picture) -> bool) -> Picture {
        loop {
            let picture = self.picture();
            if is_expected(&picture) {
                return picture;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Waits for the end.
    pub fn end(self) -> Ran {
        self.session.end()
    }
}
