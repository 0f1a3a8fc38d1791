//! `cargo run -- image`: what goes on a Raspberry Pi's SD card, beside the firmware's own files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::flat;
use crate::build::{Kernel, Profile};
use crate::hardware::Arch;
use crate::status::{Failure, Status};
use crate::words::say;
use crate::{scenario, workspace};

/// Tells the firmware what to do. The same for all models.
const CONFIG: &str = "\
# Start kernel8.img in 64-bit mode, where its header says: at a multiple of 2 MiB.
arm_64bit=1
kernel=kernel8.img
kernel_address=0x200000
# The serial line on the pins 14 (out) and 15 (in) is the PL011, not the mini UART: 115200 baud, whatever the core's clock.
# Without the overlay's file the device tree says so, and the kernel takes the mini UART.
enable_uart=1
dtoverlay=disable-bt
init_uart_clock=48000000
# On a Raspberry Pi 4 interrupts go to the cores as on a 3, not through the GIC, whose FIQs belong to the firmware.
enable_gic=0
# A Raspberry Pi 5 otherwise starts only kernels that name it in a device tree of their own.
os_check=0
";

/// Write the files for the SD card of a Raspberry Pi 3, 4 or 5: `kernel8.img`, `config.txt` and `cmdline.txt`
///
/// From <https://github.com/raspberrypi/firmware>, also copy the device tree of the model and `overlays/disable-bt.dtbo` to the
/// card. A Raspberry Pi 3 also needs `bootcode.bin`, `start.elf` and `fixup.dat`; a Raspberry Pi 4 also needs `start4.elf` and
/// `fixup4.dat`.
#[derive(Clone, Debug, clap::Args)]
pub struct Card {
    /// Model of the board
    #[arg(long, value_enum)]
    pub board: Model,

    /// Folder to write to. If the folder does not exist, the command creates it
    #[arg(short, value_name = "FOLDER")]
    pub output: PathBuf,

    /// Build the kernel with optimizations
    #[arg(long)]
    pub release: bool,

    /// Scenario that the kernel runs
    #[arg(value_name = "SCENARIO", default_value = "panic")]
    pub scenario: String,
}

/// The models that one image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Model {
    /// Raspberry Pi 3, all models
    Raspi3,
    /// Raspberry Pi 4, 400 and Compute Module 4
    Raspi4,
    /// Raspberry Pi 5, 500 and Compute Module 5
    Raspi5,
}

impl Model {
    /// Returns the name on the command line, which is the kernel's name of the board, too.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raspi3 => "raspi3",
            Self::Raspi4 => "raspi4",
            Self::Raspi5 => "raspi5",
        }
    }
}

/// Does what [`Card`] says.
///
/// # Errors
/// When the kernel cannot be built, or a file not be written.
pub fn card(arguments: &Card) -> Result<Status, Failure> {
    let name = &arguments.scenario;
    scenario::find(name)
        .with_context(|| {
            format!("unknown scenario {name:?}; the option --list prints all scenarios")
        })
        .map_err(Failure::usage)?;
    let target = workspace::target_folder()?;
    let profile = match arguments.release {
        true => Profile::Release,
        false => Profile::Debug,
    };
    let arch = Arch::Aarch64;
    let image = Kernel { arch, profile }.build(&target)?;
    let folder = &arguments.output;
    write_card(folder, &image, name)?;
    say(format_args!(
        "kernel8.img, config.txt and cmdline.txt are in {folder}; the image with debug information is {image}",
        folder = folder.display(),
        image = image.display()
    ));
    Ok(Status::Success)
}

/// Writes the three files for an image and its command line to a folder, which is made if it is not there.
///
/// # Errors
/// Returns an error if the image cannot be made flat, or a file cannot be written.
pub fn write_card(folder: &Path, image: &Path, command_line: &str) -> Result<()> {
    let shown = folder.display();
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create folder {shown}"))?;
    write(&folder.join("kernel8.img"), &flat(image)?)?;
    write(&folder.join("config.txt"), CONFIG.as_bytes())?;
    write(
        &folder.join("cmdline.txt"),
        format!("{command_line}\n").as_bytes(),
    )
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
