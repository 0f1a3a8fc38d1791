//! Where the time went: the call stacks of a machine, at one of so many instructions, as a flame graph.
//!
//! ```text
//! recording ─► replay ─► samples ─► names ─► file
//! of a boot    stopped   stacks in  frames   flame graph, speedscope
//!              there     order      by name  or folded stacks
//! ```
//!
//! The machine does not notice: it is recorded first, which changes nothing that it sees, and looked at from outside when it does
//! the same again.

mod file;
mod names;
mod points;
mod samples;
mod sent;
mod speedscope;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::decode::Symbolizer;
use crate::hardware::Board;
use crate::machine::{Boot, INSTRUCTIONS, Recorded, Recording, Replay};
use crate::outside::Callers;
use crate::words::{Progress, say};
use file::Form;
use names::Named;
use points::Points;
use samples::Samples;
pub use sent::{OfLog, of_log};

/// Instructions from one look to the next for the first of the image.
const STRIDE: u64 = INSTRUCTIONS / 1000;

/// Records a boot, and makes its profile.
#[derive(Debug)]
pub struct Recorder {
    file: PathBuf,
    form: Form,
    /// How many instructions there are to a sample.
    every: u64,
    recording: Recording,
}

impl Recorder {
    /// One that makes this file, if somebody asks for it, of so many samples a second.
    ///
    /// # Errors
    /// When there can be none.
    pub fn asked_for(
        file: Option<&Path>,
        rate: u64,
        board: Board,
        cpus: u32,
    ) -> Result<Option<Self>> {
        let Some(file) = file else {
            return Ok(None);
        };
        // QEMU refuses to record others. Without a recording, it stops the machine too rarely, and not where it is asked to.
        match board.fixed_cpus() {
            Some(cpus) if cpus > 1 => {
                bail!("QEMU records machines of one CPU, for a profile; this board has {cpus}")
            }
            None if cpus > 1 => bail!(
                "QEMU records machines of one CPU, for a profile; this one has {cpus}: --cpus 1 starts it with one"
            ),
            _ => {}
        }
        Ok(Some(Self {
            form: Form::of(file)?,
            file: file.to_owned(),
            every: INSTRUCTIONS / rate,
            recording: Recording::new()?,
        }))
    }

    /// What the machine has to do.
    #[must_use]
    pub const fn recorded(&self) -> Recorded<'_> {
        Recorded::Record(&self.recording)
    }

    /// Makes the profile of a `boot` that was recorded, with what came on its serial line, and says what came of it.
    ///
    /// # Errors
    /// When QEMU does not do the same again, or the file cannot be written; then the file is as it was before.
    pub fn make(&self, boot: &Boot<'_>, serial: &[u8], emulator: &Path, name: &str) -> Result<()> {
        let callers = Callers::read(boot.image)?;
        let samples = self.samples(boot, serial, emulator, &callers, name)?;
        let symbolizer = Symbolizer::open(boot.image)?;
        if samples.order.is_empty() {
            bail!("it ended before the first sample; --profile-rate takes more of them");
        }
        let summary = samples.summary(self.every);
        let named = Named::new(samples, &symbolizer, &callers);
        let bytes = self.form.bytes(&named, self.every, name, &summary)?;
        linker::whole::write(&self.file, &bytes)?;
        let file = self.file.display();
        say(format_args!("profile of {name}: {summary}: {file}"));
        Ok(())
    }

    fn samples(
        &self,
        boot: &Boot<'_>,
        serial: &[u8],
        emulator: &Path,
        callers: &Callers,
        name: &str,
    ) -> Result<Samples> {
        let progress = Progress::start(format!("going through {name} again, for its profile"));
        let start = self.before_entry(Replay::start(boot, &self.recording, emulator)?, callers)?;
        let mut replay = Replay::start(boot, &self.recording, emulator)?;
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
            bail!("QEMU has not done the same again: the serial line has other text");
        }
        progress.done();
        Ok(samples)
    }

    /// After how many instructions the image is about to be entered, or not many more: firmware takes millions. 0, if nobody has seen
    /// the image at work.
    fn before_entry(&self, mut replay: Replay, callers: &Callers) -> Result<u64> {
        for point in (STRIDE..).step_by(STRIDE as usize) {
            let pc = replay.look_at(point, |stopped| Ok(stopped.state(0)?.pc))?;
            match pc {
                Some(pc) if callers.is_code(pc) => return Ok(point - STRIDE),
                Some(_) => {}
                None => break,
            }
        }
        Ok(0)
    }
}
