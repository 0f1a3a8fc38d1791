//! Every way in which a boot can end, and the runner's message: a boot succeeds only if the kernel itself reports success. The table is
//! `qemu/VERDICTS.md`; `VERDICTS=write cargo test --test gate verdicts::` stores the messages of this build.

mod ways;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, kill_process};

use crate::support::event;
use crate::support::runner::{Ran, command, fed, run};
use crate::support::tiny::{self, Act};
use crate::support::window::Server;
use qemu::machine::Arch;
use qemu::workspace;
use ways::{WAYS, Way};

/// The start of the table.
const HEAD: &str = "# How a boot can end, and its verdict

The following table lists how a boot with `unwind-qemu --image IMAGE -- COMMAND` can end. For each way in which a boot can end, the table shows the exit
status and the message of `unwind-qemu`. If a boot script or a CI job ends with an unexpected exit status, look up the exit status in the following
table. A boot succeeds only if the kernel reports success and QEMU confirms the success. The tests in `qemu/tests/verdicts.rs` repeat each boot, and
compare the result with the table on this page.

| architecture | the boot | exit status | message of the runner |
|---|---|---:|---|
";

/// QEMU's command for an image.
fn qemu(arch: Arch, image: &Path) -> String {
    let machine = match arch {
        Arch::X86_64 => "qemu-system-x86_64 -M q35 -m 64M -device isa-debug-exit,iobase=0xf4",
        Arch::Aarch64 => {
            "qemu-system-aarch64 -M virt -cpu max -m 64M -semihosting-config enable=on"
        }
    };
    format!("{machine} -kernel {}", image.display())
}

/// Writes a script for `sh` into a folder. It runs there.
fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("boot");
    let text = format!("cd {}\n{text}\n", folder.display());
    fs::write(&path, text).expect("a script can be written");
    path
}

/// Boots once in this way.
fn boot(arch: Arch, way: &Way) -> Ran {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let acts = match way {
        Way::Kernel(acts) | Way::ByScript(acts, _) => acts,
        Way::Full | Way::NoRoom => &[Act::Print(b"!"), Act::Exit(33)][..],
        _ => &[Act::Print(b"!"), Act::Spin][..],
    };
    let image = tiny::image(folder.path(), arch, acts);
    // Two of its own seconds, so that a busy host changes nothing.
    let limits = match way {
        Way::Killed(..)
        | Way::Closed(_)
        | Way::StubStarted
        | Way::WindowClosed
        | Way::RunnerKilled(_) => ["--timeout", "120"],
        _ => ["--guest-timeout", "1"],
    };
    let words = |boot: &Path| -> Vec<String> {
        let [image, boot] = [&*image, boot].map(|path| path.display().to_string());
        let words = [limits[0], limits[1], "--image", &image, "--", "sh", &boot];
        words.map(String::from).into()
    };
    let qemu = qemu(arch, &image);
    match way {
        Way::Kernel(_) => run(words(&script(
            folder.path(),
            &format!("exec {qemu} \"$@\""),
        ))),
        Way::Full => {
            let path = script(folder.path(), &format!("exec {qemu} \"$@\""));
            let full = fs::OpenOptions::new().write(true).open("/dev/full");
            let mut runner = command();
            runner.args(words(&path));
            runner.stdout(full.expect("the host has it"));
            ran(runner.output().expect("the runner starts"), Vec::new())
        }
        Way::RunnerKilled(signal) => {
            let path = script(folder.path(), &format!("exec {qemu} \"$@\""));
            once_it_runs(words(&path), |runner| {
                kill_process(runner, *signal).expect("the runner is there");
            })
        }
        Way::ScriptKilled(signal) => {
            let text = format!("echo $$ > pid; {qemu} \"$@\" & wait $!");
            let path = script(folder.path(), &text);
            once_it_runs(words(&path), |_| {
                kill_process(written_pid(folder.path()), *signal).expect("the script is there");
            })
        }
        Way::Script(text) | Way::ByScript(_, text) => {
            let name = qemu.split(' ').next().expect("a command has a name");
            let text = text
                .replace("MACHINE", &qemu)
                .replace("QEMU", name)
                .replace("IMAGE", &image.display().to_string());
            let words = words(&script(folder.path(), &text));
            event::wait("the runner's output ends", move || run(words))
        }
        Way::Killed(text, signal) => {
            let start = format!("echo $$ > pid; exec {qemu} \"$@\"\n");
            fs::write(folder.path().join("start"), start).expect("it can be written");
            let path = script(folder.path(), text);
            once_it_runs(words(&path), |_| {
                kill_process(written_pid(folder.path()), *signal).expect("QEMU is there");
            })
        }
        Way::WindowClosed => {
            let server = Server::start();
            let text = format!("export DISPLAY=:{}\nexec {qemu} \"$@\"", server.display);
            // The runner asks for no window, unless the command that it sees has one.
            let mut words = words(&script(folder.path(), &text));
            words.extend(["-display", "sdl"].map(String::from));
            once_it_runs(words, |_| server.close_windows())
        }
        Way::NoRoom => {
            let path = script(folder.path(), &format!("exec {qemu} \"$@\""));
            let mut limited = Command::new("sh");
            // A write that goes beyond the limit fails, as on a full disk.
            limited.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]);
            limited.arg(command().get_program());
            limited.arg("--json").arg(folder.path().join("results"));
            limited.args(words(&path));
            ran(limited.output().expect("a shell starts"), Vec::new())
        }
        Way::Debugged(commands) => {
            let text = format!("echo $$ > pid; exec {qemu} \"$@\"");
            let path = script(folder.path(), &text);
            let process = format!("$(cat {})", folder.path().join("pid").display());
            let words = words(&path).split_off(2);
            let words = std::iter::once("--gdb=run".to_owned()).chain(words);
            let commands = commands.replace("QEMU", &process);
            event::wait("gdb ends", move || fed(words, &commands))
        }
        Way::Closed(_) | Way::StubStarted => {
            let text = format!("exec {qemu} -monitor unix:monitor,server=on,wait=off \"$@\"");
            let path = script(folder.path(), &text);
            once_it_runs(words(&path), |_| {
                let mut monitor = connected(&folder.path().join("monitor"));
                if let Way::Closed(line) = way {
                    writeln!(monitor, "{line}").expect("QEMU listens");
                } else {
                    writeln!(monitor, "gdbserver unix:stub,server=on,wait=off")
                        .expect("QEMU listens");
                    // QEMU writes this line after it has started the stub.
                    let mut said = Vec::new();
                    while !said.ends_with(b"Waiting for gdb connection on device") {
                        let mut byte = [0];
                        monitor.read_exact(&mut byte).expect("QEMU starts a stub");
                        said.extend(byte);
                    }
                    // gdb sends this packet for `kill`.
                    let mut stub = connected(&folder.path().join("stub"));
                    stub.write_all(b"$k#6b").expect("QEMU listens");
                }
                // QEMU closes it when it ends.
                let _ = monitor.read_to_end(&mut Vec::new());
            })
        }
    }
}

