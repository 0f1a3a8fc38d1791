//! What compiled functions look like: a sample of real ones, each with its size and its rows.
//!
//! `functions.txt` holds every 40th function of `cargo` 1.95.0 for x86_64-unknown-linux-gnu, drawn by `sample.rs`, which
//! also says how a line is to be read.

use std::sync::OnceLock;

/// A row, as it is in the sample. Offsets are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// First instruction the rules hold for, from the start of the function.
    pub offset: u32,
    /// `None`: there is no caller.
    pub rules: Option<Rules>,
}

/// How to get to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The CFA counts from the frame pointer, not from the stack pointer.
    pub from_fp: bool,
    /// The CFA, from that register.
    pub cfa: i32,
    /// Where the frame pointer is saved, from the CFA; `None`: nowhere.
    pub fp: Option<i32>,
}

/// A function that stands for many.
#[derive(Debug)]
pub struct Shape {
    pub size: u32,
    pub rows: Vec<Row>,
    /// Where the body is, the part without a change of rules: the row it follows, and its length.
    pub body: (usize, u32),
}

impl Shape {
    pub fn new(size: u32, rows: Vec<Row>) -> Self {
        let end = |index: usize| rows.get(index + 1).map_or(size, |row: &Row| row.offset);
        let gaps = rows.iter().enumerate();
        let body = gaps
            .map(|(index, row)| (index, end(index) - row.offset))
            .max_by_key(|(_, length)| *length)
            .expect("a function has rows");
        Self { size, rows, body }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let size = words.next()?.parse().ok()?;
        let rows = words.map(row).collect::<Option<_>>()?;
        Some(Self::new(size, rows))
    }
}

fn row(word: &str) -> Option<Row> {
    let (offset, rules) = word.split_once(':')?;
    let (cfa, fp) = match rules.split_once(',') {
        Some((cfa, fp)) => (cfa, Some(fp.parse().ok()?)),
        None => (rules, None),
    };
    let from_fp = cfa.starts_with('f');
    Some(Row {
        offset: offset.parse().ok()?,
        rules: Some(Rules {
            from_fp,
            cfa: cfa.get(1..)?.parse().ok()?,
            fp,
        }),
    })
}

/// The sample.
pub fn sample() -> &'static [Shape] {
    static SAMPLE: OnceLock<Vec<Shape>> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let lines = include_str!("../functions.txt").lines();
        lines
            .map(|line| Shape::parse(line).expect("a line that sample.rs wrote"))
            .collect()
    })
}
