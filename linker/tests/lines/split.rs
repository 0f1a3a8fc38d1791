//! Debug information in `.dwo` files.

use super::*;

const SOURCE: &str =
    "static inline __attribute__((always_inline)) int innermost(int *p) { return *p + 5; }
static inline __attribute__((always_inline)) int between(int *p)
{
    return innermost(p) * 3;
}
__attribute__((noinline)) int leaf(int *p)
{
    return between(p);
}
int _start(int *p)
{
    return leaf(p);
}
";

/// Each way to split: compiler, package and switches.
const WAYS: [(&str, &[&str]); 5] = [
    ("gcc", &["-gdwarf-5", "-gsplit-dwarf"]),
    ("gcc", &["-gdwarf-4", "-gsplit-dwarf"]),
    ("gcc", &["-gdwarf-5", "-gsplit-dwarf", "-gz"]),
    ("clang", &["-gdwarf-5", "-gsplit-dwarf"]),
    ("clang", &["-gdwarf-4", "-gsplit-dwarf"]),
];

fn compiled(folder: &Path, compiler: &str, switches: &[&str]) {
    fs::write(folder.join("source.c"), SOURCE).unwrap();
    let mut command = tool(compiler, compiler);
    command
        .current_dir(folder)
        .args(["-c", "-O2", "-ffreestanding", "-fno-pic"]);
    succeed(command.args(switches).arg("source.c"));
}

/// All lines of the answer for the first instruction of `leaf`.
fn answers(image: &Path) -> Vec<String> {
    let address = format!("{:#x}", address_of(image, "leaf"));
    let found = stdout(&sframe(&["lookup", &address], image));
    let (_, found) = found.split_once(": ").unwrap();
    let lines = found.lines().map(|line| line.split(", ").next().unwrap());
    lines
        .map(|line| line.rsplit('/').next().unwrap_or(line).trim().to_owned())
        .collect()
}

#[test]
fn functions_in_dwo_files_are_found() {
    for (number, (compiler, switches)) in WAYS.into_iter().enumerate() {
        let folder = folder(&format!("split_found_{number}"));
        compiled(&folder, compiler, switches);
        let (image, output) = link(&folder, SCRIPT, &["source.o"]);
        let found = answers(&image);
        assert_eq!(found.len(), 3, "{compiler} {switches:?}: {found:?}");
        for (frame, line) in found.iter().zip(["source.c:1", "source.c:4", "source.c:8"]) {
            assert!(frame.ends_with(line), "{compiler} {switches:?}: {found:?}");
        }
        assert!(
            !stderr(&output).contains("no line information"),
            "{}",
            stderr(&output)
        );
        let check = sframe(&["check"], &image);
        assert!(check.status.success(), "{}", stdout(&check));
        assert!(
            !stdout(&check).contains("not compared"),
            "{}",
            stdout(&check)
        );
        // The table is right, and there is nothing to compare it with.
        fs::remove_file(folder.join("source.dwo")).unwrap();
        let check = sframe(&["check"], &image);
        assert!(check.status.success(), "{}", stdout(&check));
        let expected = ".symbols not compared: the .dwo files with the debug information of the checked file are missing";
        assert!(stdout(&check).contains(expected), "{}", stdout(&check));
    }
}

#[test]
fn missing_dwo_files_leave_no_lines_and_warn_once() {
    for (number, (compiler, switches)) in WAYS.into_iter().enumerate() {
        let folder = folder(&format!("split_missing_{number}"));
        compiled(&folder, compiler, switches);
        fs::remove_file(folder.join("source.dwo")).unwrap();
        let (image, output) = link(&folder, SCRIPT, &["source.o"]);
        let answer = lookup(&image, address_of(&image, "leaf"));
        assert!(
            answer.starts_with("leaf+0x0/") && !answer.contains(" at "),
            "{compiler} {switches:?}: {answer}"
        );
        let warned = stderr(&output);
        let lines: Vec<&str> = warned
            .lines()
            .filter(|line| line.contains("no line information"))
            .collect();
        assert_eq!(lines.len(), 1, "{warned}");
        assert!(lines[0].contains("source.dwo"), "{warned}");
    }
}

