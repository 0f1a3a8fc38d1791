//! The last text before a reset, kept in memory that a reset does not clear, and shown at the next boot.
//!
//! Text is appended to one of two parts of a ring; when that part is full, the other part is emptied and used. The report that ends a
//! kernel has a ring of its own in the [`Region`]. Each part has a checksum that is valid after every byte: the byte is stored first, then
//! length and checksum in one store. A single checksum at the end was rejected, because a kernel that hangs, or is reset by a watchdog,
//! never computes it.

mod lines;
mod region;

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::caches::clean;
use lines::Lines;
pub use region::Region;
use region::{Ring, State};

/// Keeps text in a [`Region`].
#[derive(Debug)]
pub struct LastWords {
    region: &'static Region,
    /// A CPU is keeping text now, perhaps one that was stopped in the middle of it. Text of other CPUs is not kept meanwhile, but that
    /// of the report that ends the kernel is.
    is_busy: AtomicBool,
    /// The kept text is being shown, and must not be kept again.
    is_paused: AtomicBool,
    /// What the boot before had kept is forgotten: it was shown, or a report has come before that was done.
    is_own: AtomicBool,
}

impl LastWords {
    /// Keeps text in this region.
    #[must_use]
    pub const fn new(region: &'static Region) -> Self {
        Self {
            region,
            is_busy: AtomicBool::new(false),
            is_paused: AtomicBool::new(false),
            is_own: AtomicBool::new(false),
        }
    }

    /// Keeps what is printed.
    pub fn keep(&self, text: &[u8]) {
        if self.is_paused.load(Ordering::Relaxed) || self.is_busy.swap(true, Ordering::Acquire) {
            return;
        }
        self.region.text.append(text);
        self.is_busy.store(false, Ordering::Release);
    }

    /// Keeps the text of the report that ends the kernel. Only one CPU writes this report. If the text of the previous boot was not shown
    /// yet, it is discarded, because the next boot must not combine the two.
    pub fn keep_report(&self, text: &[u8]) {
        if !self.is_own.load(Ordering::Relaxed) {
            self.forget();
        }
        self.region.report.append(text);
        // The text of a report may be the last that this CPU does.
        self.region.report.write_back();
    }

    /// Forgets what was printed, so that the next boot shows nothing: for a kernel that resets the machine although nothing
    /// went wrong.
    pub fn forget(&self) {
        self.is_own.store(true, Ordering::Relaxed);
        for ring in self.region.rings() {
            ring.forget();
        }
    }

    /// Returns the number of boots since power was switched on, this boot included. [`Self::show`] counts them.
    pub fn boots(&self) -> u32 {
        self.region.boots.load(Ordering::Relaxed) as u32
    }

