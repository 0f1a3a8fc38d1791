//! Debug information of removed functions, which a linker leaves at address 0.

use super::*;

/// Code at 0: the first function begins where the removed ones are said to.
const AT_ZERO: &str = "
ENTRY(_start)
SECTIONS {
    . = 0;
    .text : { *(.text.leaf) *(.text.middle) *(.text.*) *(.text) }
    .rodata : { *(.rodata .rodata.*) }
    INCLUDE tables.ld
}
";

const DEAD: &str = "
static inline __attribute__((always_inline)) int dead_inlined(int *p) { return *p * 9 + p[1] * 7 + p[2] * 5; }
int dead_first(int *p) { return dead_inlined(p) + dead_inlined(p + 3) + dead_inlined(p + 6); }
int dead_second(int *p) { return dead_inlined(p) - dead_inlined(p + 4) - dead_inlined(p + 8); }
";
const LIVE: &str = "
__attribute__((noinline)) int leaf(int *p) { return *p + 5; }
__attribute__((noinline)) int middle(int *p) { return leaf(p + 1) * leaf(p); }
int _start(int *p) { return middle(p) + 3; }
";

/// Each answer names a live function, without a line of a removed one.
#[track_caller]
fn expect_live(folder: &Path, objects: &[&str]) {
    let arguments = [objects, &["--gc-sections"]].concat();
    let (image, _) = link(folder, AT_ZERO, &arguments);
    for name in ["leaf", "middle", "_start"] {
        let start = address_of(&image, name);
        let answer = lookup(&image, start);
        assert!(answer.starts_with(&format!("{name}+0x0/")), "{answer}");
        let size = answer.split(['/', ' ']).nth(1).unwrap();
        let size = u64::from_str_radix(size.trim_start_matches("0x"), 16).unwrap();
        for address in start..start + size {
            let answer = stdout(&sframe(&["lookup", &format!("{address:#x}")], &image));
            assert!(!answer.contains("dead"), "{answer}");
            assert!(answer.contains(name), "{answer}");
        }
    }
    let check = stdout(&sframe(&["check"], &image));
    let names = check
        .lines()
        .find(|line| line.contains("compared .symbols with debug information"));
    assert!(
        names.is_some_and(|line| line.ends_with("Differences: 0")),
        "{check}"
    );
}

#[test]
fn removed_functions_of_another_file_are_in_no_answer() {
    let folder = folder("removed_other_file");
    let sections = ["-g", "-ffunction-sections"];
    compile(&folder, DEAD, &sections);
    fs::rename(folder.join("source.c"), folder.join("dead.c")).unwrap();
    let mut compiler = tool("gcc", "gcc");
    compiler.current_dir(&folder).args(SWITCHES).args(sections);
    succeed(compiler.args(["dead.c", "-o", "dead.o"]));
    compile(&folder, LIVE, &sections);
    expect_live(&folder, &["source.o", "dead.o"]);
}

/// Lines of one file have no name that differs, so that the lines of removed functions must have other numbers.
#[test]
fn removed_functions_of_the_same_file_give_no_lines() {
    let folder = folder("removed_same_file");
    let text = format!("# 1 \"source.c\"\n{LIVE}# 100 \"dead.c\"\n{DEAD}");
    compile(&folder, &text, &["-g", "-ffunction-sections"]);
    expect_live(&folder, &["source.o"]);
}

/// Functions that are larger than the first live one, smaller, and of the same size.
const DEAD_FRAMES: &str = "
int dead_large(int n) { volatile int b[50]; b[n & 31] = 3; return b[2]; }
int dead_small(void) { return 3; }
int dead_equal(int *p) { return *p + 6; }
";

/// `.debug_frame` of removed functions is at 0, too, as is the first live function.
#[test]
fn removed_functions_at_zero_have_no_rows() {
    let program = |name, package| tool(name, package).get_program().to_owned();
    let linkers = [program("ld.lld", "lld"), program("ld", "binutils")];
    // GNU ld finds included scripts only in folders that precede the script.
    let script = AT_ZERO.replace("INCLUDE tables.ld", "");
    for (name, version) in [("gcc", 4), ("gcc", 5), ("clang", 4), ("clang", 5)] {
        let folder = folder(&format!("removed_rows_{name}_{version}"));
        for (file, text) in [("dead", DEAD_FRAMES), ("live", LIVE)] {
            fs::write(folder.join(format!("{file}.c")), text).unwrap();
            let mut compiler = tool(name, name);
            // Clang refuses the option that keeps the order.
            let is_taken = |switch: &&&str| name == "gcc" || **switch != "-fno-toplevel-reorder";
            compiler.current_dir(&folder);
            compiler.args(SWITCHES.iter().filter(is_taken));
            compiler.args(["-ffunction-sections", &format!("-gdwarf-{version}")]);
            succeed(compiler.args([format!("{file}.c"), "-o".into(), format!("{file}.o")]));
        }
        for linker in &linkers {
            let linker = format!("--sframe-linker={}", linker.to_str().unwrap());
            for objects in [["dead.o", "live.o"], ["live.o", "dead.o"]] {
                let arguments = [&objects[..], &["--gc-sections", &linker]].concat();
                let (image, output) = link(&folder, &script, &arguments);
                assert!(!stderr(&output).contains("no unwind rows"), "{output:?}");
                let data = fs::read(&image).unwrap();
                let parsed = Image::parse(&data).unwrap();
                let functions = ["leaf", "middle", "_start"].map(|name| {
                    let symbol = parsed.file.symbol_by_name(name).unwrap();
                    let (start, size) = (symbol.address(), symbol.size());
                    format!("pc = {start:#x}, size = {size} bytes  {name}")
                });
                let dump = stdout(&sframe(&["dump"], &image));
                let found = dump.lines().filter(|line| line.contains("func idx"));
                let found: Vec<_> = found.map(|line| line.split(": ").nth(1).unwrap()).collect();
                assert_eq!(found, functions, "{name} {version} {linker} {objects:?}");
            }
        }
    }
}
