use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::*;

const SOURCE: &str = "static inline int inner(int *p) { return *p + 5; }
int leaf(int *p)
{
    return inner(p);
}
";

/// A folder with sources and what was compiled of them.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("source.c"), SOURCE).expect("a file");
        Self(folder)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, name: &str, package: &str, arguments: &[&str]) {
        let target = setup::workspace::target_folder().expect("a folder");
        let program = setup::program(name, package, &target).expect("a program");
        let mut command = Command::new(program);
        let status = command.current_dir(self.0.path()).args(arguments).status();
        assert!(status.expect("it can be started").success());
    }

    fn compile(&self, switches: &[&str]) {
        self.run("gcc", "gcc", &[switches, &["-O2", "source.c"]].concat());
    }

    fn link(&self, input: &str) {
        let arguments = ["-nostdlib", "-static", "-Wl,-eleaf", input, "-o", "image"];
        self.run("gcc", "gcc", &arguments);
    }

    fn symbolizer(&self) -> Symbolizer {
        Symbolizer::open(&self.path("image")).expect("an image")
    }
}

/// The functions and lines at an offset in a function, innermost first.
fn at(symbolizer: &Symbolizer, name: &str, offset: u64) -> Vec<(String, Option<u32>)> {
    let start = symbolizer.find(name, 0).expect("a function").start;
    let sources = symbolizer.answer(start + offset).sources.into_iter();
    let lines = sources.map(|source| (source.name, source.place.map(|(_, line, _)| line)));
    lines.collect()
}

fn lines(lines: &[(&str, Option<u32>)]) -> Vec<(String, Option<u32>)> {
    let lines = lines.iter().map(|(name, line)| ((*name).to_owned(), *line));
    lines.collect()
}

#[test]
fn functions_in_a_dwo_file_have_lines() {
    for switch in ["-gdwarf-4", "-gdwarf-5"] {
        let folder = Folder::new();
        folder.compile(&["-c", "-gsplit-dwarf", switch]);
        folder.link("source.o");
        let expected = lines(&[("inner", Some(1)), ("leaf", Some(4))]);
        assert_eq!(at(&folder.symbolizer(), "leaf", 0), expected, "{switch}");
    }
}

#[test]
fn functions_in_a_dwp_file_have_lines() {
    let folder = Folder::new();
    folder.compile(&["-c", "-gsplit-dwarf", "-gdwarf-4"]);
    folder.link("source.o");
    folder.run("dwp", "binutils", &["-e", "image", "-o", "image.dwp"]);
    fs::remove_file(folder.path("source.dwo")).expect("it is there");
    let expected = lines(&[("inner", Some(1)), ("leaf", Some(4))]);
    assert_eq!(at(&folder.symbolizer(), "leaf", 0), expected);
    // A damaged one is as good as none.
    fs::write(folder.path("image.dwp"), "no ELF file").expect("a file");
    assert_eq!(
        at(&folder.symbolizer(), "leaf", 0),
        lines(&[("leaf", None)])
    );
}

/// The image has the line of the inlined function only.
#[test]
fn function_in_a_missing_dwo_file_has_no_line() {
    let folder = Folder::new();
    folder.compile(&["-c", "-gsplit-dwarf"]);
    folder.link("source.o");
    fs::remove_file(folder.path("source.dwo")).expect("it is there");
    assert_eq!(
        at(&folder.symbolizer(), "leaf", 0),
        lines(&[("leaf", None)])
    );
}

/// The size of `leaf` contains `other`, whose symbol was removed.
#[test]
fn lines_of_another_function_are_left_out() {
    let folder = Folder::new();
    let source = format!("{SOURCE}int other(int *p) {{ return *p * 3; }}\n");
    fs::write(folder.path("source.c"), source).expect("a file");
    folder.compile(&["-S", "-g"]);
    let assembly = fs::read_to_string(folder.path("source.s")).expect("a file");
    let assembly = assembly.replace(".-leaf", "other_end-leaf");
    let (before, after) = assembly.split_once("\t.size\tother").expect("its size");
    let assembly = format!("{before}other_end:\n\t.size\tother{after}");
    fs::write(folder.path("source.s"), assembly).expect("a file");
    folder.link("source.s");
    let other = folder.symbolizer().find("other", 0).expect("a function");
    let leaf = folder.symbolizer().find("leaf", 0).expect("a function");
    let strip = ["--strip-symbol=other", "--strip-symbol=other_end", "image"];
    folder.run("objcopy", "binutils", &strip);
    let symbolizer = folder.symbolizer();
    let expected = lines(&[("inner", Some(1)), ("leaf", Some(4))]);
    assert_eq!(at(&symbolizer, "leaf", 0), expected);
    assert_eq!(
        at(&symbolizer, "leaf", other.start - leaf.start),
        lines(&[("leaf", None)])
    );
}

