//! Dumps that a kernel has sent over its serial line, by `with_dump` of `kernel/postmortem`, whose module `dump` has the format.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};
use object::{Object, ObjectSegment, SegmentFlags, elf};

use super::raw::state_in;
use super::segments::Segments;
use super::{IMAGE, Remains, SENT};
use crate::decode::Symbolizer;
use crate::hardware::Processor;
use crate::image::processor;
use crate::lines::{Origin, checked, ended, expect_of, marked, unpacked};
use crate::machine::{PIECE, Source};
use crate::stub::State;

/// The first word of each line.
pub(super) const WORD: &str = "dump";
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
    /// Its first line is there, and is of no other image.
    has_begin: bool,
    /// What that line says of it.
    origin: Origin,
    /// The mark in that line, which its last line repeats. The first version of the format has none.
    mark: Option<u32>,
    /// What is missing, if that was noticed.
    lost: Option<String>,
}

#[derive(Debug, Default)]
struct Cpu {
    /// Its first line is there: a dump has one for each CPU.
    is_known: bool,
    /// None if it did not answer.
    state: Option<State>,
    registers: Vec<(String, u64)>,
}

impl Sent {
    /// All dumps in a log of a kernel with this image.
    ///
    /// # Errors
    /// When one is of another kernel, or has a format that is not known here.
    pub fn all(log: &str, image: &Path) -> Result<Vec<Self>> {
        let lines = log.lines().enumerate();
        let mut lines = lines.filter_map(|(number, line)| Some((number + 1, checked(line, WORD)?)));
        let Some(first) = lines.next() else {
            return Ok(Vec::new());
        };
        let (arch, constants) = (processor(image)?, constants(image)?);
        let symbolizer = Symbolizer::open(image)?;
        let new = || Self {
            memory: constants.clone(),
            ..Self::default()
        };
        let (mut all, mut open) = (Vec::new(), None::<Self>);
        for (number, line) in std::iter::once(first).chain(lines) {
            let damaged = || format!("line {number} of the log has an unknown format");
            let (word, rest) = line.split_once(' ').with_context(damaged)?;
            match word {
                "begin" => {
                    all.extend(open.take().map(Self::cut_off));
                    let (words, mark) = marked(rest)?;
                    let origin = words.split(' ').collect::<Vec<_>>();
                    let origin = <[_; 3]>::try_from(origin).ok().with_context(damaged)?;
                    let origin = expect_of(origin, image, symbolizer.build_id())?;
                    let mut new = new();
                    new.memory.move_by(origin.moved_by);
                    open = Some(Self {
                        has_begin: true,
                        origin,
                        mark,
                        ..new
                    });
                }
                "end" => {
                    let (count, mark) = ended(rest).with_context(damaged)?;
                    all.push(open.take().unwrap_or_else(new).ended(count, mark));
                    continue;
                }
                _ => {
                    // This is of another dump, whose first line is lost.
                    let is_of_next = |open: &mut Self| word == "cpu" && open.has_cpu(rest);
                    all.extend(open.take_if(is_of_next).map(Self::cut_off));
                    let open = open.get_or_insert_with(new);
                    open.add(word, rest, arch).with_context(damaged)?;
                }
            }
            if let Some(open) = &mut open {
                open.lines += 1;
            }
        }
        all.extend(open.map(Self::cut_off));
        Ok(all)
    }

    /// That its first line says what has sent it. Without a build id in that line, no list is complete.
    ///
    /// # Errors
    /// When that line is damaged or missing.
    pub fn expect_begin(&self) -> Result<()> {
        match self.has_begin {
            true => Ok(()),
            false => bail!(
                "the first line of the dump, which contains the build id, is damaged or missing, so names in the report may be wrong"
            ),
        }
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
        let last =
            last.with_context(|| format!("{path} contains no dump", path = path.display()))?;
        Ok(Some((last, image)))
    }

    /// Whether it has the line of the CPU that this one is about.
    fn has_cpu(&self, line: &str) -> bool {
        let number = line
            .split(' ')
            .next()
            .and_then(|number| number.parse().ok());
        let cpu = number.and_then(|number: usize| self.cpus.get(&number));
        cpu.is_some_and(|cpu| cpu.is_known)
    }

    fn add(&mut self, word: &str, rest: &str, arch: Processor) -> Result<()> {
        let (first, rest) = rest.split_once(' ').context("it is short")?;
        if word == "at" {
            let digits = first.strip_prefix("0x").context("no address")?;
            let address = u64::from_str_radix(digits, 16)?;
            let bytes = bytes(&unpacked(rest)?, arch)?;
            if address.checked_add(bytes.len() as u64).is_none() {
                bail!("memory in the dump extends past the end of the address space");
            }
            self.memory.0.push((address, bytes));
            return Ok(());
        }
        let number = first.parse().ok().filter(|number| *number < MOST);
        let cpu = self.cpus.entry(number.context("no CPU")?).or_default();
        cpu.is_known |= word == "cpu";
        match word {
            "cpu" if rest == "does not answer" => return Ok(()),
            "cpu" => cpu.state = Some(state_in(rest, arch)?),
            "more" => {}
            _ => bail!("unknown register"),
        }
        let words: Vec<_> = rest.split(' ').collect();
        for pair in words.chunks(2) {
            let [name, value] = *pair else {
                bail!("a register in the dump has no value");
            };
            let digits = value.strip_prefix("0x").context("no number")?;
            let value = u64::from_str_radix(digits, 16)?;
            cpu.registers.retain(|(known, _)| known != name);
            cpu.registers.push((name.to_owned(), value));
        }
        Ok(())
    }

