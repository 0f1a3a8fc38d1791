//! Ordinary Rust, for rustc to choose the frames: generics, trait objects, closures, bounds checks and what they call.
#![crate_type = "lib"]
#![no_std]

use core::fmt::{self, Write};

pub trait Shape {
    fn area(&self) -> f64;
    fn name(&self) -> &str;
}

pub struct Square(pub f64);
pub struct Polygon<'a>(pub &'a [(f64, f64)]);

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
    fn name(&self) -> &str {
        "square"
    }
}

impl Shape for Polygon<'_> {
    fn area(&self) -> f64 {
        let next = self.0.iter().cycle().skip(1);
        let twice: f64 = self.0.iter().zip(next).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum();
        twice / 2.0
    }
    fn name(&self) -> &str {
        match self.0.len() {
            3 => "triangle",
            4 => "quadrilateral",
            _ => "polygon",
        }
    }
}

/// A writer into a slice that drops what does not fit.
pub struct Fixed<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl Write for Fixed<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.used..];
        let length = text.len().min(room.len());
        room[..length].copy_from_slice(&text.as_bytes()[..length]);
        self.used += length;
        if length == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

#[unsafe(no_mangle)]
pub fn describe(shapes: &[&dyn Shape], bytes: &mut [u8]) -> usize {
    let mut out = Fixed { bytes, used: 0 };
    for shape in shapes {
        if writeln!(out, "{:>12}: {:.2}", shape.name(), shape.area()).is_err() {
            break;
        }
    }
    out.used
}

#[unsafe(no_mangle)]
pub fn quicksort(keys: &mut [u32], visit: &mut dyn FnMut(&[u32])) {
    if keys.len() < 2 {
        return;
    }
    let pivot = keys[keys.len() / 2];
    let (mut low, mut high) = (0, keys.len() - 1);
    while low <= high {
        while keys[low] < pivot {
            low += 1;
        }
        while keys[high] > pivot {
            high -= 1;
        }
        if low <= high {
            keys.swap(low, high);
            low += 1;
            high = high.saturating_sub(1);
        }
    }
    visit(keys);
    let (left, right) = keys.split_at_mut(low);
    quicksort(left, visit);
    quicksort(right, visit);
}

#[unsafe(no_mangle)]
pub fn histogram(text: &str) -> [u32; 256] {
    let mut counts = [0; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    counts
}

#[unsafe(no_mangle)]
pub fn parse(text: &str) -> Option<i64> {
    text.split(',').map(|word| word.trim().parse::<i64>().ok()).try_fold(0_i64, |sum, next| sum.checked_add(next?))
}
