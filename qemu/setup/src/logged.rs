//! Runs a program whose output matters only when it fails.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The time between two checks whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Lines of output to show when it fails.
const LINES_SHOWN: usize = 5;

/// Runs `command` with its output in the file `log`, and calls `tick` every now and then.
///
/// # Errors
/// When it cannot be started or fails; then with the end of its output.
pub(super) fn run(command: &mut Command, log: &Path, mut tick: impl FnMut()) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(
            file.try_clone()
                .context("cannot duplicate the handle of a log file")?,
        )
        .stderr(file)
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    let status = loop {
        if let Some(status) = child
            .try_wait()
            .with_context(|| format!("cannot wait for {name}"))?
        {
            break status;
        }
        tick();
        std::thread::sleep(LOOK_EVERY);
    };
    if !status.success() {
        bail!("{name} failed ({status}): {output}", output = tail(log));
    }
    Ok(())
}

/// What went wrong according to a file with output, as one line: apt's errors, or else the last lines.
fn tail(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let errors: Vec<_> = lines
        .iter()
        .copied()
        .filter(|line| line.starts_with("E: "))
        .collect();
    let shown = if errors.is_empty() { lines } else { errors };
    let from = shown.len().saturating_sub(LINES_SHOWN);
    shown[from..].join(" | ")
}
