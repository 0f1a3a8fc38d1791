//! Stacks that a kernel has written into its log, by `print_stack` of `kernel/postmortem`, each as a machine of one CPU.

mod registers;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::hardware::Processor;
use crate::lines::moved_by;
use crate::machine::{PIECE, Source};
use crate::stub::State;

/// The line after the last word of a stack, up to the address behind it. Then it says where `postmortem_read` lies.
const END: &str = "end of stack 0x";

/// What a log has of one stack.
#[derive(Clone, Debug)]
pub struct Logged {
    /// What had happened: the line before the registers.
    pub what: String,
    state: State,
    words: BTreeMap<u64, u64>,
    /// Bytes of each.
    size: u64,
    /// How far the image lies above the addresses that it was linked for, modulo 2^64, if that is known.
    moved_by: Option<u64>,
    /// The line that begins its report has the image's build id.
    is_of_image: bool,
}

impl Logged {
    /// All stacks in a log of an image for this architecture, which has this build id, and was linked to have `postmortem_read` at this address,
    /// if they are known.
    ///
    /// # Errors
    /// When one of them is damaged: a line is missing or is not whole. Or it is of another image.
    pub fn all(
        log: &str,
        arch: Processor,
        probe: Option<u64>,
        build: Option<&str>,
    ) -> Result<Vec<Self>> {
        let (mut all, mut said) = (Vec::new(), None);
        let (mut before, mut lines) = ("", log.lines().map(str::trim_end).zip(1..));
        while let Some((line, number)) = lines.next() {
            said = match crate::report::Line::parse(line) {
                // This is of an earlier report, perhaps of another boot, after which another kernel may run.
                Some(_) => None,
                None => match crate::decode::build(line) {
                    Some("") => None,
                    found => found.or(said),
                },
            };
            if line.starts_with("  rip 0x") || line.starts_with("  pc 0x") {
                let mut rest = lines.clone().peekable();
                let mut registers = vec![line];
                while let Some((line, _)) = rest.next_if(|(it, _)| it.starts_with(registers::MORE))
                {
                    registers.push(line);
                }
                let mut stack = rest.skip_while(|(line, _)| line.is_empty()).peekable();
                if stack.peek().is_some_and(|(line, _)| is_stack(line)) {
                    let state = registers::state(&registers, arch);
                    let state = state.with_context(|| format!("line {number} is damaged"))?;
                    let size = arch.word();
                    let (words, lies) = words(stack, state.sp & !(size - 1), size)?;
                    let moved_by = probe.map(|linked| moved_by(linked, lies));
                    let problem = "the log contains the stack of another image";
                    if let Some((said, build)) = said.zip(build)
                        && said != build
                    {
                        bail!(
                            "the log contains the stack of an image with build id {said}, expected build id {build}"
                        );
                    }
                    let moved_by = moved_by.map(|by| by.context(problem)).transpose()?;
                    all.push(Self {
                        what: before.to_owned(),
                        state,
                        words,
                        size,
                        moved_by,
                        is_of_image: said.is_some() && said == build,
                    });
                    said = None;
                }
            }
            before = line;
        }
        Ok(all)
    }
}

fn is_stack(line: &str) -> bool {
    line.starts_with("stack 0x")
}

/// The words of so many bytes in these lines, from an address on, and where `postmortem_read` lies.
fn words<'l>(
    lines: impl Iterator<Item = (&'l str, usize)>,
    start: u64,
    size: u64,
) -> Result<(BTreeMap<u64, u64>, u64)> {
    let (mut words, mut next) = (BTreeMap::new(), start);
    for (line, number) in lines {
        let damaged = || format!("line {number} of the log or an earlier line is damaged");
        if let Some(end) = line.strip_prefix(END) {
            let words_of = end.split(' ').collect::<Vec<_>>();
            let [end, "read", lies] = words_of[..] else {
                bail!(damaged());
            };
            let lies = lies.strip_prefix("0x");
            let lies = lies.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            return match u64::from_str_radix(end, 16).ok() == Some(next) {
                true => Ok((words, lies.with_context(damaged)?)),
                false => bail!(damaged()),
            };
        }
        let parts = line
            .strip_prefix("stack 0x")
            .and_then(|line| line.split_once(':'));
        let (address, found) = parts.with_context(damaged)?;
        if u64::from_str_radix(address, 16).ok() != Some(next) {
            bail!(damaged());
        }
        for word in found.split_whitespace() {
            let word = u64::from_str_radix(word, 16)
                .ok()
                .filter(|_| word.len() as u64 == 2 * size);
            words.insert(next, word.with_context(damaged)?);
            next = next.wrapping_add(size);
        }
    }
    bail!("the log ends before the line `end of stack`")
}

impl Source for Logged {
    fn cpus(&mut self) -> Result<Vec<bool>> {
        Ok(vec![false])
    }

    fn state(&mut self, _: usize) -> Result<State> {
        Ok(self.state)
    }

