//! Profiles that a kernel has taken of itself, by `Sampler` of `kernel/postmortem`, whose module `samples` has the format.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use super::file::Form;
use super::names::Named;
use super::samples::Samples;
use crate::decode::Symbolizer;
use crate::lines::{checked, ended, expect_of, marked, unpacked};
use crate::machine::INSTRUCTIONS;
use crate::outside::{Base, Callers, Stack};
use crate::status::{Failure, Status};
use crate::stub::Level;
use crate::words::say;

/// The first word of each line.
const WORD: &str = "profile";

/// Draw a flame graph from the samples that a kernel took of itself
///
/// The kernel sends the samples of its CPUs over the serial line (`Sampler::send` of `kernel-postmortem`), also on a board. For
/// a kernel in QEMU, --profile needs no support in the kernel.
#[derive(Clone, Debug, clap::Args)]
pub struct OfLog {
    /// Log to read
    #[arg(value_name = "LOG")]
    pub log: PathBuf,

    /// File to write. The file extension selects the format: a flame graph (.svg), all samples in time order (.speedscope.json),
    /// or call stacks with their counts (.folded)
    #[arg(value_name = "OUT")]
    pub out: PathBuf,

    /// ELF image that ran
    #[arg(long, value_name = "FILE")]
    pub image: PathBuf,
}

/// Makes the file.
///
/// # Errors
/// When the arguments cannot be used, the file cannot be written, or lines are missing, of which the file is made without.
pub fn of_log(arguments: &OfLog) -> Result<Status, Failure> {
    let form = Form::of(&arguments.out).map_err(Failure::usage)?;
    let (log, image) = (arguments.log.display(), &arguments.image);
    let text = fs::read(&arguments.log).with_context(|| format!("cannot read {log}"));
    let text = text.map_err(Failure::usage)?;
    let callers = Callers::read(image).map_err(Failure::usage)?;
    let symbolizer = Symbolizer::open(image).map_err(Failure::usage)?;
    let sent = Sent::read(
        &String::from_utf8_lossy(&text),
        image,
        symbolizer.build_id(),
    );
    let sent = sent
        .with_context(|| log.to_string())
        .map_err(Failure::usage)?;
    let mut samples = Samples::new();
    let (mut cpus, mut complete) = (BTreeSet::new(), 0);
    for (cpu, stack) in sent.stacks {
        cpus.insert(cpu);
        complete += usize::from(stack.base == Base::Complete);
        samples.add(stack, &callers);
    }
    let all = samples.order.len();
    if all == 0 {
        let error = anyhow!("{log} contains no samples sent by a kernel");
        return Err(Failure::usage(error));
    }
    let rate = sent.rate;
    let summary = format!(
        "{all} samples of {count} {cpus} at {rate} samples per second; {complete} samples have complete call stacks",
        count = cpus.len(),
        cpus = if cpus.len() == 1 { "CPU" } else { "CPUs" }
    );
    let name = image.file_name().unwrap_or_default().to_string_lossy();
    let named = Named::new(samples, &symbolizer, &callers);
    let bytes = form.bytes(&named, INSTRUCTIONS / rate, "time", &name, &summary)?;
    linker::whole::write(&arguments.out, &bytes)?;
    say(format_args!(
        "wrote the profile of {name} to {file}: {summary}",
        file = arguments.out.display()
    ));
    if !sent.is_proven {
        say(format_args!(
            "warning: {log} or image {name} has no build id, so names in the profile may be wrong"
        ));
    }
    match sent.lost {
        0 => Ok(Status::Success),
        lost => Err(anyhow!("damaged or missing lines of the profile: {lost}").into()),
    }
}

/// What is in a log.
struct Sent {
    /// Samples a second.
    rate: u64,
    /// Each with its CPU, those of a CPU in the order of time.
    stacks: Vec<(usize, Stack)>,
    /// Lines that are missing.
    lost: u64,
    /// Their build id shows that all are of the image.
    is_proven: bool,
}

