//! Runs gdb on a machine, from its reset on.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use qemu::machine::{Boot, Booted, GdbStub};
use qemu::setup;

use super::{boots, built};

/// The result of a session.
#[derive(Debug)]
pub struct Session {
    pub booted: Booted,
    /// gdb's standard output.
    pub said: String,
    /// gdb's standard error.
    pub complained: String,
}

impl Session {
    /// Fails unless gdb stopped at its first breakpoint: what came after would say nothing of that place.
    #[track_caller]
    pub fn expect_stop(&self) {
        let Self {
            said, complained, ..
        } = self;
        // "Breakpoint 1, ", or "Breakpoint 1.2, " if it is at several places.
        let stopped = ["Breakpoint 1, ", "Breakpoint 1."]
            .iter()
            .any(|words| said.contains(words));
        assert!(stopped, "gdb did not stop:\n{said}\n{complained}");
    }
}

/// The path of a script beside these tests, for gdb's `source`.
pub fn script(name: &str) -> PathBuf {
    qemu::workspace::root().join("qemu/tests/gdb").join(name)
}

/// Boots, and makes gdb run commands from the first instruction on. After them gdb exits, which also ends the machine.
///
/// The default time limit of the boot is five minutes: a busy host runs four emulated CPUs slowly.
#[track_caller]
pub fn session<C: AsRef<str>>(boot: Boot<'_>, commands: impl IntoIterator<Item = C>) -> Session {
    let gdb = setup::program("gdb-multiarch", "gdb-multiarch", &built::target())
        .expect("gdb is to be had");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let socket = folder.path().join("gdb");
    let stub = GdbStub::at_socket(&socket).expect("a socket can be made");
    let mut command = Command::new(gdb);
    // No configuration files, and no questions.
    command.args(["-nx", "-batch", "-ex", "set pagination off"]);
    command.args(["-ex", &format!("target remote {stub}")]);
    for one in commands {
        command.args(["-ex", one.as_ref()]);
    }
    command.arg(boot.image);
    let boot = Boot {
        limit: boot.limit.or(Some(Duration::from_secs(300))),
        gdb: Some(stub),
        ..boot
    };
    let emulator = built::emulator(boot.board.processor());
    let begun = Instant::now();
    let (booted, output) = std::thread::scope(|scope| {
        let machine = scope.spawn(|| boot.run(&emulator, &mut std::io::sink()));
        let output = command.output().expect("gdb starts");
        let booted = machine.join().expect("no panic here").expect("QEMU runs");
        (booted, output)
    });
    boots::keep(begun, &boot, &booted);
    Session {
        booted,
        said: String::from_utf8_lossy(&output.stdout).into_owned(),
        complained: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