    /// Nobody reads below the stack pointer. What lies above the last word is zero, where a walk ends.
    fn piece(&mut self, _: usize, address: u64) -> Option<Box<[u8; PIECE as usize]>> {
        let start = address / PIECE * PIECE;
        let last = start + (PIECE - self.size);
        let mut found = self.words.range(start..=last).peekable();
        found.peek()?;
        let mut piece = Box::new([0; PIECE as usize]);
        for (at, word) in found {
            let at = (at - start) as usize;
            let bytes = &word.to_le_bytes()[..self.size as usize];
            piece[at..at + bytes.len()].copy_from_slice(bytes);
        }
        Some(piece)
    }

    fn moved_by(&self) -> Option<u64> {
        self.moved_by
    }

    fn is_of_image(&self) -> bool {
        self.is_of_image
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "open\r\npage fault\r\n  rip 0x0000000000100312  rsp 0x0000000000002018  rbp 0x0000000000000001, others not known\r\n
stack 0x0000000000002018: 0000000000000003 0000000000000004 0000000000000005 0000000000000006\r
stack 0x0000000000002038: 0000000000000007\r
end of stack 0x0000000000002040 read 0x111230\r\n";

    fn all(log: &str, build: Option<&str>) -> Result<Vec<Logged>> {
        Logged::all(log, Processor::X86_64, Some(0x10_1230), build)
    }

    #[test]
    fn a_build_id_before_a_stack_tells_whose_it_is() {
        let id = "5c868ddb";
        let of = |log: &str, build| {
            let all = all(log, build)?;
            Ok::<_, anyhow::Error>(all.iter().map(Logged::is_of_image).collect::<Vec<_>>())
        };
        let report = format!("cpu 0, task main, x86_64, build {id}, tables verified\n");
        let (named, later) = (format!("{report}{LOG}"), format!("{LOG}{report}"));
        assert_eq!(of(&named, Some(id)).expect("it is whole"), [true]);
        assert_eq!(of(&named, None).expect("it is whole"), [false]);
        assert_eq!(of(LOG, Some(id)).expect("it is whole"), [false]);
        assert_eq!(of(&later, Some(id)).expect("it is whole"), [false]);
        let error = of(&named, Some("5c868ddc")).expect_err("it is another");
        assert!(
            error
                .to_string()
                .contains("of an image with build id 5c868ddb")
        );
    }

    /// The report, or the stack, may be of an earlier boot, with another kernel.
    #[test]
    fn a_build_id_of_an_earlier_report_tells_nothing_of_a_stack() {
        let id = "5c868ddb";
        let report = format!("cpu 0, task main, x86_64, build {id}, tables verified\n");
        let frame = "   0: 0x0000000000000000 p a\n";
        let end = "end of backtrace: complete, 1 frames\n";
        let last = |log: &str| {
            let all = all(log, Some(id)).expect("it is whole");
            all.last().expect("a stack").is_of_image()
        };
        for between in [frame, end, LOG] {
            assert!(!last(&format!("{report}{between}{LOG}")), "{between}");
            let again = format!("{report}{between}{report}{LOG}");
            assert!(last(&again), "{between}");
        }
    }

    #[test]
    fn words_are_where_they_were() {
        let all = all(LOG, Some("5c868ddb"));
        let mut all = all.expect("it is whole");
        assert_eq!(all.len(), 1);
        let one = &mut all[0];
        assert_eq!(one.what, "page fault");
        assert_eq!(one.moved_by(), Some(0x1_0000));
        let state = one.state(0).expect("it is known");
        assert_eq!((state.pc, state.sp), (0x10_0312, 0x2018));
        let piece = one.piece(0, 0x2020).expect("it has words");
        assert_eq!(
            piece[0x18..0x30].iter().filter(|byte| **byte != 0).count(),
            3
        );
        assert_eq!((piece[0x18], piece[0x20], piece[0x28]), (3, 4, 5));
        assert!(one.piece(0, 0x4000).is_none());
    }

    #[test]
    fn a_damaged_log_is_refused() {
        for (old, new) in [
            ("stack 0x0000000000002038: 0000000000000007\r\n", ""),
            ("2018: 0000000000000003 ", "2020: "),
            ("0000000000000004 ", ""),
            ("0000000000000004 ", "000000000000004 "),
            ("0000000000000005", "00000000000000x5"),
            ("end of stack", ""),
            ("rsp 0x0000000000002018", "rsp 0x000000000000201"),
            ("111230", "111231"),
            ("111230", "11123"),
        ] {
            assert!(LOG.contains(old), "{old}");
            let all = all(&LOG.replace(old, new), None);
            assert!(all.is_err(), "{old} as {new}: {all:?}");
        }
        let reports = LOG.replace("stack 0x", "others 0x");
        let all = all(&reports, None).expect("it has none");
        assert!(all.is_empty());
    }
}