impl Sent {
    fn read(log: &str, image: &Path, build: Option<&str>) -> Result<Self> {
        let mut sent = Self {
            rate: INSTRUCTIONS,
            stacks: Vec::new(),
            lost: 0,
            is_proven: true,
        };
        // Those of a CPU, from the newest on; and how many lines came with them.
        let (mut newest, mut lines) = (Vec::new(), 0);
        let (mut is_open, mut lost_begin, mut moved_by) = (false, 0, 0);
        let mut mark = None;
        for (number, line) in log.lines().enumerate() {
            let Some(line) = checked(line, WORD) else {
                continue;
            };
            let damaged = || {
                format!(
                    "line {number} of the log has an unknown format",
                    number = number + 1
                )
            };
            let (word, rest) = line.split_once(' ').with_context(damaged)?;
            let (words, its_mark) = match word {
                "begin" => marked(rest)?,
                _ => (rest, None),
            };
            match (word, &words.split(' ').collect::<Vec<_>>()[..]) {
                ("begin", [arch, its_build, probe, rate]) => {
                    let origin = expect_of([arch, its_build, probe], image, build)?;
                    mark = its_mark;
                    moved_by = origin.moved_by;
                    sent.is_proven &= origin.is_proven;
                    let rate = rate.parse().ok();
                    let rate = rate.filter(|rate| (1..=INSTRUCTIONS).contains(rate));
                    sent.rate = rate.with_context(damaged)?;
                    // One before it may have lost its end.
                    sent.lost += u64::from(is_open);
                    sent.stacks.extend(newest.drain(..).rev());
                    (lines, is_open) = (1, true);
                }
                // Without its begin nobody knows what image its addresses are of.
                ("stack", _) if !is_open => lost_begin += 1,
                ("stack", [cpu, what, packed]) => {
                    let mut stack = stack(what, packed).with_context(damaged)?;
                    for frame in &mut stack.frames {
                        *frame = frame.wrapping_sub(moved_by);
                    }
                    newest.push((cpu.parse().ok().with_context(damaged)?, stack));
                    lines += 1;
                }
                ("end", _) => {
                    let (count, its_mark) = ended(rest).with_context(damaged)?;
                    // Of two profiles, of which the first was cut off, and the second has lost its begin: perhaps of two images.
                    if is_open && (mark != its_mark || lines > count) {
                        newest.clear();
                        sent.lost += lines.max(count);
                        (lines, is_open) = (0, false);
                        continue;
                    }
                    sent.lost += count.saturating_sub(lines + lost_begin);
                    sent.stacks.extend(newest.drain(..).rev());
                    sent.lost += std::mem::take(&mut lost_begin);
                    (lines, is_open) = (0, false);
                }
                _ => bail!(damaged()),
            }
        }
        sent.lost += u64::from(is_open) + lost_begin;
        sent.stacks.extend(newest.into_iter().rev());
        Ok(sent)
    }
}

fn stack(what: &str, packed: &str) -> Result<Stack> {
    let (level, base) = match what {
        "complete" => (Level::Kernel, Base::Complete),
        "incomplete" => (Level::Kernel, Base::Incomplete),
        "user" => (Level::User, Base::Incomplete),
        _ => bail!("no such stack"),
    };
    Ok(Stack {
        level,
        frames: unpacked(packed)?,
        base,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::tests::{begin, line};

    /// How many samples are in these lines, and how many lines are missing.
    fn read(lines: &[&str]) -> (usize, u64) {
        let image = std::env::current_exe().expect("this program has a path");
        let log: String = lines.iter().map(|text| line(WORD, text)).collect();
        let symbolizer = Symbolizer::open(&image).expect("it can be read");
        let sent = Sent::read(&log, &image, symbolizer.build_id());
        let sent = sent.expect("its lines are known");
        (sent.stacks.len(), sent.lost)
    }

    const STACK: &str = "stack 0 complete AQM=";

    #[test]
    fn a_whole_profile_of_each_version_is_read() {
        let (first, second) = (begin("1", " 100"), begin("2", " 100 1234abcd"));
        assert_eq!(read(&[&first, STACK, STACK, "end 3"]), (2, 0));
        assert_eq!(read(&[&second, STACK, "end 2 1234abcd"]), (1, 0));
        assert_eq!(read(&[&second, STACK, "end 4 1234abcd"]), (1, 2));
    }

    /// A reset has cut off a profile, and the first line of the next one is lost: its samples may be of another image.
    #[test]
    fn two_profiles_are_not_taken_for_one() {
        let (first, second) = (begin("1", " 100"), begin("2", " 100 1234abcd"));
        assert_eq!(read(&[&first, STACK, STACK, "end 2"]), (0, 3));
        assert_eq!(read(&[&second, STACK, STACK, "end 3 1234abce"]), (0, 3));
        assert_eq!(read(&[&second, STACK, "end 4"]), (0, 4));
    }
}
