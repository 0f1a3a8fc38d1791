//! Compilers' code in which control goes where no instruction shows: the rows that gcc describes stay.

use std::fs;
use std::path::Path;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, LittleEndian, UnwindContext, UnwindSection, UnwindTableRow,
};
use linker::image::Image;
use object::{Object, ObjectSymbol};
use unwind::sframe::Tables;

use crate::common::{SCRIPT, folder, scripts, sframe_link, succeed, tool};

/// Compiles programs of C and C++, each with its switches, and links them.
fn link(folder: &Path, sources: &[(&str, &str, &[&str])]) -> Vec<u8> {
    let mut objects: Vec<String> = Vec::new();
    for (name, source, switches) in sources {
        fs::write(folder.join(name), source).unwrap();
        let compiler = match name.ends_with(".cc") {
            true => tool("g++", "g++"),
            false => tool("gcc", "gcc"),
        };
        let object = format!("{name}.o");
        let mut compiler = compiler;
        succeed(
            compiler
                .current_dir(folder)
                .args(["-ffreestanding", "-fno-pie", "-fcf-protection=none"])
                .args(["-fno-stack-protector", "-fasynchronous-unwind-tables", "-c"])
                .args(*switches)
                .args([*name, "-o", &object]),
        );
        objects.push(object);
    }
    fs::write(
        folder.join("image.ld"),
        SCRIPT.replace("0xffffffff80100000", "0x100000"),
    )
    .unwrap();
    let mut command = sframe_link();
    succeed(
        command
            .current_dir(folder)
            .args(["-L", &scripts(), "-T", "image.ld", "-o", "image"])
            .args(objects),
    );
    fs::read(folder.join("image")).unwrap()
}

fn frame_address(row: &UnwindTableRow<usize>) -> String {
    match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            let name = match register.0 {
                6 => "fp",
                7 => "sp",
                other => panic!("register {other}"),
            };
            format!("{name}{offset:+}")
        }
        CfaRule::Expression(_) => panic!("an expression"),
    }
}

/// Compares each row of a function with that of its call frame information. Returns the share of bytes whose rows are proven, in percent.
fn compare(data: &[u8], name: &str) -> usize {
    let image = Image::parse(data).unwrap();
    let section = |name| image.section(name).unwrap().unwrap();
    let tables = section(".sframe");
    let tables = Tables::new(tables.data, tables.address);
    let mut symbols = image.file.symbols();
    let symbol = symbols.find(|symbol| symbol.name() == Ok(name)).unwrap();
    let frames = section(".eh_frame");
    let bases = BaseAddresses::default().set_eh_frame(frames.address);
    let frames = EhFrame::new(frames.data, LittleEndian);
    let cie = EhFrame::cie_from_offset;
    let fde = frames
        .fde_for_address(&bases, symbol.address(), cie)
        .unwrap();
    let mut context = UnwindContext::new();
    let mut rows = fde.rows(&frames, &bases, &mut context).unwrap();
    let (mut proven, mut all) = (0, 0);
    while let Some(row) = rows.next_row().unwrap() {
        for address in row.start_address()..row.end_address() {
            let own = super::row(&tables, address);
            let (frame, is_proven) = match own.strip_suffix(" unproven") {
                Some(frame) => (frame, false),
                None => (&*own, true),
            };
            assert_eq!(frame, frame_address(row), "{name}, {address:#x}");
            all += 1;
            proven += usize::from(is_proven);
        }
    }
    proven * 100 / all
}

