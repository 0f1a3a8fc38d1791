//! `sframe check` finds what the link and its own reader of frames get wrong in the same way.

use super::*;
use linker::symbols::{Blob, Code, Coverage, Level, Names, Symbols, compare, witness};
use unwind::symbols::SymbolTable;

const SOURCE: &str = "static inline int inner(int *p) { return *p + 5; }
__attribute__((noinline)) int called(int *p) { return *p * 3; }
int _start(int *p)
{
    return called(p)
         + inner(p + 1);
}
";

/// Makes a table of code, after a change to it, and returns how many differences the comparison with the code finds, and how many witnesses
/// are missing.
fn differences(file: &object::File<'_>, change: impl Fn(&mut Code)) -> (usize, usize) {
    let mut code = Code::of(file, &Symbols::of(file), Names::Short, true, None).unwrap();
    change(&mut code);
    let bytes = Blob::new(&code, Level::All).to_bytes(0, &[]);
    let table = SymbolTable::parse(&bytes, 0).unwrap();
    let compared = compare(&table, &code, Coverage::Every).differences.len();
    let unseen = witness(file, &table, &code, None).unwrap();
    (compared, unseen.len())
}

#[test]
fn lines_without_a_witness_are_found() {
    let folder = folder("lines_witness");
    compile(&folder, SOURCE, &["-g"]);
    let (path, _) = link(&folder, SCRIPT, &["source.o"]);
    let data = fs::read(path).unwrap();
    let image = Image::parse(&data).unwrap();
    let expect = |change: &dyn Fn(&mut Code), is_found: bool| {
        let (compared, unseen) = differences(&image.file, change);
        assert_eq!(compared, 0);
        assert_eq!(unseen > 0, is_found);
    };
    expect(&|_| {}, false);
    let frames = |code: &Code| code.stacks.iter().map(Vec::len).max();
    expect(&|code| assert_eq!(frames(code), Some(2)), false);
    // The line of the innermost frame, that of a call, a frame less, and the lines of one function in another.
    expect(
        &|code| {
            code.stacks
                .iter_mut()
                .filter_map(|stack| stack.last_mut())
                .for_each(|frame| frame.line += 100)
        },
        true,
    );
    let inlined = |code: &mut Code, change: &dyn Fn(&mut Vec<linker::symbols::Frame>)| {
        code.stacks
            .iter_mut()
            .filter(|stack| stack.len() == 2)
            .for_each(change);
    };
    expect(&|code| inlined(code, &|stack| stack[0].line += 1), true);
    expect(&|code| inlined(code, &|stack| _ = stack.pop()), true);
    // The name of the inlined function, and the file of its line and of its call.
    expect(
        &|code| {
            let other = code.names.number("other");
            inlined(code, &|stack| stack[1].name = other);
        },
        true,
    );
    for frame in 0..2 {
        expect(
            &|code| {
                let other = code.files.number("other.c");
                inlined(code, &|stack| stack[frame].file = other);
            },
            true,
        );
    }
    expect(
        &|code| {
            let other = code.pieces[0].instructions[0].stack;
            let last = code.pieces.last_mut().unwrap();
            last.instructions[0].stack = other;
            let name = code.functions[last.function].name;
            let mut stack = code.stacks[other as usize].clone();
            stack[0].name = name;
            last.instructions[0].stack = code.stacks.len() as u32;
            code.stacks.push(stack);
        },
        true,
    );
}
