//! A program that is run instruction by instruction: what it computes does not matter, but that its functions have frames
//! of all kinds. It does the same in every run.

use std::arch::global_asm;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::hash::BuildHasherDefault;
use std::hint::black_box;

// Call frame information that lies, and code without any.
global_asm!(
    ".globl lying, silent, switching",
    ".type lying, @function",
    "lying:",
    ".cfi_startproc",
    "push rbp",
    "mov rbp, rsp",
    "push rbx",
    "lea rbx, [rdi + 1]",
    "call silent",
    "add rax, rbx",
    "pop rbx",
    "pop rbp",
    "ret",
    ".cfi_endproc",
    ".size lying, . - lying",
    ".type silent, @function",
    "silent:",
    "push rbp",
    "sub rsp, 40",
    "mov rbp, rdi",
    "mov [rsp + 8], rdi",
    "cmp rdi, 10",
    "jb 2f",
    "mov rbp, [rsp + 8]",
    "sub rbp, 9",
    "2:",
    "call switching",
    "add rax, rbp",
    "add rsp, 40",
    "pop rbp",
    "ret",
    ".size silent, . - silent",
    // The processor's flags on the stack, and arguments that stay there.
    ".type switching, @function",
    "switching:",
    "pushfq",
    "pop rax",
    "and eax, 1",
    "push 3",
    "push rdi",
    "add rax, [rsp]",
    "add rax, [rsp + 8]",
    "add rsp, 16",
    "ret",
    ".size switching, . - switching",
);

unsafe extern "C" {
    fn lying(number: u64) -> u64;
}

#[derive(Clone, Debug, PartialEq, PartialOrd)]
enum Shape {
    Point,
    Circle(f64),
    Polygon { corners: Vec<(i32, i32)>, name: String },
}

trait Area: Debug {
    fn area(&self) -> f64;
    fn grow(&mut self, by: i32) -> &mut dyn Area;
}

impl Area for Shape {
    fn area(&self) -> f64 {
        match self {
            Self::Point => 0.0,
            Self::Circle(radius) => radius * radius * 3.0,
            Self::Polygon { corners, .. } => corners.iter().map(|(x, y)| f64::from(x * y)).sum(),
        }
    }

    fn grow(&mut self, by: i32) -> &mut dyn Area {
        match self {
            Self::Point => {}
            Self::Circle(radius) => *radius += f64::from(by),
            Self::Polygon { corners, name } => {
                corners.push((by, by + 1));
                name.push('+');
            }
        }
        self
    }
}

/// More than a page of stack, which is probed.
#[inline(never)]
fn large_frame(seed: u8) -> u64 {
    let mut room = [seed; 9000];
    for (index, byte) in room.iter_mut().enumerate().step_by(97) {
        *byte = black_box(index as u8).wrapping_add(seed);
    }
    black_box(&room).iter().step_by(97).map(|byte| u64::from(*byte)).sum()
}

#[repr(align(64))]
struct Aligned([u64; 8]);

/// A stack that is realigned.
#[inline(never)]
fn aligned_frame(number: u64) -> u64 {
    let mut aligned = Aligned([number; 8]);
    aligned.0[(number % 8) as usize] = fibonacci(number % 5);
    black_box(&aligned).0.iter().sum()
}

#[inline(never)]
fn fibonacci(number: u64) -> u64 {
    match number {
        0 | 1 => number,
        _ => fibonacci(number - 1) + fibonacci(number - 2),
    }
}

/// A jump table.
#[inline(never)]
fn choose(which: u32, numbers: &mut Vec<u64>) -> u64 {
    match which {
        0 => numbers.iter().sum(),
        1 => numbers.pop().unwrap_or(7),
        2 => {
            numbers.push(large_frame(which as u8));
            1
        }
        3 => aligned_frame(numbers.len() as u64),
        4 => numbers.iter().fold(1, |one, other| one.wrapping_mul(other | 1)),
        // SAFETY: it is a function of one number.
        5 => unsafe { lying(numbers.len() as u64) },
        6 => numbers.first().copied().unwrap_or(3).leading_zeros().into(),
        7 => u64::from(numbers.contains(&3)),
        _ => fibonacci(u64::from(which % 7)),
    }
}

#[inline(never)]
fn wide(numerator: u128, denominator: u128) -> u128 {
    numerator / denominator + numerator % denominator
}

#[inline(never)]
fn failing(number: u32) -> Result<u32, std::num::ParseIntError> {
    let text = format!("{number}x");
    let wrong: Result<u32, _> = text.parse();
    wrong.or_else(|_| text.trim_end_matches('x').parse::<u32>())
}

#[inline(never)]
fn panicking(number: u32) -> u32 {
    let kept = vec![number; 3];
    if number % 2 == 1 {
        std::panic::resume_unwind(Box::new(kept.len()));
    }
    kept[1]
}

fn main() {
    let mut numbers: Vec<u64> = (0..40).map(|number: u64| number * 7919 % 101).collect();
    for which in 0..9 {
        let answer = choose(black_box(which), &mut numbers);
        numbers.push(answer);
    }
    if cfg!(panic = "unwind") {
        let caught = std::panic::catch_unwind(|| panicking(black_box(3)));
        assert!(caught.is_err());
    }
    numbers.push(panicking(black_box(4)).into());
    let mut sorted = numbers.clone();
    sorted.sort_by(|one, other| (other % 13).cmp(&(one % 13)));
    numbers.sort_unstable();

    let mut tree = BTreeMap::new();
    let mut map: HashMap<u64, String, BuildHasherDefault<DefaultHasher>> = HashMap::default();
    for number in &sorted {
        tree.insert(number % 29, *number);
        map.entry(number % 17).or_default().push_str(&number.to_string());
    }
    tree.retain(|key, _| key % 3 != 0);
    let longest = map.values().map(String::len).max();

    let mut shapes: Vec<Box<dyn Area>> = vec![
        Box::new(Shape::Point),
        Box::new(Shape::Circle(1.5)),
        Box::new(Shape::Polygon { corners: vec![(1, 2)], name: "p".to_owned() }),
    ];
    let mut sum = 0.0;
    for shape in &mut shapes {
        sum += shape.grow(2).area();
    }
    let text = format!("{shapes:?} {sum:.3} {longest:?} {}", wide(black_box(u128::MAX / 3), 1 << 70 | 5));
    println!("{} {} {:?}", text.len(), tree.len(), failing(black_box(12)));
}