    /// Where there were so many lines, and this mark.
    fn ended(mut self, count: u64, mark: Option<u32>) -> Self {
        // It was cut off, and the next one, whose lines these are, too, has lost its first one.
        if self.has_begin && (self.mark != mark || self.lines > count) {
            self.has_begin = false;
            self.origin.is_proven = false;
            self.lost = Some("the log mixes lines of two dumps".to_owned());
            return self;
        }
        let missing = count.saturating_sub(self.lines);
        if missing > 0 {
            self.lost = Some(format!(
                "{missing} of {count} lines of the dump are damaged or missing"
            ));
        }
        self
    }

    fn cut_off(mut self) -> Self {
        self.lost = Some(format!(
            "the dump ends after {lines} lines without its last line",
            lines = self.lines
        ));
        self
    }
}

impl Remains for Sent {
    fn reason(&self) -> &str {
        "the kernel sent a dump"
    }

    fn registers(&self, cpu: usize) -> Result<Vec<(String, u64)>> {
        let cpu = self.cpus.get(&cpu).context("unknown CPU")?;
        Ok(cpu.registers.clone())
    }

    fn check(&mut self) -> Result<()> {
        match self.lost.take() {
            Some(lost) => Err(Error::msg(lost).context("the dump is incomplete")),
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
        let sent = self.cpus.get(&cpu).with_context(|| {
            format!(
                "the dump contains no registers of cpu {cpu}; this CPU may not have been running"
            )
        })?;
        match sent.state {
            Some(state) => Ok(state),
            None if sent.registers.is_empty() => {
                bail!("cpu {cpu} did not answer the kernel's request for its registers")
            }
            None => bail!("the dump does not contain all registers of cpu {cpu}"),
        }
    }

    fn piece(&mut self, _: usize, address: u64) -> Option<Box<[u8; PIECE as usize]>> {
        self.memory.piece(address)
    }

    fn knows(&self, address: u64, bytes: u64) -> bool {
        self.memory.know(address, bytes)
    }

    fn moved_by(&self) -> Option<u64> {
        Some(self.origin.moved_by)
    }

    fn is_of_image(&self) -> bool {
        self.origin.is_proven
    }

    /// Its code was never sent.
    fn has_own_code(&self) -> bool {
        false
    }
}

/// Words as they lie in memory.
fn bytes(words: &[u64], arch: Processor) -> Result<Vec<u8>> {
    let size = arch.word() as usize;
    let mut bytes = Vec::with_capacity(words.len() * size);
    for word in words {
        let word = word.to_le_bytes();
        let (low, high) = word.split_at(size);
        if high.iter().any(|byte| *byte != 0) {
            bail!("a memory word in the dump has more than {size} bytes");
        }
        bytes.extend_from_slice(low);
    }
    Ok(bytes)
}

/// What cannot have changed since the image was loaded: code and constants.
fn constants(image: &Path) -> Result<Segments> {
    let shown = image.display();
    let data = fs::read(image).with_context(|| format!("cannot read image {shown}"))?;
    let file = object::File::parse(&*data);
    let file = file.with_context(|| format!("image {shown} is not an ELF file"))?;
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
    use crate::lines::tests::{begin, line};

    /// The dumps in these lines, each with whether it has its first line, and whether it is whole.
    fn read(lines: &[&str]) -> Vec<(bool, bool)> {
        let image = std::env::current_exe().expect("this program has a path");
        let log: String = lines.iter().map(|text| line("dump", text)).collect();
        let all = Sent::all(&log, &image).expect("its lines are known");
        let all = all.into_iter();
        all.map(|mut one| (one.expect_begin().is_ok(), one.check().is_ok()))
            .collect()
    }

    const CPU: &str = "cpu 0 does not answer";

    #[test]
    fn a_whole_dump_of_each_version_is_read() {
        let (first, second) = (begin("1", ""), begin("2", " 1234abcd"));
        assert_eq!(read(&[&first, CPU, "end 2"]), [(true, true)]);
        assert_eq!(read(&[&second, CPU, "end 2 1234abcd"]), [(true, true)]);
        assert_eq!(read(&[&second, "end 2 1234abcd"]), [(true, false)]);
        assert_eq!(read(&[&second, CPU]), [(true, false)]);
    }

    /// A reset has cut off a dump, and the first line of the next one is lost.
    #[test]
    fn two_dumps_are_not_taken_for_one() {
        let (first, second) = (begin("1", ""), begin("2", " 1234abcd"));
        // Each CPU has one line in a dump.
        let (cut, without) = ((true, false), (false, false));
        assert_eq!(read(&[&first, CPU, CPU, "end 2"])[0], cut);
        assert_eq!(read(&[&first, CPU, CPU, "end 2"]).len(), 2);
        assert!(!read(&[&first, CPU, CPU, "end 2"])[1].0);
        // The last line counts fewer lines.
        let word = "at 0x1000 EQ==";
        assert_eq!(read(&[&first, word, word, "end 2"]), [without]);
        // Lines of the second are lost, too, as many as the first had.
        let ended = [&second, CPU, word, "end 3 1234abce"];
        assert_eq!(read(&ended), [without]);
        assert_eq!(read(&[&first, CPU, "end 2 1234abcd"]), [without]);
        assert_eq!(read(&[&second, CPU, "end 2"]), [without]);
    }
}
