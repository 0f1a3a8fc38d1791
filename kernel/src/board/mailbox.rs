//! The mailbox by which a Raspberry Pi's processor asks the firmware for things, here for a screen. Manual: raspberrypi/firmware's wiki,
//! "Mailboxes" and "Mailbox property interface".

use core::sync::atomic::{AtomicU32, Ordering};

use screen::{Framebuffer, Layout, Order};

use super::registers::Registers;
use crate::arch::{cpu, mmu};
use crate::image;

/// The offset in bytes from the start of the peripherals.
const MAILBOX: u64 = 0xb880;

/// Registers, by offset in bytes: of the box with answers, and of that with requests.
const ANSWER: u64 = 0;
const ANSWER_STATUS: u64 = 0x18;
const REQUEST: u64 = 0x20;
const REQUEST_STATUS: u64 = 0x38;
/// Bits of both status registers.
const FULL: u32 = 1 << 31;
const EMPTY: u32 = 1 << 30;
/// The channel of this interface, in the lowest bits of what is put into a box.
const PROPERTIES: u32 = 8;

/// The second word of a message that was answered.
const ANSWERED: u32 = 1 << 31;

/// Tags of a message.
const SET_SIZE: u32 = 0x4_8003;
const SET_VIRTUAL_SIZE: u32 = 0x4_8004;
const SET_DEPTH: u32 = 0x4_8005;
const SET_ORDER: u32 = 0x4_8006;
const ALLOCATE: u32 = 0x4_0001;
const GET_STRIDE: u32 = 0x4_0008;

/// The size that is asked for, in pixels.
const WIDTH: u32 = 1024;
const HEIGHT: u32 = 768;
const BITS_PER_PIXEL: u32 = 32;
/// Values of `SET_ORDER`.
const BGR: u32 = 0;
const RGB: u32 = 1;

/// The firmware's view of RAM past its caches, where its address has these bits; and the bits of the address itself.
const UNCACHED: u64 = 0xc000_0000;
const ADDRESS: u64 = 0x3fff_ffff;

/// The words of the request: its size and what it is, then tags. A tag has its name, how many bytes it has room for, 0, and those bytes,
/// which the answer replaces.
const WORDS: [u32; 32] = [
    32 * 4,
    0,
    SET_SIZE,
    8,
    0,
    WIDTH,
    HEIGHT,
    SET_VIRTUAL_SIZE,
    8,
    0,
    WIDTH,
    HEIGHT,
    SET_DEPTH,
    4,
    0,
    BITS_PER_PIXEL,
    SET_ORDER,
    4,
    0,
    BGR,
    // Aligned to so many bytes; the answer is where it is, and its size in bytes.
    ALLOCATE,
    8,
    0,
    4096,
    0,
    GET_STRIDE,
    4,
    0,
    0,
    0,
    0,
    0,
];
/// Where the answers are in it.
const AT_WIDTH: usize = 10;
const AT_HEIGHT: usize = 11;
const AT_DEPTH: usize = 15;
const AT_ORDER: usize = 19;
const AT_ADDRESS: usize = 23;
const AT_SIZE: usize = 24;
const AT_STRIDE: usize = 28;

/// A message, in lines of the cache that nothing else is in.
#[repr(C, align(128))]
struct Message([AtomicU32; 32]);

static MESSAGE: Message = Message([const { AtomicU32::new(0) }; 32]);

/// Asks for a screen. The devices are those at this physical address.
pub fn framebuffer(peripherals: u64) -> Option<Framebuffer> {
    for (word, value) in MESSAGE.0.iter().zip(WORDS) {
        word.store(value, Ordering::Relaxed);
    }
    send(peripherals)?;
    let answer = |at: usize| MESSAGE.0[at].load(Ordering::Relaxed);
    let order = match answer(AT_ORDER) {
        BGR => Order::Bgr,
        RGB => Order::Rgb,
        _ => return None,
    };
    let layout = Layout {
        width: answer(AT_WIDTH),
        height: answer(AT_HEIGHT),
        stride: answer(AT_STRIDE) as usize,
        bytes_per_pixel: 4,
        order,
    };
    let start = u64::from(answer(AT_ADDRESS)) & ADDRESS;
    let size = u64::from(layout.height).checked_mul(layout.stride as u64)?;
    let is_sound = answer(AT_DEPTH) == BITS_PER_PIXEL
        && size <= u64::from(answer(AT_SIZE))
        && is_free(start, size, peripherals);
    if !is_sound {
        return None;
    }
    let at = (start + mmu::HIGH) as *mut u8;
    // SAFETY: the firmware has set this RAM apart for the pixels, for as long as the machine runs. It is in the first gigabyte, which is
    // mapped as device memory, and outside the image, so no reference leads there.
    unsafe { Framebuffer::new(at, layout) }
}

/// Whether so many bytes at a physical address are in RAM of the first gigabyte, above the image.
fn is_free(start: u64, size: u64, peripherals: u64) -> bool {
    let [.., (data, _)] = image::sections();
    let image_end = mmu::physical_address(data.end - 1);
    let ram_end = peripherals.min(ADDRESS + 1);
    start > image_end && start.checked_add(size).is_some_and(|end| end <= ram_end)
}

/// Sends the message, and waits for the answer to it. None if there is none.
fn send(peripherals: u64) -> Option<()> {
    // SAFETY: every Raspberry Pi has this device. The firmware writes only the message, whose words are atomic.
    let mailbox = unsafe { Registers::new(peripherals + MAILBOX) };
    let address = MESSAGE.0.as_ptr() as u64;
    let bus_address = mmu::physical_address(address) & ADDRESS | UNCACHED;
    let value = bus_address as u32 | PROPERTIES;
    cpu::flush_cache(address, size_of::<Message>() as u64);
    wait_until(|| mailbox.read(REQUEST_STATUS) & FULL == 0)?;
    mailbox.write(REQUEST, value);
    // An answer to somebody else's request, from before the kernel was there, is thrown away.
    wait_until(|| mailbox.read(ANSWER_STATUS) & EMPTY == 0 && mailbox.read(ANSWER) == value)?;
    // What was read meanwhile, ahead of time, is not the answer.
    cpu::flush_cache(address, size_of::<Message>() as u64);
    (MESSAGE.0[1].load(Ordering::Relaxed) == ANSWERED).then_some(())
}

/// Waits a second at most.
fn wait_until(is_done: impl Fn() -> bool) -> Option<()> {
    let (begin, limit) = (cpu::ticks(), cpu::ticks_per_second());
    while !is_done() {
        if cpu::ticks().wrapping_sub(begin) > limit {
            return None;
        }
        core::hint::spin_loop();
    }
    Some(())
}
