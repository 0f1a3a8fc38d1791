//! Dumps that a kernel has sent over its serial line, by `with_dump` of `kernel/postmortem`, whose module `dump` has the format.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail};
use base64ct::{Base64, Encoding};
use flate2::Crc;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSegment, SegmentFlags, elf};

use super::raw::state_in;
use super::segments::Segments;
use super::{IMAGE, Remains, SENT};
use crate::decode::Symbolizer;
use crate::hardware::Arch;
use crate::machine::{PIECE, Source};
use crate::stub::State;

/// How each line begins.
pub(super) const BEGIN: &str = "dump ";
/// The version of the format.
const VERSION: &str = "1";
/// CPUs that a line may name: a damaged one could name any.
const MOST: usize = 1024;

/// What a kernel has sent of its machine.
#[derive(Debug, Default)]
pub struct Sent {
    cpus: BTreeMap<usize, Cpu>,
    /// What the image has of constants and code, and behind it, so that it counts, what was sent.
    memory: Segments,
    /// How many lines are whole.
    lines: u64,
    /// What is missing, if that was noticed.
    lost: Option<String>,
}

#[derive(Debug, Default)]
struct Cpu {
    /// None if it did not answer.
    state: Option<State>,
    registers: Vec<(String, u64)>,
}

impl Sent {
    /// All dumps in a log of a kernel with this image, and how the last one's lines read.
    ///
    /// # Errors
    /// When one is of another kernel, or has a format that is not known here.
    pub fn all(log: &str, image: &Path) -> Result<Vec<Self>> {
        let lines = log.lines().enumerate();
        let mut lines = lines.filter_map(|(number, line)| Some((number + 1, checked(line)?)));
        let Some(first) = lines.next() else {
            return Ok(Vec::new());
        };
        let (arch, constants) = (crate::image::architecture(image)?, constants(image)?);
        let symbolizer = Symbolizer::open(image)?;
        let new = || Self {
            memory: constants.clone(),
            ..Self::default()
        };
        let (mut all, mut open) = (Vec::new(), None::<Self>);
        for (number, line) in std::iter::once(first).chain(lines) {
            let damaged = || format!("line {number} has a meaning that is not known here");
            let (word, rest) = line.split_once(' ').with_context(damaged)?;
            match word {
                "begin" => {
                    all.extend(open.take().map(Self::cut_off));
                    expect_same(rest, arch, image, symbolizer.build_id())?;
                    open = Some(new());
                }
                "end" => {
                    let count: u64 = rest.parse().ok().with_context(damaged)?;
                    all.push(open.take().unwrap_or_else(new).ended(count));
                    continue;
                }
                _ => open
                    .get_or_insert_with(new)
                    .add(word, rest, arch)
                    .with_context(damaged)?,
            }
            if let Some(open) = &mut open {
                open.lines += 1;
            }
        }
        all.extend(open.map(Self::cut_off));
        Ok(all)
    }

    /// The one in this folder, and the image that ran; none if the folder has no such dump.
    ///
    /// # Errors
    /// When it cannot be read, or is of another image.
    pub fn open(folder: &Path, image: Option<&Path>) -> Result<Option<(Self, PathBuf)>> {
        let path = folder.join(SENT);
        if !path.is_file() {
            return Ok(None);
        }
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let image = image.map_or_else(|| folder.join(IMAGE), Path::to_owned);
        let all = Self::all(&String::from_utf8_lossy(&text), &image);
        let mut all = all.with_context(|| path.display().to_string())?;
        let last = all.pop();
        let last = last.with_context(|| format!("{} has no dump", path.display()))?;
        Ok(Some((last, image)))
    }

    fn add(&mut self, word: &str, rest: &str, arch: Arch) -> Result<()> {
        let (first, rest) = rest.split_once(' ').context("it is short")?;
        if word == "at" {
            let digits = first.strip_prefix("0x").context("no address")?;
            let address = u64::from_str_radix(digits, 16)?;
            let packed = Base64::decode_vec(rest).map_err(|error| anyhow!("{error}"))?;
            let bytes = unpacked(&packed)?;
            if address.checked_add(bytes.len() as u64).is_none() {
                bail!("it goes beyond the last address");
            }
            self.memory.0.push((address, bytes));
            return Ok(());
        }
        let number = first.parse().ok().filter(|number| *number < MOST);
        let cpu = self.cpus.entry(number.context("no CPU")?).or_default();
        match word {
            "cpu" if rest == "does not answer" => return Ok(()),
            "cpu" => cpu.state = Some(state_in(rest, arch)?),
            "more" => {}
            _ => bail!("no such word"),
        }
        let words: Vec<_> = rest.split(' ').collect();
        for pair in words.chunks(2) {
            let [name, value] = *pair else {
                bail!("a register without a value");
            };
            let digits = value.strip_prefix("0x").context("no number")?;
            let value = u64::from_str_radix(digits, 16)?;
            cpu.registers.retain(|(known, _)| known != name);
            cpu.registers.push((name.to_owned(), value));
        }
        Ok(())
    }

    /// Where there were so many lines.
    fn ended(mut self, count: u64) -> Self {
        let missing = count.saturating_sub(self.lines);
        if missing > 0 {
            self.lost = Some(format!(
                "{missing} of its {count} lines are damaged or missing"
            ));
        }
        self
    }

    fn cut_off(mut self) -> Self {
        self.lost = Some(format!(
            "it is cut off: behind {} lines its end is missing",
            self.lines
        ));
        self
    }
}

impl Remains for Sent {
    fn reason(&self) -> &str {
        "its kernel has sent a dump"
    }

