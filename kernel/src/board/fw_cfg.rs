//! QEMU's device for what firmware is told, as far as [`ramfb`](super::ramfb) needs it. Source: QEMU, `docs/specs/fw_cfg.rst`.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::arch::mmu;

/// How the device is reached, which differs between architectures.
pub trait FwCfg {
    /// Chooses an item, from its first byte on.
    fn select(&self, item: u16);

    /// The next byte of the item.
    fn next(&self) -> u8;

    /// Does what the request at this physical address asks for.
    fn transfer(&self, request: u64);
}

const SIGNATURE: u16 = 0;
const DIRECTORY: u16 = 0x19;

/// Bytes of a file's name in the directory.
const NAME: usize = 56;

/// More files than any machine has: the device may be none.
const MAX_FILES: u32 = 1024;

/// Bits of a request: the transfer has failed, the item is in the upper half, to the item.
const FAILED: u32 = 1;
const SELECT: u32 = 1 << 3;
const WRITE: u32 = 1 << 4;

/// Polls of a transfer, which QEMU has done before the first one.
const MAX_POLLS: u32 = 100_000;

/// The item of the file with this name.
pub fn file(device: &dyn FwCfg, name: &[u8]) -> Option<u16> {
    device.select(SIGNATURE);
    if [(); 4].map(|()| device.next()) != *b"QEMU" {
        return None;
    }
    device.select(DIRECTORY);
    let number = |bytes: &[u8]| {
        let add = |number, byte: &u8| number << 8 | u32::from(*byte);
        bytes.iter().fold(0, add)
    };
    let files = number(&[(); 4].map(|()| device.next())).min(MAX_FILES);
    let mut entries = (0..files).map(|_| {
        // Its size, its item, two bytes of no meaning, its name.
        let [.., high, low, _, _] = [(); 8].map(|()| device.next());
        (
            u16::from_be_bytes([high, low]),
            [(); NAME].map(|()| device.next()),
        )
    });
    let found = entries.find(|(_, of)| {
        let (begin, end) = of.split_at(name.len().min(NAME));
        begin == name && end.first() == Some(&0)
    });
    found.map(|(item, _)| item)
}

/// Writes big-endian words to an item; returns whether the device did it.
pub fn write(device: &dyn FwCfg, item: u16, words: &'static [AtomicU32]) -> bool {
    static REQUEST: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
    let address = physical_address(words);
    let control = u32::from(item) << 16 | SELECT | WRITE;
    let length = size_of_val(words) as u32;
    let request = [control, length, (address >> 32) as u32, address as u32];
    for (word, value) in REQUEST.iter().zip(request) {
        word.store(value.to_be(), Ordering::Release);
    }
    device.transfer(physical_address(&REQUEST));
    for _ in 0..MAX_POLLS {
        match u32::from_be(REQUEST[0].load(Ordering::Acquire)) {
            0 => return true,
            state if state & FAILED != 0 => return false,
            _ => spin_loop(),
        }
    }
    false
}

fn physical_address(of: &'static [AtomicU32]) -> u64 {
    mmu::physical_address(of.as_ptr() as u64)
}
