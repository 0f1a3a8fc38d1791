//! A program without an operating system: a trait object, a generic function, a closure, and code that nothing calls.
#![no_std]
#![no_main]

use core::fmt::Debug;
use core::panic::PanicInfo;

trait Area {
    fn area(&self) -> u64;
}
struct Square(u64);
struct Circle(u64);
impl Area for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}
impl Area for Circle {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 * 3
    }
}
impl Square {
    #[inline(never)]
    fn grow<T: Into<u64>>(&mut self, by: T) {
        self.0 += by.into();
    }
}

#[inline(never)]
fn pick<T: Copy + Debug>(values: &[T], index: usize) -> T {
    values[index]
}

#[inline(never)]
fn call(function: &dyn Fn(usize) -> u64) -> u64 {
    function(7)
}

#[unsafe(no_mangle)]
extern "C" fn start(n: usize) -> u64 {
    let mut square = Square(n as u64);
    square.grow(3_u32);
    let shapes: [&dyn Area; 2] = [&square, &Circle(2)];
    let closure = |index: usize| shapes[index & 1].area() + n as u64;
    call(&closure) + u64::from(pick(&[1_u32, 2, 3], n)) + u64::from(pick(&[1_u8, 2], n))
}

#[unsafe(no_mangle)]
extern "C" fn dead() -> u64 {
    call(&|index: usize| index as u64)
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {}
}

// The host's own `core` wants it, though nothing here unwinds.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

core::arch::global_asm!(
    ".globl _start",
    ".type _start, @function",
    "_start: .cfi_startproc",
    ".cfi_undefined rip",
    "call start",
    "hlt",
    ".cfi_endproc",
    ".size _start, . - _start",
    // Without CFI, without a type and without a size.
    "stub: call start",
    "ret",
);
