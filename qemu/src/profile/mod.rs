//! Where the time went: the call stacks of a machine, at one of so many instructions, as a flame graph.
//!
//! ```text
//! recording ─► replay ─► samples ─► names ─► file
//! of a boot    stopped   stacks in  frames   flame graph, speedscope
//!              there     order      by name  or folded stacks
//! ```
//!
//! The machine does not notice: it is recorded first, which changes nothing that it sees, and looked at from outside when it does
//! the same again. QEMU records machines of one CPU only; others are stopped every so often while they run (`stops.rs`).

mod file;
mod names;
mod points;
mod samples;
mod sent;
mod speedscope;
mod stops;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::decode::Symbolizer;
use crate::hardware::Board;
use crate::held::Held;
use crate::machine::{Boot, Given, INSTRUCTIONS, Observer, Recorded, Recording, Replay};
use crate::outside::Callers;
use crate::words::{Progress, say};
use file::Form;
use names::Named;
use points::Points;
use samples::Samples;
pub use sent::{OfLog, of_log};
use stops::Stops;

/// Instructions from one look to the next for the first of the image.
const STRIDE: u64 = INSTRUCTIONS / 1000;

/// Looks at a boot, and makes its profile.
#[derive(Debug)]
pub struct Recorder {
    file: PathBuf,
    form: Form,
    way: Way,
    /// The image as it was before its boot.
    held: OnceLock<Held>,
}

/// How it looks.
#[derive(Debug)]
enum Way {
    /// At one of so many instructions of a recording.
    Record(u64, Recording),
    /// While the machine runs.
    Stop(Box<Stops>),
}

impl Recorder {
    /// One that makes this file, if somebody asks for it, of so many samples a second. A machine that boots by a `given` command has
    /// disks and devices that need not do the same again, so it is not recorded.
    ///
    /// # Errors
    /// When there can be none.
    pub fn asked_for(
        file: Option<&Path>,
        rate: u64,
        board: Board,
        cpus: u32,
        given: Option<&Given>,
    ) -> Result<Option<Self>> {
        let Some(file) = file else {
            return Ok(None);
        };
        let form = Form::of(file)?;
        let way = match board.fixed_cpus().unwrap_or(cpus) {
            1 if given.is_none() => Way::Record(INSTRUCTIONS / rate, Recording::new()?),
            _ => Way::Stop(Box::new(Stops::new(rate))),
        };
        Ok(Some(Self {
            form,
            file: file.to_owned(),
            way,
            held: OnceLock::new(),
        }))
    }

    /// What the machine has to do.
    #[must_use]
    pub const fn recorded(&self) -> Option<Recorded<'_>> {
        match &self.way {
            Way::Record(_, recording) => Some(Recorded::Record(recording)),
            Way::Stop(_) => None,
        }
    }

    /// Who looks at it meanwhile, of a boot of this image.
    ///
    /// # Errors
    /// When the image cannot be read.
    pub fn observer(&self, image: &Path) -> Result<Option<&dyn Observer>> {
        let held = Held::of(image)?;
        let held = self.held.get_or_init(|| held);
        match &self.way {
            Way::Record(..) => Ok(None),
            Way::Stop(stops) => {
                stops.prepare(&held.path())?;
                Ok(Some(&**stops))
            }
        }
    }

    /// Makes the profile of a `boot` that was recorded, with what came on its serial line, and says what came of it.
    ///
    /// # Errors
    /// When QEMU does not do the same again, or the file cannot be written; then the file is as it was before.
    pub fn make(&self, boot: &Boot<'_>, serial: &[u8], emulator: &Path, name: &str) -> Result<()> {
        let image = self.held.get().context("no sample was taken")?.path();
        let boot = &Boot {
            image: &image,
            ..boot.clone()
        };
        let symbolizer = Symbolizer::open(&image)?;
        let (every, named, summary) = match &self.way {
            Way::Record(every, recording) => {
                let callers = Callers::read(&image)?;
                let again = Again {
                    recording,
                    every: *every,
                    callers: &callers,
                };
                let samples = again.samples(boot, serial, emulator, name)?;
                let summary =
                    samples.summary(&format!("one sample every {every} instructions"), &callers);
                (*every, Named::new(samples, &symbolizer, &callers), summary)
            }
            Way::Stop(stops) => {
                let seen = stops.take();
                let rate = seen.rate();
                let cpus = match seen.cpus {
                    1 => "1 CPU".to_owned(),
                    count => format!("{count} CPUs"),
                };
                let mut of = format!("taken from {cpus} at {rate} samples per second");
                if seen.missed > 0 {
                    of += &format!(", {missing} samples missing", missing = seen.missed);
                }
                let callers = stops.callers()?;
                let summary = seen.samples.summary(&of, callers);
                let named = Named::new(seen.samples, &symbolizer, callers);
                (INSTRUCTIONS / rate.min(INSTRUCTIONS), named, summary)
            }
        };
        if named.order.is_empty() {
            bail!("the boot ended before the first sample; pass a higher --profile-rate");
        }
        let unit = match &self.way {
            Way::Record(..) => "instructions",
            Way::Stop(_) => "time",
        };
        let bytes = self.form.bytes(&named, every, unit, name, &summary)?;
        linker::whole::write(&self.file, &bytes)?;
        let file = self.file.display();
        say(format_args!(
            "wrote the profile of {name} to {file}: {summary}"
        ));
        Ok(())
    }
}

/// A recorded boot, which is gone through again.
struct Again<'a> {
    recording: &'a Recording,
    /// How many instructions there are to a sample.
    every: u64,
    callers: &'a Callers,
}

impl Again<'_> {
    fn samples(
        &self,
        boot: &Boot<'_>,
        serial: &[u8],
        emulator: &Path,
        name: &str,
    ) -> Result<Samples> {
        let callers = self.callers;
        let progress = Progress::start(format!("replaying {name} to make its profile"));
        let start = self.before_entry(Replay::start(boot, self.recording, emulator)?)?;
        let mut replay = Replay::start(boot, self.recording, emulator)?;
        let mut samples = Samples::new();
        for point in Points::new(self.every, start) {
            let Some(stack) = replay.look_at(point, |stopped| callers.of(stopped, 0))? else {
                break;
            };
            samples.add(stack, callers);
            progress.tick();
        }
        let again = replay.serial();
        let is_same = match self.recording.instructions() {
            None => again == serial,
            // Neither need have all that a machine has written whose time is over.
            Some(_) => again.starts_with(serial) || serial.starts_with(&again),
        };
        if !is_same {
            bail!(
                "the serial output of the replay differs from the serial output of the recorded boot"
            );
        }
        progress.done();
        Ok(samples)
    }

    /// After how many instructions the image is about to be entered, or not many more: firmware takes millions. 0, if nobody has seen
    /// the image at work.
    fn before_entry(&self, mut replay: Replay) -> Result<u64> {
        for point in (STRIDE..).step_by(STRIDE as usize) {
            let pc = replay.look_at(point, |stopped| Ok(stopped.state(0)?.pc))?;
            match pc {
                Some(pc) if self.callers.is_code(pc) => return Ok(point - STRIDE),
                Some(_) => {}
                None => break,
            }
        }
        Ok(0)
    }
}
