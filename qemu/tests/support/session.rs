//! An interactive session: types on the serial line, and reads the answers.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::runner::{Ran, command};

/// How long an answer of the kernel may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// An interactive run of an image.
#[derive(Debug)]
pub struct Session {
    runner: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    serial: Vec<u8>,
    /// How many bytes of `serial` were matched already.
    seen: usize,
}

impl Session {
    /// Boots the image with this command line, and these arguments for the runner.
    pub fn start(image: &Path, command_line: &str, arguments: &[&str]) -> Self {
        let mut command = command();
        command
            .args(arguments)
            .args(["--interactive", "--timeout", "300", "--image"])
            .arg(image)
            .arg(command_line);
        Self::of(&mut command)
    }

    /// Starts a command of the runner that shows a serial line.
    pub fn of(command: &mut Command) -> Self {
        let mut runner = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the runner starts");
        let mut stdout = runner.stdout.take().expect("a pipe");
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            input: runner.stdin.take(),
            runner,
            output,
            serial: Vec::new(),
            seen: 0,
        }
    }

    /// Types these keys.
    #[track_caller]
    pub fn press(&mut self, keys: &str) {
        let input = self.input.as_mut().expect("there is more to type");
        input.write_all(keys.as_bytes()).expect("the machine runs");
        input.flush().expect("the machine runs");
    }

    /// Waits until the machine has written this text, after the last match. Returns the text up to then.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        loop {
            let new = String::from_utf8_lossy(&self.serial[self.seen..]).into_owned();
            if let Some(at) = new.find(text) {
                let end = at + text.len();
                self.seen += end;
                return new[..end].to_owned();
            }
            match self.output.recv_timeout(TIMEOUT) {
                Ok(chunk) => self.serial.extend_from_slice(&chunk),
                Err(_) => panic!("no {text:?} in:\n{}", String::from_utf8_lossy(&self.serial)),
            }
        }
    }

    /// Types a command, and returns the text between its line and the next prompt.
    #[track_caller]
    pub fn command(&mut self, line: &str) -> String {
        self.press(&format!("{line}\r"));
        self.wait_for(&format!("{line}\n"));
        let answer = self.wait_for("\n> ");
        answer.strip_suffix("\n> ").expect("it ends so").to_owned()
    }

    /// The last line that a terminal of 80 columns shows, and the column of its cursor.
    pub fn shown(&self) -> (String, u16) {
        let size = |cells| NonZeroU16::new(cells).expect("not zero");
        let mut terminal = vt100::Parser::new(size(200), size(80), 0);
        // The host's terminal driver translates a line feed to "\r\n".
        let text = String::from_utf8_lossy(&self.serial).replace('\n', "\r\n");
        terminal.process(text.as_bytes());
        let screen = terminal.screen();
        let (row, column) = screen.cursor_position();
        let line = screen.contents_between(row, 0, row, 80);
        (line, column)
    }

    /// Waits for the end.
    pub fn end(mut self) -> Ran {
        while let Ok(chunk) = self.output.recv_timeout(TIMEOUT) {
            self.serial.extend_from_slice(&chunk);
        }
        drop(self.input.take());
        let output = self.runner.wait_with_output().expect("the runner ends");
        Ran {
            status: output.status.code().expect("the runner is not killed"),
            serial: self.serial,
            words: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Presses Ctrl-C at the runner.
    pub fn interrupt(&self) {
        let runner = Pid::from_child(&self.runner);
        kill_process(runner, Signal::INT).expect("the runner runs");
    }

    /// Closes the input.
    pub fn hang_up(&mut self) {
        self.input = None;
    }
}
