//! An interactive session: types on the serial line, and reads the answers.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::event::HANG;
use super::runner::{Ran, command};
use super::settled;

/// An interactive run of an image.
#[derive(Debug)]
pub struct Session {
    runner: Child,
    input: Option<ChildStdin>,
    serial: Output,
    /// The runner's own messages.
    words: Output,
}

/// A pipe that a thread reads.
#[derive(Debug)]
struct Output {
    chunks: Receiver<Vec<u8>>,
    text: Vec<u8>,
    /// How many bytes of `text` were matched already.
    seen: usize,
}

impl Output {
    fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let (sender, chunks) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = pipe.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            chunks,
            text: Vec::new(),
            seen: 0,
        }
    }

    /// Waits for this text, after the last match. Returns the text up to then.
    #[track_caller]
    fn wait_for(&mut self, text: &str) -> String {
        loop {
            let new = String::from_utf8_lossy(&self.text[self.seen..]).into_owned();
            if let Some(at) = new.find(text) {
                let end = at + text.len();
                self.seen += end;
                return new[..end].to_owned();
            }
            match self.chunks.recv_timeout(HANG) {
                Ok(chunk) => self.text.extend_from_slice(&chunk),
                Err(_) => panic!("no {text:?} in:\n{}", String::from_utf8_lossy(&self.text)),
            }
        }
    }

    /// Whether this text has come by now.
    fn has(&mut self, text: &str) -> bool {
        self.text.extend(self.chunks.try_iter().flatten());
        String::from_utf8_lossy(&self.text).contains(text)
    }

    /// Waits for the end of the pipe.
    #[track_caller]
    fn end(mut self) -> Vec<u8> {
        loop {
            match self.chunks.recv_timeout(HANG) {
                Ok(chunk) => self.text.extend_from_slice(&chunk),
                Err(RecvTimeoutError::Disconnected) => return self.text,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no end:\n{}", String::from_utf8_lossy(&self.text))
                }
            }
        }
    }
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
        Self {
            input: runner.stdin.take(),
            serial: Output::of(runner.stdout.take().expect("a pipe")),
            words: Output::of(runner.stderr.take().expect("a pipe")),
            runner,
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
        self.serial.wait_for(text)
    }

    /// Waits until the runner itself has reported this text.
    #[track_caller]
    pub fn wait_for_words(&mut self, text: &str) {
        self.words.wait_for(text);
    }

    /// Whether the runner itself has reported this text by now.
    pub fn has_words(&mut self, text: &str) -> bool {
        self.words.has(text)
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
        let text = String::from_utf8_lossy(&self.serial.text).replace('\n', "\r\n");
        terminal.process(text.as_bytes());
        let screen = terminal.screen();
        let (row, column) = screen.cursor_position();
        let line = screen.contents_between(row, 0, row, 80);
        (line, column)
    }

    /// Waits for the end.
    #[track_caller]
    pub fn end(mut self) -> Ran {
        let serial = self.serial.end();
        drop(self.input.take());
        let words = self.words.end();
        let status = self.runner.wait().expect("the runner ends");
        Ran {
            status: status.code().expect("the runner is not killed"),
            serial,
            words: String::from_utf8_lossy(&words).into_owned(),
        }
    }

    /// Waits until the machine has executed a few instructions more, or has nothing to do.
    #[track_caller]
    pub fn settle(&self) {
        settled::wait(self.runner.id());
    }

    /// Presses Ctrl-C at the runner.
    pub fn interrupt(&self) {
        let runner = Pid::from_child(&self.runner);
        kill_process(runner, Signal::INT).expect("the runner runs");
    }

    /// Stops the runner, and waits until it stands still.
    pub fn stop(&self) {
        let runner = Pid::from_child(&self.runner);
        kill_process(runner, Signal::STOP).expect("the runner runs");
        let stopped = waitid(WaitId::Pid(runner), WaitIdOptions::STOPPED);
        let stopped = stopped.expect("it is ours").expect("it is waited for");
        assert!(stopped.stopped(), "{stopped:?}");
    }

    /// Has a stopped runner go on.
    pub fn go_on(&self) {
        kill_process(Pid::from_child(&self.runner), Signal::CONT).expect("the runner is stopped");
    }

    /// Closes the input.
    pub fn hang_up(&mut self) {
        self.input = None;
    }
}