    /// Writes the last text before the reset that led here, if it is known. Then discards it, to keep the text of this boot. If memory has
    /// survived the reset, but the checksum of a part is wrong, a line states that in its place. Call it once, when the kernel boots.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn show(&self, out: &mut dyn Write) -> fmt::Result {
        // Where power was off, memory has any content.
        let is_counted = self.count_boot();
        let rings = self.region.rings().map(Ring::checked);
        let has_text = |state: &Option<State>| state.is_some_and(|state| state.length > 0);
        // The count of boots may be damaged, too. A text whose checksum is right was kept.
        let has_survived = is_counted || rings.iter().flatten().any(|(_, state)| has_text(state));
        let is_lost = |state: &Option<State>| has_survived && state.is_none();
        let mut parts = rings.iter().flatten();
        if parts.any(|(_, state)| has_text(state) || is_lost(state)) {
            self.is_paused.store(true, Ordering::Relaxed);
            out.write_str("epitaph, the last output before the reset:\n")?;
            let mut lines = Lines {
                out,
                is_open: false,
                is_cut: false,
            };
            for (ring, parts) in rings.into_iter().enumerate() {
                let mut is_first = ring > 0;
                lines.is_cut = false;
                // Earlier parts of it are lost, perhaps with the beginning of this one's first line.
                if parts[0].1.is_some_and(|state| state.sequence > 0) {
                    lines.end()?;
                    lines.is_cut = true;
                }
                for (part, state) in parts {
                    if is_lost(&state) {
                        lines.lost()?;
                    }
                    let length = state.map_or(0, |state| usize::from(state.length));
                    for byte in part.text.iter().take(length) {
                        let byte = byte.load(Ordering::Relaxed);
                        // A CPU that did not answer may have been in the middle of a line.
                        if is_first && byte != b'\n' {
                            lines.end()?;
                        }
                        is_first = false;
                        lines.byte(byte)?;
                    }
                }
            }
            lines.end()?;
            self.is_paused.store(false, Ordering::Relaxed);
        }
        self.forget();
        Ok(())
    }

    /// Counts this boot, and returns whether there was one before, so that memory has kept its content.
    fn count_boot(&self) -> bool {
        let word = self.region.boots.load(Ordering::Relaxed);
        let (before, inverse) = (word as u32, (word >> 32) as u32);
        let has_survived = before == !inverse;
        let boots = if has_survived { before } else { 0 }.wrapping_add(1);
        let word = u64::from(boots) | u64::from(!boots) << 32;
        self.region.boots.store(word, Ordering::Relaxed);
        clean(self.region.boots.as_ptr().cast());
        has_survived
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches;
    use crate::last_words::region::SIZE;

    fn region() -> &'static Region {
        Box::leak(Box::new(Region::new()))
    }

    /// Those of a boot that has shown what the boot before had kept.
    fn booted(region: &'static Region) -> LastWords {
        let words = LastWords::new(region);
        let shown = words.show(&mut String::new());
        shown.expect("a string takes everything");
        words
    }

    /// What the next boot shows.
    fn shown(region: &'static Region) -> String {
        let mut out = String::new();
        let words = LastWords::new(region);
        words.show(&mut out).expect("a string takes everything");
        out
    }

    const TITLE: &str = "epitaph, the last output before the reset:\n";

    #[test]
    fn the_next_boot_shows_what_was_kept_and_the_one_after_it_nothing() {
        let region = region();
        assert_eq!(shown(region), "");
        let words = LastWords::new(region);
        words.keep(b"one\ntwo \xff");
        assert_eq!(words.boots(), 1);
        assert_eq!(shown(region), format!("{TITLE}| one\n| two .\n"));
        assert_eq!(words.boots(), 2);
        assert_eq!(shown(region), "");
    }

    #[test]
    fn the_last_lines_are_kept_whole_whatever_their_number() {
        for count in [1_usize, 500, 1000, 1500, 12_345] {
            let region = region();
            let words = LastWords::new(region);
            let lines: Vec<String> = (0..count).map(|line| format!("line {line}\n")).collect();
            lines.iter().for_each(|line| words.keep(line.as_bytes()));
            let shown = shown(region);
            let shown = shown.strip_prefix(TITLE).expect("the title");
            let kept: String = shown
                .lines()
                .map(|line| line.strip_prefix("| ").expect("a mark").to_owned() + "\n")
                .collect();
            let all = lines.concat();
            assert!(all.ends_with(&kept), "{count} lines:\n{kept}");
            assert!(kept.len() >= all.len().min(SIZE), "{count} lines");
        }
    }

    #[test]
    fn a_part_with_a_wrong_byte_is_not_shown() {
        let region = region();
        let words = LastWords::new(region);
        words.keep(b"nobody will read this");
        region.text.parts[0].text[7].fetch_xor(1, Ordering::Relaxed);
        assert_eq!(shown(region), "");
    }

    #[test]
    fn a_part_that_is_damaged_after_a_boot_is_told_in_its_place() {
        let lost = "| -- text omitted, because its checksum is wrong --\n";
        let line = "a line of sixteen\n";
        let lines = SIZE / line.len();
        // The older part of two, or the newer one.
        for newest in [false, true] {
            let region = region();
            let words = booted(region);
            words.keep(line.repeat(lines + 10).as_bytes());
            let (current, _) = region.text.current();
            let part = if newest {
                current
            } else {
                region.text.other(current)
            };
            part.text[7].fetch_xor(1, Ordering::Relaxed);
            words.keep_report(b"a report\n");
            let shown = shown(region);
            let (before, after) = shown.split_once(lost).expect(&shown);
            let (in_older, in_newer) = (
                before.matches("sixteen").count(),
                after.matches("sixteen").count(),
            );
            match newest {
                true => assert_eq!((in_older, in_newer), (lines, 0), "{shown}"),
                false => assert!(in_older == 0 && in_newer >= 9, "{shown}"),
            }
            assert!(
                before.starts_with(TITLE) && after.ends_with("| a report\n"),
                "{shown}"
            );
        }
        // All that there was.
        let region = region();
        let words = booted(region);
        words.keep(b"nobody will read this\n");
        region.text.parts[0].text[7].fetch_xor(1, Ordering::Relaxed);
        assert_eq!(shown(region), format!("{TITLE}{lost}"));
        assert_eq!(shown(region), "");
    }

    /// The number of boots is not the only evidence that memory has kept its content.
    #[test]
    fn a_damaged_part_is_told_although_the_number_of_boots_is_damaged() {
        let region = region();
        let words = booted(region);
        words.keep("a line of sixteen\n".repeat(SIZE / 16).as_bytes());
        let (current, _) = region.text.current();
        current.state.fetch_xor(1 << 40, Ordering::Relaxed);
        region.boots.fetch_xor(1, Ordering::Relaxed);
        let shown = shown(region);
        let lost = "| -- text omitted, because its checksum is wrong --\n";
        assert!(shown.contains(lost), "{shown}");
        assert!(shown.contains("a line of sixteen"), "{shown}");
    }

    /// What the next boot shows if the caches have written nothing back but what they were told to.
    fn shown_from_memory(region: &'static Region) -> String {
        let (start, after) = (core::ptr::from_ref(region) as usize, self::region());
        let target = core::ptr::from_ref(after).cast_mut().cast::<u8>();
        for offset in 0..size_of::<Region>() {
            // SAFETY: inside of a region, whose bytes are atomics, and which nobody else uses.
            unsafe {
                target
                    .add(offset)
                    .write_volatile(caches::model::byte(start + offset))
            };
        }
        shown(after)
    }

    #[test]
    fn what_was_kept_is_in_memory_and_not_only_in_the_caches() {
        for count in [1_usize, 7, 100, 500, 1500] {
            let region = region();
            let words = booted(region);
            let lines: String = (0..count).map(|line| format!("line {line}\n")).collect();
            words.keep(lines.as_bytes());
            words.keep(b"a begun line");
            words.keep_report(b"a report\nwith a begun ");
            words.keep_report(b"line");
            let from_memory = shown_from_memory(region);
            let whole = shown(region).replace("| a begun line\n", "");
            assert_eq!(from_memory, whole, "{count} lines");
            assert!(
                whole.ends_with("| a report\n| with a begun line\n"),
                "{whole}"
            );
            // It is forgotten there, too.
            assert_eq!(shown_from_memory(region), "");
        }
    }

    #[test]
    fn any_content_of_the_memory_can_be_shown() {
        for seed in 0..100_u64 {
            let region = region();
            for (part, number) in region.text.parts.iter().zip(1..) {
                let word = (seed + number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                part.state.store(word, Ordering::Relaxed);
            }
            assert_eq!(shown(region), "", "seed {seed}");
        }
    }

    #[test]
    fn the_checksum_is_right_after_every_byte() {
        let region = region();
        let words = LastWords::new(region);
        for byte in 0..3 * SIZE {
            words.keep(b"x");
            let (part, _) = region.text.current();
            assert!(part.checked().is_some(), "byte {byte}");
        }
    }

    #[test]
    fn a_report_is_kept_behind_what_one_that_was_stopped_had_kept() {
        let region = region();
        let words = booted(region);
        words.keep(b"before ");
        words.is_busy.store(true, Ordering::Relaxed);
        words.keep(b"lost");
        words.keep_report(b"kept\n");
        assert_eq!(shown(region), format!("{TITLE}| before \n| kept\n"));
        assert_eq!(shown(region), "", "both are forgotten");
        let words = booted(region);
        // It began behind its own unfinished line itself.
        words.keep(b"before");
        words.keep_report(b"\nkept\n");
        assert_eq!(shown(region), format!("{TITLE}| before\n| kept\n"));
    }

    /// Its beginning is not that of the report after it.
    #[test]
    fn the_boot_before_is_forgotten_when_this_one_ends_before_it_is_shown() {
        let region = region();
        let words = booted(region);
        words.keep(b"of the first boot\n");
        words.keep_report(b"its report\n");
        let words = LastWords::new(region);
        words.keep_report(b"an early ");
        words.keep_report(b"report\n");
        assert_eq!(shown(region), format!("{TITLE}| an early report\n"));
    }

    /// A CPU that does not answer goes on printing.
    #[test]
    fn a_report_is_whole_beside_another_writer() {
        let region = region();
        let words = booted(region);
        let is_done = AtomicBool::new(false);
        let report = "line of the report\n".repeat(300);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    words.keep(b"x\n");
                }
            });
            report.lines().for_each(|line| {
                words.keep_report(line.as_bytes());
                words.keep_report(b"\n");
            });
            is_done.store(true, Ordering::Relaxed);
        });
        let shown = shown(region);
        assert_eq!(shown.matches("| line of the report\n").count(), 300);
        assert!(shown.ends_with("| line of the report\n"), "{shown}");
    }
}
