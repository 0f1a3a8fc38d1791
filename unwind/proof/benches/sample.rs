//! Draws functions from a real image, as text: the data that the benchmarks multiply.
//!
//! `cargo run -p sframe-proof --release --example sample -- FILE COUNT > unwind/proof/benches/functions.txt`
//!
//! A line is a function: its size in bytes, then its rows as `offset:cfa[,frame pointer]`, where `s16` is the stack
//! pointer plus 16, `f16` the frame pointer plus 16, and `,-16` a frame pointer saved at the CFA less 16. Functions with
//! other rules than these are few in compiled code and are passed over.
use std::env;
use std::fmt::Write;
use std::path::Path;

use linker::cfi::Frames;
use linker::function::Function;
use linker::image::{Image, read_file};
use unwind::sframe::{Base, Row, Rule};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, count] = &*arguments else {
        anyhow::bail!("usage: sample FILE COUNT");
    };
    let count: usize = count.parse()?;
    let data = read_file(Path::new(file))?;
    let frames = Frames::of(&Image::parse(&data)?)?;
    let lines: Vec<String> = frames.functions.iter().filter_map(line).collect();
    eprintln!(
        "{} functions, {} rows, {} written so",
        frames.functions.len(),
        frames.row_count(),
        lines.len()
    );
    for index in 0..count {
        println!("{}", lines[index * lines.len() / count]);
    }
    Ok(())
}

fn line(function: &Function) -> Option<String> {
    if function.signal || function.block.is_some() {
        return None;
    }
    let mut line = function.size.to_string();
    for row in &function.rows {
        write!(line, " {}:{}", row.offset, rules(row)?).ok()?;
    }
    Some(line)
}

fn rules(row: &Row) -> Option<String> {
    let cfa = match row.cfa {
        Rule::Value {
            base: Base::StackPointer,
            offset,
        } => format!("s{offset}"),
        Rule::Value {
            base: Base::FramePointer,
            offset,
        } => format!("f{offset}"),
        _ => return None,
    };
    match row.frame_pointer {
        Rule::Same => Some(cfa),
        Rule::Saved {
            base: Base::Cfa,
            offset,
        } => Some(format!("{cfa},{offset}")),
        _ => None,
    }
}
