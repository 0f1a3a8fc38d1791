//! QEMU's emulation of one program, and its stub for gdb.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use qemu::stub::Stub;

/// Connects to the stub of a program that was started with `-g SOCKET`. QEMU makes the socket itself and reports that nowhere, so this
/// tries again until it is there, or QEMU has ended.
pub fn connect(qemu: &mut Child, socket: &Path) -> Stub {
    loop {
        let ended = qemu.try_wait().expect("QEMU can be waited for");
        if let Ok(stream) = UnixStream::connect(socket) {
            return Stub::stepping(stream).expect("QEMU has a stub for gdb");
        }
        assert!(ended.is_none(), "QEMU has ended: {ended:?}");
        sleep(Duration::from_millis(5));
    }
}