/// `f`, `i` and `v` are names of types in mangled names.
#[test]
fn names_of_c_are_no_mangled_types() {
    for switch in ["-g0", "-g"] {
        let folder = Folder::new();
        let names = ["f", "i", "v", "Pv", "leaf"];
        let source = names.map(|name| format!("int {name}(int *p) {{ return *p * 3; }}\n"));
        fs::write(folder.path("source.c"), source.concat()).expect("a file");
        folder.compile(&["-c", switch]);
        folder.link("source.o");
        let symbolizer = folder.symbolizer();
        for name in names {
            assert_eq!(at(&symbolizer, name, 0)[0].0, name);
        }
    }
}

/// Code of assembly without a size ends where the next function starts.
#[test]
fn a_name_with_another_size_is_of_another_build() {
    let folder = Folder::new();
    let source = ".globl leaf, other\nleaf: .fill 64, 1, 0x90\nother: .fill 128, 1, 0x90\n";
    fs::write(folder.path("source.s"), source).expect("a file");
    folder.link("source.s");
    let symbolizer = folder.symbolizer();
    for size in [0, 64] {
        assert!(symbolizer.find("leaf", size).is_some(), "{size}");
    }
    assert!(symbolizer.find("leaf", 0xa0).is_none());
    // An offset behind the function leads to another one.
    let decoded = |log: &str| {
        let mut out = Vec::new();
        let style = crate::decode::Style::plain();
        let mut decoder = crate::decode::Decoder::new(&symbolizer, style, &mut out);
        decoder.add(log.as_bytes()).expect("it is written");
        decoder.finish().expect("it is written");
        String::from_utf8(out).expect("it is text")
    };
    for log in ["  leaf+0x60/0xa0\n", "  leaf+0x60/0x40\n", "  leaf+0x60\n"] {
        assert_eq!(decoded(log), log);
    }
}

/// Another build of an image that cannot move lies a page higher.
#[test]
fn an_image_that_is_linked_for_one_address_moves_by_no_page() {
    let folder = Folder::new();
    folder.compile(&["-c", "-g"]);
    folder.link("source.o");
    let symbolizer = folder.symbolizer();
    let leaf = symbolizer.find("leaf", 0).expect("a function");
    for (distance, is_of_image, is_moved) in [
        (0x1000, false, false),
        (0x1000, true, true),
        (0x40_0000, false, true),
    ] {
        let address = leaf.start + distance;
        let log = format!("   0: {address:#018x} p leaf+0x0/{:#x}", leaf.size);
        let mut moved = crate::decode::moved::Moved::by(0);
        let Some((_, crate::report::Line::Frame(frame))) = crate::report::Line::parse(&log) else {
            panic!("no frame: {log}");
        };
        moved.learn(&frame, &symbolizer, is_of_image);
        assert_eq!(
            moved.linked(address) == leaf.start,
            is_moved,
            "{distance:#x}"
        );
    }
}

/// The names that a report of the kernel itself has: a global one before the local one of the debug information, and of global ones that which
/// calls have. A log with another of them is of this image, too.
#[test]
fn names_of_one_function_are_chosen_as_tables_do() {
    const ALIASES: &str = "
        static int implementation(int *p) { return *p + 5; }
        int leaf(int *p) __attribute__((alias(\"implementation\")));
        int first(int *p) { return *p + 7; }
        int also_first(int *p);
        __asm__(\".globl also_first; .set also_first, first\");
        int calls(int *p) { return also_first(p) + 1; }
    ";
    let folder = Folder::new();
    fs::write(folder.path("source.c"), ALIASES).expect("a file");
    folder.compile(&["-c", "-g", "-fno-inline"]);
    folder.link("source.o");
    let symbolizer = folder.symbolizer();
    for (one, other, line) in [("leaf", "implementation", 2), ("also_first", "first", 4)] {
        for name in [one, other] {
            let found = at(&symbolizer, name, 0);
            assert_eq!(found, lines(&[(one, Some(line))]), "{name}");
            let function = symbolizer.find(name, 0).expect("a function");
            let answer = symbolizer.answer(function.start);
            assert!(symbolizer.agrees(function.start, &answer, name, 0, function.size));
        }
    }
}