/// A file of another compilation, which has the same name, is not that of the image.
#[test]
fn a_dwo_file_of_another_compilation_is_missing() {
    let folder = folder("split_other");
    let switches = ["-gdwarf-5", "-gsplit-dwarf"];
    compiled(&folder, "gcc", &switches);
    fs::rename(folder.join("source.o"), folder.join("first.o")).unwrap();
    let other = SOURCE.replace("int leaf(int *p)", "int\n\nleaf(int *p)");
    fs::write(folder.join("source.c"), other).unwrap();
    let mut command = tool("gcc", "gcc");
    command
        .current_dir(&folder)
        .args(["-c", "-O2", "-ffreestanding", "-fno-pic"]);
    succeed(command.args(switches).arg("source.c"));
    let (image, output) = link(&folder, SCRIPT, &["first.o"]);
    let answer = lookup(&image, address_of(&image, "leaf"));
    assert!(!answer.contains(" at "), "{answer}");
    assert!(
        stderr(&output).contains("source.dwo"),
        "{}",
        stderr(&output)
    );
}

/// A `.dwp` file is made of the linked image; after that the `.dwo` files may go.
#[test]
fn functions_in_a_dwp_file_are_found() {
    let folder = folder("split_package");
    compiled(&folder, "gcc", &["-gdwarf-4", "-gsplit-dwarf"]);
    let (image, _) = link(&folder, SCRIPT, &["source.o"]);
    let name = image.file_name().unwrap().to_str().unwrap();
    let mut package = tool("dwp", "binutils");
    package.current_dir(&folder).args(["-e", name, "-o"]);
    succeed(package.arg(format!("{name}.dwp")));
    fs::remove_file(folder.join("source.dwo")).unwrap();
    let check = sframe(&["check"], &image);
    assert!(check.status.success(), "{}", stdout(&check));
    assert!(
        !stdout(&check).contains("not compared"),
        "{}",
        stdout(&check)
    );
    // A second link reads what the check reads.
    let lines = answers(&image);
    let (_, output) = link(&folder, SCRIPT, &["source.o"]);
    assert!(
        !stderr(&output).contains("no line information"),
        "{}",
        stderr(&output)
    );
    assert_eq!(answers(&image), lines);
    let check = stdout(&sframe(&["check"], &image));
    assert!(!check.contains("not compared"), "{check}");
    // A copy without the package has nothing to be compared with.
    let copy = folder.join("copy");
    fs::copy(&image, &copy).unwrap();
    let check = stdout(&sframe(&["check"], &copy));
    assert!(check.contains(".symbols not compared"), "{check}");
}

/// With `-fdebug-types-section`, units of types precede the functions. After link-time optimization, one file contains the units of all sources.
#[test]
fn functions_in_dwo_files_with_several_units_are_found() {
    let (leaf, start) = SOURCE.split_at(SOURCE.find("int _start").unwrap());
    let name = "extern \"C\" ";
    let leaf = format!("struct Pair {{ int a; }} pair;\n{name}int leaf(int *p);\n{leaf}");
    let start = format!("{name}int leaf(int *p);\n{name}{start}");
    let optimized: &[&str] = &["start.o", "leaf.o", "--plugin-opt=dwo_dir=objects"];
    for (number, (switches, arguments)) in [
        (["-gdwarf-5", "-fdebug-types-section"], &optimized[..2]),
        (["-gdwarf-5", "-flto"], optimized),
        (["-gdwarf-4", "-flto"], optimized),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = folder(&format!("split_several_{number}"));
        for (file, text) in [("leaf.cc", &leaf), ("start.cc", &start)] {
            fs::write(folder.join(file), text).unwrap();
            let mut command = tool("clang", "clang");
            command
                .current_dir(&folder)
                .args(["-c", "-O2", "-ffreestanding"]);
            command.args(["-fno-pic", "-fno-exceptions", "-gsplit-dwarf"]);
            succeed(command.args(switches).arg(file));
        }
        let (image, output) = link(&folder, SCRIPT, arguments);
        assert!(
            !stderr(&output).contains("no line information"),
            "{}",
            stderr(&output)
        );
        let found = answers(&image);
        // The load is part of an instruction of `innermost` or of `between`.
        assert!(found.len() >= 2, "{switches:?}: {found:?}");
        for (frame, line) in found.iter().rev().zip(["leaf.cc:10", "leaf.cc:6"]) {
            assert!(frame.ends_with(line), "{switches:?}: {found:?}");
        }
        let check = stdout(&sframe(&["check"], &image));
        assert!(!check.contains("not compared"), "{check}");
    }
}
