//! A display server without a screen, and a client of it that closes windows as a person does: by the X Window System Protocol, version 11.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use qemu::setup;

use super::built::target;
use super::event;

/// Requests of the protocol.
const INTERN_ATOM: u8 = 16;
const QUERY_TREE: u8 = 15;
const GET_PROPERTY: u8 = 20;
const SEND_EVENT: u8 = 25;
/// The event that a window's program gets.
const CLIENT_MESSAGE: u8 = 33;
/// Bytes of each reply, at least.
const REPLY: usize = 32;

/// A display server, which ends with this value.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// The number of its display.
    pub display: u32,
}

impl Server {
    /// Starts one, and waits until programs can connect. QEMU can then have windows.
    pub fn start() -> Self {
        let arch = std::env::consts::ARCH;
        let module = PathBuf::from(format!("/usr/lib/{arch}-linux-gnu/qemu/ui-sdl.so"));
        setup::file(&module, "qemu-system-gui", &target()).expect("QEMU can have windows");
        let program = setup::program("Xvfb", "xvfb", &target()).expect("there is a display server");
        let mut child = Command::new(program)
            .args("-displayfd 1 -screen 0 800x600x24 -nolisten tcp -ac".split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the display server starts");
        let mut number = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        let read = BufReader::new(stdout).read_line(&mut number);
        read.expect("it names its display");
        let display = number.trim().parse().expect("a number");
        Self { child, display }
    }

    /// Has each window close that can be closed; waits until there is one.
    pub fn close_windows(&self) {
        let mut client = Client::connect(self.display);
        event::wait("QEMU opens a window", move || while !client.close() {});
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection with the server.
struct Client {
    stream: UnixStream,
    /// The window that all others are in.
    root: u32,
}

impl Client {
    fn connect(display: u32) -> Self {
        let path = format!("/tmp/.X11-unix/X{display}");
        let mut stream = UnixStream::connect(path).expect("the server listens");
        // Little-endian, version 11.0, no authorization.
        let begin = [b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        stream.write_all(&begin).expect("the server listens");
        let mut head = [0; 8];
        stream.read_exact(&mut head).expect("the server answers");
        assert_eq!(head[0], 1, "the server accepts the client");
        let mut rest = vec![0; usize::from(u16::from_le_bytes([head[6], head[7]])) * 4];
        stream.read_exact(&mut rest).expect("the server answers");
        // The vendor's name and the formats are before the first screen.
        let vendor = usize::from(u16::from_le_bytes([rest[16], rest[17]]));
        let screen = 32 + vendor.next_multiple_of(4) + usize::from(rest[21]) * 8;
        let root = words(&rest[screen..])[0];
        Self { stream, root }
    }

    /// Has each window close that can be closed. False if there is none.
    fn close(&mut self) -> bool {
        let [protocols, delete] = ["WM_PROTOCOLS", "WM_DELETE_WINDOW"].map(|name| self.atom(name));
        let mut is_closed = false;
        for window in self.windows() {
            if self.property(window, protocols).contains(&delete) {
                self.send(window, protocols, delete);
                is_closed = true;
            }
        }
        // An answer comes only after all that was sent.
        self.windows();
        is_closed
    }

    /// Sends a request: its number, and what follows its length.
    fn request(&mut self, number: u8, body: &[u8]) {
        let length = u16::try_from(1 + body.len() / 4).expect("it is short");
        let request = [&[number, 0], &length.to_le_bytes()[..], body].concat();
        self.stream.write_all(&request).expect("the server listens");
    }

    fn reply(&mut self) -> Vec<u8> {
        let mut reply = vec![0; REPLY];
        self.stream
            .read_exact(&mut reply)
            .expect("the server answers");
        assert_eq!(reply[0], 1, "a reply, and no error");
        let mut more = vec![0; words(&reply[4..8])[0] as usize * 4];
        self.stream
            .read_exact(&mut more)
            .expect("the server answers");
        [reply, more].concat()
    }

    fn atom(&mut self, name: &str) -> u32 {
        let length = u16::try_from(name.len()).expect("it is short");
        let mut body = [&length.to_le_bytes()[..], &[0, 0], name.as_bytes()].concat();
        body.resize(body.len().next_multiple_of(4), 0);
        self.request(INTERN_ATOM, &body);
        words(&self.reply()[8..12])[0]
    }

    fn windows(&mut self) -> Vec<u32> {
        self.request(QUERY_TREE, &self.root.to_le_bytes());
        words(&self.reply()[REPLY..])
    }

    fn property(&mut self, window: u32, property: u32) -> Vec<u32> {
        let body = [window, property, 0, 0, 64].map(u32::to_le_bytes).concat();
        self.request(GET_PROPERTY, &body);
        words(&self.reply()[REPLY..])
    }

    /// Sends this message to a window's program.
    fn send(&mut self, window: u32, kind: u32, message: u32) {
        let event = [window, kind, message, 0, 0, 0, 0].map(u32::to_le_bytes);
        let head = [CLIENT_MESSAGE, 32, 0, 0];
        let to = [window, 0].map(u32::to_le_bytes);
        let body = [&to.concat()[..], &head, &event.concat()].concat();
        self.request(SEND_EVENT, &body);
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.as_chunks().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}
