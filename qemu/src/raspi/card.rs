//! `cargo run -- image`: what goes on a Raspberry Pi's SD card, beside the firmware's own files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use linker::whole;

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

/// Writes the three files for an image and its command line to a folder, which is made if it is not there. Each file is replaced whole, so that a
/// card that is removed too early, or is full, has the old file or the new one.
///
/// # Errors
/// Returns an error if the image cannot be made flat, or a file cannot be written.
pub fn write_card(folder: &Path, image: &Path, command_line: &str) -> Result<()> {
    let shown = folder.display();
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create folder {shown}"))?;
    whole::write(&folder.join("kernel8.img"), &flat(image)?)?;
    whole::write(&folder.join("config.txt"), CONFIG.as_bytes())?;
    whole::write(
        &folder.join("cmdline.txt"),
        format!("{command_line}\n").as_bytes(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file of one segment, which begins with the header of an arm64 image.
    fn test_image(folder: &Path) -> PathBuf {
        let mut file = [0; 184];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"\x7fELF\x02\x01\x01");
        for (at, value) in [(16, 2), (18, 183), (52, 64), (54, 56), (56, 1)] {
            put(at, &u16::to_le_bytes(value));
        }
        put(20, &[1]);
        put(32, &64_u64.to_le_bytes());
        // The program header: a segment of 64 bytes at offset 120.
        put(64, &[1]);
        for (at, value) in [(72, 120_u64), (96, 64), (104, 64)] {
            put(at, &value.to_le_bytes());
        }
        put(120 + 56, b"ARM\x64");
        let path = folder.join("image");
        std::fs::write(&path, file).expect("a file can be written");
        path
    }

    /// No file of a card is changed in place, so that another name of the old file keeps its content.
    #[test]
    fn files_are_replaced_and_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let folder = folder.path();
        let image = test_image(folder);
        let names = ["kernel8.img", "config.txt", "cmdline.txt"];
        for name in names {
            std::fs::write(folder.join(name), "old").expect("a file can be written");
            let other = folder.join(name).with_extension("other");
            std::fs::hard_link(folder.join(name), other).expect("a file can have two names");
        }
        write_card(folder, &image, "panic").expect("the files can be written");
        for name in names {
            let read = |path: PathBuf| std::fs::read(path).expect("it is there");
            assert_eq!(read(folder.join(name).with_extension("other")), b"old");
            assert_ne!(read(folder.join(name)), b"old");
        }
        assert_eq!(std::fs::read_dir(folder).expect("it is there").count(), 7);
    }
}
