//! A kernel that is followed, of any architecture.

use std::path::Path;

use anyhow::{Result, ensure};

use super::armv7a;
use super::command::Oracle;
use super::follow::{Plan, follow};
use super::image::Image;
use super::tally::Tally;
use super::total::{of_arm, totals, unseen};
use crate::hardware::{Arch, Processor};

/// The image of a kernel.
pub(super) enum Subject {
    /// Of 64 bits: all that the command offers.
    Wide(Image),
    /// For 32-bit ARM: one CPU, and NMIs only as they come.
    Arm(armv7a::Image),
}

impl Subject {
    pub(super) fn read(file: &Path, processor: Processor) -> Result<Self> {
        Ok(match processor {
            Processor::X86_64 => Self::Wide(Image::read(file, Arch::X86_64)?),
            Processor::Aarch64 => Self::Wide(Image::read(file, Arch::Aarch64)?),
            Processor::Armv7a => Self::Arm(armv7a::Image::read(file)?),
        })
    }

    /// Follows a scenario of the kernel, whose image is this file.
    pub(super) fn follow(
        &self,
        emulator: &Path,
        file: &Path,
        scenario: &str,
        plan: Plan<'_>,
    ) -> Result<Tally> {
        match self {
            Self::Wide(image) => follow(emulator, file, image, &image.table, scenario, plan),
            Self::Arm(image) => {
                let plan = armv7a::Plan {
                    seed: plan.seed,
                    boundaries: plan.boundaries,
                    visits: plan.visits,
                    boot: plan.boot,
                };
                armv7a::follow(emulator, file, image, &image.map, scenario, plan)
            }
        }
    }

    /// The sums of all scenarios, in lines.
    pub(super) fn totals(&self, tallies: &[Tally]) -> Vec<String> {
        match self {
            Self::Wide(image) => totals(image, tallies),
            Self::Arm(_) => vec![of_arm(tallies)],
        }
    }

    /// The functions in which the machine never was.
    pub(super) fn unseen(&self, tallies: &[Tally]) -> Option<String> {
        match self {
            Self::Wide(image) => Some(unseen(image, tallies)),
            Self::Arm(_) => None,
        }
    }
}

/// That the architecture has what is asked for.
pub(super) fn check(arguments: &Oracle) -> Result<()> {
    if arguments.arch == Processor::Armv7a {
        let wants_nmis = arguments.nmi.is_some() || arguments.nmi_in.is_some();
        ensure!(
            !wants_nmis,
            "--nmi and --nmi-in are not supported on armv7a"
        );
        ensure!(
            arguments.unseen.is_none(),
            "--unseen is not supported on armv7a"
        );
    }
    Ok(())
}