const END: &str =
    "__attribute__((noreturn)) void die8(int c, int d, int e, int f, int g, int h, int i, int j)
{ for (;;) __asm__ volatile(\"hlt\" :: \"a\"(c + j)); }
int g(int x) { return x; }
int f(int, int);
void _start(void) { f(1, 2); for (;;) __asm__ volatile(\"hlt\"); }
";

/// The function before it ends without a return, and nothing but a distance of 32 bits leads to it.
#[test]
fn a_function_behind_one_that_does_not_end() {
    let folder = folder("compiled-fall");
    let off = "extern void g(int);
__attribute__((noreturn)) void off(int code)
{
    g(code);
    __asm__ volatile(\"outl %0, %w1\" :: \"a\"(code), \"Nd\"(0xf4));
    __builtin_unreachable();
}
__attribute__((used)) static int h(int x) { return x * 3 + 1; }
__asm__(\".section .rodata\\n.balign 4\\n.globl table\\ntable: .long h - .\\n.text\");
extern const int table[1];
int f(int x, int y) { return ((int (*)(int))((const char *)table + table[0]))(x + y); }
";
    let data = link(
        &folder,
        &[
            ("a.c", off, &["-O2", "-fno-toplevel-reorder"]),
            ("b.c", END, &["-O1", "-fno-inline"]),
        ],
    );
    compare(&data, "h");
    assert_eq!(compare(&data, "off"), 100);
}

/// The handler of a trap throws, out of an instruction that is no call.
#[test]
fn landing_pads_of_instructions_that_are_no_calls() {
    let folder = folder("compiled-throws");
    let code = "extern \"C\" {
int g(int);
__attribute__((noreturn)) void die8(int, int, int, int, int, int, int, int);
}
extern \"C\" int f(int *p, int n)
{
    int x = g(n);
    try {
        x += *p;
    } catch (...) {
        return g(3) + x;
    }
    if (x > 5)
        die8(1, 2, 3, 4, 5, 6, x, n);
    return g(x);
}
";
    let library = "void *__gxx_personality_v0, *_Unwind_Resume;
void __cxa_begin_catch(void *p) {}
void __cxa_end_catch(void) {}
";
    let data = link(
        &folder,
        &[
            (
                "a.cc",
                code,
                &["-O1", "-fexceptions", "-fnon-call-exceptions"],
            ),
            ("b.c", END, &["-O1", "-fno-inline"]),
            ("c.c", library, &["-O1"]),
        ],
    );
    assert_eq!(compare(&data, "f"), 100);
}

/// The last case of a switch was moved away from its function. The tables that gcc would describe it by are left out: the row that follows from
/// the jump is right.
#[test]
fn the_last_case_that_lies_elsewhere() {
    let folder = folder("compiled-cold");
    let code = "extern int g(int *), h(int), k(int);
__attribute__((noreturn, cold)) void die(int);
int f(int x)
{
    int a[8];
    g(a);
    switch (x) {
    case 0: h(1); h(a[1]); break;
    case 1: h(k(a[2]) + 3); break;
    case 2: k(k(a[3])); h(7); break;
    case 3: k(9); h(a[5]); break;
    case 4: h(a[6]); k(a[1]); break;
    case 5: k(a[7]); k(a[1]); h(5); break;
    case 6: die(3);
    }
    return g(a);
}
";
    let rest = "int g(int *a) { for (int i = 0; i < 8; i++) a[i] = i; return 0; }
int h(int x) { return x; }
int k(int x) { return x + 1; }
__attribute__((noreturn, cold)) void die(int c) { for (;;) __asm__ volatile(\"hlt\" :: \"a\"(c)); }
int f(int);
void _start(void) { f(6); die(0); }
";
    for (tables, is_described) in [
        ("-fasynchronous-unwind-tables", true),
        ("-fno-asynchronous-unwind-tables", false),
    ] {
        let data = link(
            &folder,
            &[
                ("a.c", code, &["-O2", tables]),
                ("b.c", rest, &["-O1", "-fno-inline", tables]),
            ],
        );
        if is_described {
            compare(&data, "f.cold");
        }
        let image = Image::parse(&data).unwrap();
        let mut symbols = image.file.symbols();
        let cold = symbols
            .find(|symbol| symbol.name() == Ok("f.cold"))
            .unwrap();
        let section = image.section(".sframe").unwrap().unwrap();
        let tables = Tables::new(section.data, section.address);
        let row = super::row(&tables, cold.address());
        assert!(row.starts_with("sp+48"), "{row}");
    }
}