    fn registers(&self, cpu: usize) -> Result<Vec<(String, u64)>> {
        let cpu = self.cpus.get(&cpu).context("there is no such CPU")?;
        Ok(cpu.registers.clone())
    }

    fn check(&mut self) -> Result<()> {
        match self.lost.take() {
            Some(lost) => Err(Error::msg(lost).context("the dump is not whole")),
            None => Ok(()),
        }
    }
}

impl Source for Sent {
    fn cpus(&mut self) -> Result<Vec<bool>> {
        let last = self.cpus.last_key_value();
        Ok(vec![false; last.map_or(0, |(number, _)| number + 1)])
    }

    fn state(&mut self, cpu: usize) -> Result<State> {
        let cpu = self.cpus.get(&cpu);
        let cpu = cpu.context("it did not run, or its registers are missing")?;
        match cpu.state {
            Some(state) => Ok(state),
            None if cpu.registers.is_empty() => bail!("it did not answer its kernel"),
            None => bail!("some of its registers are missing"),
        }
    }

    fn piece(&mut self, _: usize, address: u64) -> Option<Box<[u8; PIECE as usize]>> {
        self.memory.piece(address)
    }

    fn knows(&self, address: u64) -> bool {
        self.memory.know(address)
    }
}

/// What a line says between its first word and its checksum, if it is whole. Others may have put something before it, such as the time.
pub(super) fn checked(line: &str) -> Option<&str> {
    let line = line.get(line.find(BEGIN)?..)?.trim_end();
    let (text, sum) = line.rsplit_once(' ')?;
    let mut crc = Crc::new();
    crc.update(text.as_bytes());
    let is_whole = sum.len() == 8 && u32::from_str_radix(sum, 16).ok()? == crc.sum();
    text.strip_prefix(BEGIN).filter(|_| is_whole)
}

/// That what follows `begin` is of this image.
fn expect_same(rest: &str, arch: Arch, image: &Path, build: Option<&str>) -> Result<()> {
    let shown = image.display();
    let [version, its_arch, its_build] = rest.split(' ').collect::<Vec<_>>()[..] else {
        bail!("a dump in the log begins in a way that is not known here");
    };
    if version != VERSION {
        bail!("a dump in the log has version {version} of its format, not {VERSION}");
    }
    if its_arch != arch.name() {
        bail!("a dump in the log is of {its_arch}, and image {shown} is not");
    }
    match build {
        Some(build) if its_build != "-" && its_build != build => bail!(
            "image {shown} does not fit a dump in the log: its build is {build}, not {its_build}"
        ),
        _ => Ok(()),
    }
}

/// The words that packed bytes stand for.
fn unpacked(mut packed: &[u8]) -> Result<Vec<u8>> {
    let (mut bytes, mut before) = (Vec::new(), 0_u64);
    while let [first, rest @ ..] = packed {
        packed = rest;
        let (count, upper) = match *first {
            0 => bail!("packed bytes that mean nothing"),
            first @ 1..=8 => (first, 0),
            first @ 9..=16 => (first - 8, before),
            first => {
                bytes.resize(bytes.len() + 8 * usize::from(first - 16), 0);
                continue;
            }
        };
        let low = packed.split_at_checked(count.into());
        let (low, rest) = low.context("packed bytes are missing")?;
        packed = rest;
        let mut word = upper.to_le_bytes();
        word[..low.len()].copy_from_slice(low);
        bytes.extend(word);
        let word = u64::from_le_bytes(word);
        // An address, to the kernel.
        if word >= 1 << 16 {
            before = word;
        }
    }
    Ok(bytes)
}

/// What cannot have changed since the image was loaded: code and constants.
fn constants(image: &Path) -> Result<Segments> {
    let shown = image.display();
    let data = fs::read(image).with_context(|| format!("cannot read image {shown}"))?;
    let file = ElfFile64::<Endianness>::parse(&*data);
    let file = file.with_context(|| format!("image {shown} is no 64-bit ELF file"))?;
    let constant = file.segments().filter(|segment| {
        matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if !p_flags.contains(elf::PF_W))
    });
    let segments = constant.map(|segment| Ok((segment.address(), segment.data()?.to_vec())));
    let segments = segments.collect::<object::Result<_>>();
    Ok(Segments(
        segments.with_context(|| format!("image {shown} is damaged"))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unpacked_as_they_were_packed() {
        let high = 0xffff_ffff_8010_0000_u64;
        let packed = [
            8, 0, 0, 0x10, 0x80, 0xff, 0xff, 0xff, 0xff, 1, 7, 10, 0x34, 0x12, 18,
        ];
        let words: Vec<u8> = [high, 7, high + 0x1234, 0, 0]
            .into_iter()
            .flat_map(u64::to_le_bytes)
            .collect();
        assert_eq!(unpacked(&packed).expect("it is whole"), words);
        for damaged in [&packed[..8], &[0], &[9], &[1]] {
            assert!(unpacked(damaged).is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn a_line_is_whole_or_none() {
        // The check value of CRC-32, for the same bytes as any other implementation's.
        let text = "dump end 4";
        let mut crc = Crc::new();
        crc.update(text.as_bytes());
        let line = format!("{text} {:08x}", crc.sum());
        assert_eq!(checked(&line), Some("end 4"));
        assert_eq!(checked(&format!("12:00:01 {line}\r")), Some("end 4"));
        for at in 0..line.len() {
            let mut damaged = line.clone().into_bytes();
            damaged[at] ^= 1;
            let damaged = String::from_utf8_lossy(&damaged).into_owned();
            assert_eq!(checked(&damaged), None, "{damaged}");
            assert_eq!(checked(&line[..at]), None, "{at}");
        }
    }
}
