//! What QEMU's monitor says of a machine: the evidence for a verdict. An exit status alone is none: any command has one.

use std::os::unix::net::UnixStream;

use serde_json::Value;

/// How a machine ended, if not with a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It has reset itself.
    Reset,
    /// It has switched itself off.
    Off,
    /// It has told a device of QEMU's that its kernel has panicked.
    Panicked,
    /// Somebody has ended QEMU, for example by a signal or by closing its window: the reason in QEMU's words.
    FromOutside(String),
}

/// What the monitor has said until it was closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The machine has run.
    pub has_run: bool,
    /// How it ended first.
    pub ending: Option<Ending>,
    /// QEMU's process. `None` if the host does not tell it.
    pub process: Option<u32>,
    /// QEMU's process has a monitor in addition to the runner's own, which can start a stub for a debugger later. Read from the arguments of that
    /// process, because a script can add arguments.
    pub has_monitor: bool,
}

impl Evidence {
    /// Adds what an event says. Returns how the machine ended, if it says that.
    pub(super) fn add(&mut self, said: &Value) -> Option<Ending> {
        self.has_run |= said["event"] == "RESUME";
        let ending = ending(said)?;
        self.ending.get_or_insert_with(|| ending.clone());
        Some(ending)
    }
}

/// What an event says of the machine's end (QEMU QMP Reference Manual, "SHUTDOWN" and "ShutdownCause").
fn ending(said: &Value) -> Option<Ending> {
    match (said["event"].as_str()?, said["data"]["reason"].as_str()) {
        ("SHUTDOWN", Some("guest-reset")) => Some(Ending::Reset),
        ("SHUTDOWN", Some("guest-shutdown")) => Some(Ending::Off),
        ("GUEST_PANICKED" | "GUEST_CRASHLOADED", _) => Some(Ending::Panicked),
        // QEMU ends at once then, with status 0 and without another event ("WATCHDOG").
        ("WATCHDOG", _) if said["data"]["action"] == "poweroff" => Some(Ending::FromOutside(
            "a watchdog expired, and the option -action watchdog=poweroff ended QEMU".into(),
        )),
        ("SHUTDOWN", reason) => Some(Ending::FromOutside(reason.unwrap_or_default().into())),
        _ => None,
    }
}

/// Has the host's kernel tell who writes to this end of a pair of sockets.
#[cfg(target_os = "linux")]
pub(super) fn ask_for_writer(stream: &UnixStream) -> std::io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_passcred(stream, true)?)
}

/// The process that has written what comes next. Waits for it.
#[cfg(target_os = "linux")]
pub(super) fn writer(stream: &UnixStream) -> Option<u32> {
    use std::io::IoSliceMut;
    use std::mem::MaybeUninit;

    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut first = [IoSliceMut::new(&mut byte)];
    recvmsg(stream, &mut first, &mut control, RecvFlags::PEEK).ok()?;
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(who) => {
            u32::try_from(who.pid.as_raw_nonzero().get()).ok()
        }
        _ => None,
    })
}

/// Value of `-mon` for the runner's own monitor.
pub(super) const OWN_MONITOR: &str = "chardev=monitor,mode=control";

/// Returns whether QEMU with these arguments has a monitor in addition to the runner's own, or may have one.
pub(super) fn have_monitor<'w>(arguments: impl IntoIterator<Item = &'w str>) -> bool {
    let mut before = "";
    arguments.into_iter().any(|argument| {
        // QEMU takes an option with two dashes as well.
        let option = match before.strip_prefix("--") {
            Some(_) => &before[1..],
            None => before,
        };
        before = argument;
        match option {
            "-monitor" => argument != "none",
            "-mon" => argument != OWN_MONITOR,
            // The file of `-readconfig` can contain any option.
            "-qmp" | "-qmp-pretty" | "-readconfig" => true,
            "-serial" | "-parallel" | "-debugcon" => argument.starts_with("mon:"),
            _ => false,
        }
    })
}

/// Returns whether the QEMU of this process has a monitor in addition to the runner's own. `true` if the arguments cannot be read.
#[cfg(target_os = "linux")]
pub(super) fn has_monitor(process: u32) -> bool {
    let arguments = std::fs::read(format!("/proc/{process}/cmdline"));
    arguments.map_or(true, |arguments| {
        let arguments = String::from_utf8_lossy(&arguments);
        have_monitor(arguments.split('\0'))
    })
}

/// Returns `false`: other hosts do not provide the arguments of a process.
#[cfg(not(target_os = "linux"))]
pub(super) fn has_monitor(_: u32) -> bool {
    false
}

/// Other hosts do not tell it.
#[cfg(not(target_os = "linux"))]
pub(super) fn ask_for_writer(_: &UnixStream) -> std::io::Result<()> {
    Ok(())
}

/// Other hosts do not tell it.
#[cfg(not(target_os = "linux"))]
pub(super) fn writer(_: &UnixStream) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_with_a_monitor_are_found() {
        let have = |words: &str| have_monitor(words.split(' '));
        for words in [
            "q -monitor unix:m,server=on",
            "q --monitor stdio -S",
            "q -mon chardev=m",
            "q -S -qmp tcp:localhost:4444",
            "q -serial mon:unix:m",
            "q -readconfig f",
        ] {
            assert!(have(words), "{words}");
        }
        let own = format!("q -monitor none -serial chardev:serial -mon {OWN_MONITOR}");
        assert!(!have(&own));
        assert!(!have("q -S"));
    }

    #[test]
    fn only_the_action_of_a_watchdog_that_ends_qemu_is_an_end() {
        let of = |action| ending(&json!({"event": "WATCHDOG", "data": {"action": action}}));
        assert!(matches!(of("poweroff"), Some(Ending::FromOutside(_))));
        for other in ["reset", "shutdown", "pause", "debug", "none", "inject-nmi"] {
            assert_eq!(of(other), None);
        }
    }
}
