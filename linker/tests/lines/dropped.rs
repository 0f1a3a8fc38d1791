//! Removed functions that overlap functions of the image, and have their names.

use super::*;

const SCRIPT_AT: &str = "
ENTRY(_start)
SECTIONS {
    . = BASE;
    .text : { *(.text.*) *(.text) }
    .rodata : { *(.rodata .rodata.*) }
}
";

/// Both files have functions of the same name, and remove the one that is large.
fn sources() -> [(&'static str, String); 2] {
    let large: String = (0..120)
        .map(|number| format!("s += p[{number}] * {} ^ p[{number} + 1];", number * 7 + 3))
        .collect();
    let first = format!(
        "static __attribute__((noinline)) int shared(int *p) {{ return *p + 5; }}
        int dropped(int *p) {{ int s = 0; {large} return s * 3 + shared(p); }}
        int live(int *p) {{ return shared(p) + 1; }}"
    );
    let second = format!(
        "int live(int *p);
        static __attribute__((noinline)) int shared(int *p) {{ int s = 0; {large} return s + 5; }}
        int other(int *p) {{ return shared(p) * 9 + live(p); }}
        int _start(int *p) {{ return live(p) + 3; }}"
    );
    [("first", first), ("second", second)]
}

#[test]
fn functions_at_low_addresses_have_their_own_lines() {
    let program = |name, package| tool(name, package).get_program().to_owned();
    let linkers = [program("ld.lld", "lld"), program("ld", "binutils")];
    for (name, version) in [("gcc", 4), ("gcc", 5), ("clang", 4), ("clang", 5)] {
        let folder = folder(&format!("dropped_{name}_{version}"));
        for (file, text) in sources() {
            fs::write(folder.join(format!("{file}.c")), text).unwrap();
            let mut compiler = tool(name, name);
            let is_taken = |switch: &&&str| name == "gcc" || **switch != "-fno-toplevel-reorder";
            compiler.current_dir(&folder);
            compiler.args(SWITCHES.iter().filter(is_taken));
            compiler.args(["-ffunction-sections", &format!("-gdwarf-{version}")]);
            succeed(compiler.args([format!("{file}.c"), "-o".into(), format!("{file}.o")]));
        }
        for (linker, base) in linkers.iter().flat_map(|linker| {
            let bases = ["0", "0x10", "0x200"];
            bases.map(|base| (linker.to_str().unwrap(), base))
        }) {
            let linker = format!("--sframe-linker={linker}");
            let script = SCRIPT_AT.replace("BASE", base);
            let arguments = ["first.o", "second.o", "--gc-sections", &linker];
            let (image, output) = link(&folder, &script, &arguments);
            let case = format!("{name} {version} {linker} {base}");
            let warned = stderr(&output);
            assert!(!warned.contains("no line information"), "{case}: {warned}");
            for (function, file) in [("shared", "first"), ("live", "first"), ("_start", "second")] {
                let answer = lookup(&image, address_of(&image, function));
                let is_own = answer.contains(&format!(" at {file}.c:"));
                assert!(is_own, "{case}: {answer}");
            }
        }
    }
}
