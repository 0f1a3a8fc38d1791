//! Dumps on a serial line, as it is read.

use super::sent::WORD;
use crate::lines::{checked, whole};

/// The longest line that anybody looks at.
const LONGEST: usize = 1024;

/// Finds the lines of dumps in what is read.
#[derive(Debug, Default)]
pub struct Incoming {
    /// The begin of a line.
    line: Vec<u8>,
    /// The lines of a dump that has not ended.
    lines: String,
}

impl Incoming {
    /// Takes what was read; returns the lines of each dump that has ended with it.
    pub fn take(&mut self, read: &[u8]) -> Vec<String> {
        let mut ended = Vec::new();
        for byte in read {
            if *byte != b'\n' {
                // No line of a dump is as long.
                if self.line.len() < LONGEST {
                    self.line.push(*byte);
                }
                continue;
            }
            let line = String::from_utf8_lossy(&self.line).into_owned();
            self.line.clear();
            let Some(text) = checked(&line, WORD) else {
                continue;
            };
            if text.starts_with("begin ") {
                self.lines.clear();
            }
            self.lines += whole(&line, WORD).unwrap_or_default();
            self.lines.push('\n');
            if text.starts_with("end ") {
                ended.push(std::mem::take(&mut self.lines));
            }
        }
        ended
    }
}
