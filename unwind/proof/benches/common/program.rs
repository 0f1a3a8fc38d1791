//! A program of so many functions.

use super::random::Random;
use super::shape::{Row, Shape, sample};

/// Where the code lies: the last 2 GiB, as a kernel's.
const TEXT: u64 = 0xffff_ffff_8000_0000;
const ALIGNMENT: u64 = 16;

/// Functions, laid out one after another. Nothing here is code: there are only addresses.
pub struct Program {
    functions: Vec<Function>,
    end: u64,
}

/// A function: a shape, with a body of another length, so that few functions have equal rows. In the sample's program
/// a third of them have; here it is the same share.
#[derive(Clone, Copy)]
pub struct Function {
    pub start: u64,
    shape: &'static Shape,
    /// Bytes that the body is longer than the shape's.
    longer: i32,
}

impl Function {
    pub fn size(&self) -> u32 {
        self.shape.size.wrapping_add_signed(self.longer)
    }

    pub fn end(&self) -> u64 {
        self.start + u64::from(self.size())
    }

    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let (body, longer) = (self.shape.body.0, self.longer);
        let rows = self.shape.rows.iter().enumerate();
        rows.map(move |(index, row)| Row {
            offset: if index > body {
                row.offset.wrapping_add_signed(longer)
            } else {
                row.offset
            },
            rules: row.rules,
        })
    }

    /// The row for the instruction at an offset.
    pub fn row_at(&self, offset: u32) -> Row {
        let before = |row: &Row| row.offset <= offset;
        self.rows()
            .take_while(before)
            .last()
            .expect("rows start at 0")
    }

    /// The first byte of the body, and its row: where a function spends its time and calls others.
    pub fn body(&self) -> (u64, Row) {
        let row = self.shape.rows[self.shape.body.0];
        (self.start + u64::from(row.offset), row)
    }
}

impl Program {
    /// `count` functions. The first is the outermost, which has no caller; the others are drawn from the sample.
    pub fn new(count: usize) -> Self {
        let mut random = Random::new(count as u64);
        let drawn = (1..count).map(|_| {
            let shape = random.pick(sample());
            // From half the length to half as much again, within what calls are aligned to.
            let length = shape.body.1;
            let longer = random.below(u64::from(length) + 1) as i32 - (length / 2) as i32;
            (shape, longer)
        });
        Self::of(drawn)
    }

    /// The outermost function, and the given ones.
    pub fn of(shapes: impl Iterator<Item = (&'static Shape, i32)>) -> Self {
        let entry: &Shape = Box::leak(Box::new(Shape::new(
            64,
            vec![Row {
                offset: 0,
                rules: None,
            }],
        )));
        let mut end = TEXT;
        let functions = core::iter::once((entry, 0)).chain(shapes);
        let functions = functions
            .map(|(shape, longer)| {
                let start = end.next_multiple_of(ALIGNMENT);
                let function = Function {
                    start,
                    shape,
                    longer,
                };
                end = function.end();
                function
            })
            .collect();
        Self { functions, end }
    }

    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The outermost function.
    pub fn entry(&self) -> Function {
        self.functions[0]
    }

    /// First address of the code, and first address after it.
    pub fn text(&self) -> (u64, u64) {
        (TEXT, self.end)
    }

    /// The function that holds an address, if it is not padding.
    pub fn function_at(&self, pc: u64) -> Option<Function> {
        let after = self
            .functions
            .partition_point(|function| function.start <= pc);
        let function = *self.functions.get(after.checked_sub(1)?)?;
        (pc < function.end()).then_some(function)
    }

    /// `count` addresses of instructions, each as likely as any other.
    pub fn addresses(&self, count: usize) -> Vec<u64> {
        let mut random = Random::new(1);
        let length = self.end - TEXT;
        core::iter::repeat_with(|| TEXT + random.below(length))
            .filter(|pc| self.function_at(*pc).is_some())
            .take(count)
            .collect()
    }

    /// `count` addresses out of `few`, which are asked for again and again.
    pub fn hot_addresses(&self, few: usize, count: usize) -> Vec<u64> {
        let few = self.addresses(few);
        let mut random = Random::new(2);
        core::iter::repeat_with(|| *random.pick(&few))
            .take(count)
            .collect()
    }
}
