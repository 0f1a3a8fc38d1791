//! A pseudo terminal.

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};

/// A new terminal: the end of who looks at it, and that of the programs that it is the terminal of.
pub fn pair() -> (OwnedFd, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
    unlockpt(&ours).expect("it is ours");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    let theirs = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().expect("plain text"))
        .expect("it can be opened");
    (ours, theirs.into())
}