/// Connects to a socket of QEMU's.
fn connected(path: &Path) -> UnixStream {
    UnixStream::connect(path).expect("QEMU listens")
}

/// The process whose number a script has written into this folder.
fn written_pid(folder: &Path) -> Pid {
    let pid = fs::read_to_string(folder.join("pid")).expect("it is written");
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw);
    pid.expect("it is a process")
}

/// Runs the runner with these arguments; `act` is called with its process when the kernel has written its first byte.
fn once_it_runs(words: Vec<String>, act: impl FnOnce(Pid)) -> Ran {
    let plain = command();
    let mut runner = Command::new("env");
    for (name, _) in plain.get_envs() {
        runner.env_remove(name);
    }
    // `nohup` leaves SIGHUP ignored in all that it starts, so that a runner would not end by it.
    let mut runner = runner
        .arg("--default-signal=HUP")
        .arg(plain.get_program())
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let mut serial = vec![0];
    let stdout = runner.stdout.as_mut().expect("a pipe");
    stdout.read_exact(&mut serial).expect("the machine runs");
    act(Pid::from_child(&runner));
    ran(runner.wait_with_output().expect("the runner ends"), serial)
}

/// What came of the runner, after it has written `serial`. The status of one that was killed is that of a shell.
fn ran(output: Output, mut serial: Vec<u8>) -> Ran {
    serial.extend(output.stdout);
    let signal = || Some(128 + output.status.signal()?);
    Ran {
        status: (output.status.code().or_else(signal)).expect("the runner has ended"),
        serial,
        words: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// What the runner says of the boot, without what differs from boot to boot: the name of the image, and how long it took.
fn said(ran: &Ran) -> String {
    let lines = ran.words.lines();
    let lines = lines.filter_map(|line| line.strip_prefix("runner: tiny-")?.split_once(": "));
    // Whatever fails is followed by the end of the serial line.
    let mut verdicts = lines.filter(|(_, words)| !words.starts_with("the last lines of "));
    let Some((_, words)) = verdicts.next_back() else {
        let mut lines = ran.words.lines().rev();
        let error = lines.find_map(|line| line.strip_prefix("runner: error: "));
        return error.unwrap_or("nothing").to_owned();
    };
    let words = match words.split_once(" after ") {
        Some((words, time)) if time.ends_with(" s") => words,
        _ => words,
    };
    // It names a file, in a folder that has another name each time.
    match ran
        .words
        .lines()
        .any(|line| line.starts_with("runner: error: "))
    {
        true => format!("{words}; then an error"),
        false => words.to_owned(),
    }
}

#[gate]
fn success_is_an_act_of_the_kernel() {
    let each = WAYS.iter().flat_map(|(architectures, name, way)| {
        let line = move |arch: &Arch| (*arch, *name, way);
        architectures.iter().map(line)
    });
    // Most of them wait.
    let lines = std::thread::scope(|scope| {
        let boots: Vec<_> = each
            .map(|(arch, name, way)| {
                scope.spawn(move || {
                    let ran = boot(arch, way);
                    format!("| {arch} | {name} | {} | {} |\n", ran.status, said(&ran))
                })
            })
            .collect();
        let lines = boots.into_iter().map(|boot| boot.join().expect("no panic"));
        lines.collect::<String>()
    });
    let table = format!("{HEAD}{lines}");
    let path = workspace::root().join("qemu/VERDICTS.md");
    if std::env::var_os("VERDICTS").is_some_and(|value| value == "write") {
        fs::write(&path, &table).expect("it can be written");
    }
    let stored = fs::read_to_string(&path).expect("it is there");
    assert_eq!(
        table, stored,
        "if this is meant: VERDICTS=write cargo test --test gate verdicts::"
    );
}
