//! Looks at a machine that fail while it runs: the series goes on, and whoever looks is told.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Result, ensure};
use qemu::machine::{Arch, Board, Boot, Observer, Processor, Source, Stopped, Verdict};

use crate::support::built;
use crate::support::tiny::{self, Act};

/// Whose second and third look fail, and perhaps all that follow.
#[derive(Debug)]
struct Fails {
    for_ever: bool,
    looks: AtomicU32,
    missed: AtomicU32,
}

impl Observer for Fails {
    fn pause(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn look(&self, stopped: &mut Stopped<'_>, _: Duration) -> Result<()> {
        let look = self.looks.fetch_add(1, Relaxed);
        ensure!(look < 1 || look > 2 && !self.for_ever, "it failed");
        stopped.cpus().map(drop)
    }

    fn missed(&self, looks: u32) {
        self.missed.fetch_add(looks, Relaxed);
    }
}

#[gate]
fn looks_that_fail_are_counted_and_others_follow() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = tiny::image(folder.path(), Arch::Aarch64, &[Act::Spin]);
    let board = Board::of(Processor::Aarch64);
    for for_ever in [false, true] {
        let fails = Fails {
            for_ever,
            looks: AtomicU32::new(0),
            missed: AtomicU32::new(0),
        };
        let boot = Boot {
            guest_limit: Some(Duration::from_millis(200)),
            observer: Some(&fails),
            ..Boot::on(board, &image, "")
        };
        let emulator = built::emulator(board.processor());
        let booted = boot.run(&emulator, &mut std::io::sink());
        let verdict = booted.expect("QEMU starts").verdict;
        assert_eq!(verdict, Verdict::OutOfGuestTime);
        let [looks, missed] = [fails.looks, fails.missed].map(AtomicU32::into_inner);
        let expected = if for_ever { looks - 1 } else { 2 };
        assert!(looks > 3, "{looks}");
        assert_eq!(missed, expected);
    }
}
