//! Code that a kernel loads: reports go through it and name it, until it is removed.

use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSection, ObjectSymbol};
use qemu::build::Profile;
use qemu::machine::Arch;
use tempfile::TempDir;

use super::said::Said;
use super::short::{self, HANDLERS, Kind, VECTORS};
use super::steps;
use super::text::part;

/// The module: it asks the kernel for something, or reads where nothing is.
const MODULE: &str = "
    typedef unsigned long (*asked)(unsigned long);
    __attribute__((noinline)) static unsigned long price(asked ask, unsigned long of) {
        return ask(of) + 1;
    }
    __attribute__((noinline)) unsigned long order(asked ask, unsigned long of) {
        if (ask) return price(ask, of) + 1;
        return *(volatile unsigned long *)of + 1;
    }
";

/// How the kernel loads it.
const LOAD: &str = "
    use core::hint::black_box;
    use super::{MODULES, println};
    use postmortem::{Module, Range};
    type Ask = extern \"C\" fn(u64) -> u64;
    type Order = extern \"C\" fn(Option<Ask>, u64) -> u64;
    #[repr(C, align(4096))]
    struct Place([u8; SIZE]);
    static mut PLACE: Place = Place([0; SIZE]);
    static IMAGE: &[u8] = include_bytes!(\"module.bin\");
    fn load() -> (Module, Order) {
        let place = (&raw mut PLACE).cast::<u8>();
        // SAFETY: there is room, and nothing else uses it. The processor may have fetched what was there before.
        unsafe {
            place.copy_from(IMAGE.as_ptr(), IMAGE.len());
            FETCH
        }
        let at = |(start, end): (u64, u64)| Range::new(place as u64 + start, place as u64 + end);
        let [code, tables, symbols] = PARTS.map(at);
        // SAFETY: the function of the module, as it is declared there.
        let order = unsafe { core::mem::transmute::<u64, Order>(place as u64 + ORDER) };
        (Module { code, tables, symbols }, order)
    }
";

/// What the kernel does with it.
const SHOP: &str = "
    use postmortem::ModuleError;
    extern \"C\" fn answer(of: u64) -> u64 {
        postmortem::print(&mut crate::serial::Serial, &format_args!(\"asked for {of}\"));
        black_box(of)
    }
    #[allow(dead_code)]
    extern \"C\" fn refuse(of: u64) -> u64 {
        panic!(\"no price for {of}\")
    }
    pub fn serve(_: u64) {
        let (module, order) = load();
        let code = module.code;
        order(Some(answer), 1);
        // SAFETY: it stays as it is.
        let register = || unsafe { MODULES.register(module) };
        assert_eq!(register(), Ok(()));
        assert_eq!(register(), Err(ModuleError::Overlaps));
        order(Some(answer), 2);
        assert_eq!(MODULES.remove(code.start), Ok(()));
        order(Some(answer), 3);
        assert_eq!(register(), Ok(()));
        println!(\"at {:#x}\", code.start);
        black_box(order(CALL));
    }
";

/// The same with a module that has names and no rows.
const WITHOUT_ROWS: &str = "
    extern \"C\" fn answer(of: u64) -> u64 {
        postmortem::print(&mut crate::serial::Serial, &format_args!(\"asked for {of}\"));
        black_box(of)
    }
    pub fn serve(_: u64) {
        let (module, order) = load();
        let module = Module { tables: Range::new(0, 0), ..module };
        // SAFETY: it stays as it is.
        assert_eq!(unsafe { MODULES.register(module) }, Ok(()));
        println!(\"registered\");
        order(Some(answer), 1);
        order(None, 0x70_0000_0000);
    }
";

/// Builds the module, and writes it as it lies in memory, with where its parts are, to the kernel's sources.
pub fn build(arch: Arch, link: &Path, sources: &Path) -> String {
    let folder = TempDir::new().expect("a folder can be made");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("module.c"), MODULE).expect("a file can be written");
    let (compiler, linker) = match arch {
        Arch::X86_64 => ("gcc", "ld"),
        Arch::Aarch64 => ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-ld"),
    };
    let mut compile = Command::new(compiler);
    compile.args(
        "-c -g -O1 -fPIC -ffreestanding -fno-stack-protector -fno-optimize-sibling-calls"
            .split(' '),
    );
    if arch == Arch::X86_64 {
        compile.arg("-mno-red-zone");
    }
    succeed(compile.arg("module.c").current_dir(folder.path()));
    let mut link = Command::new(link);
    link.arg(format!("--sframe-linker={linker}"));
    link.args("-Ttext=0x10000 -e 0 module.o -o module".split(' '));
    succeed(link.current_dir(folder.path()));
    let data = fs::read(at("module")).expect("the module is there");
    let file = object::File::parse(&*data).expect("the module is ELF");
    // From the first byte of code to the last of what is loaded.
    let base = file.section_by_name(".text").expect("code").address();
    let mut bytes = Vec::new();
    for section in file.sections().filter(|section| section.address() >= base) {
        let from = usize::try_from(section.address() - base).expect("near");
        let data = section.data().expect("the section is in the file");
        bytes.resize(bytes.len().max(from + data.len()), 0);
        bytes[from..from + data.len()].copy_from_slice(data);
    }
    fs::write(sources.join("module.bin"), &bytes).expect("a file can be written");
    let parts = [".text", ".sframe", ".symbols"].map(|name| {
        let section = file.section_by_name(name).expect(name);
        let start = section.address() - base;
        (start, start + section.size())
    });
    let mut symbols = file.symbols();
    let order = symbols.find(|symbol| symbol.name() == Ok("order"));
    let order = order.expect("a function").address() - base;
    format!(
        "const SIZE: usize = {}; const PARTS: [(u64, u64); 3] = {parts:?}; const ORDER: u64 = {order};",
        bytes.len().next_multiple_of(4096)
    )
}

#[track_caller]
fn succeed(command: &mut Command) {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Has the kernel in this folder, after the changes for one call, load the module and do this with it.
pub fn apply(arch: Arch, folder: &Path, shop: &str) {
    steps::apply(&part("complete-lists.md"), folder);
    steps::apply(&part("modules.md"), folder);
    let link = qemu::build::linker::build(&crate::support::built::target());
    let sources = folder.join("src");
    let parts = build(arch, &link.expect("sframe-link is built"), &sources);
    let fetch = match arch {
        Arch::X86_64 => "",
        Arch::Aarch64 => "core::arch::asm!(\"dsb sy\", \"ic iallu\", \"dsb sy\", \"isb\");",
    };
    let load = LOAD.replace("FETCH", fetch);
    short::write_shop(folder, &[&parts, &*load, shop].concat());
}

/// What a kernel says that does this with the module.
fn boot(kind: Kind, shop: &str) -> Said {
    kind.with(Profile::Debug, |folder| apply(kind.arch, folder, shop))
}

/// The report that begins with this line, without its registers and code.
pub fn report<'a>(text: &'a str, begin: &str) -> &'a str {
    let (_, report) = text.split_once(begin).expect(text);
    let end = report.find("end of backtrace: ").expect(text);
    let line = report[end..].find('\n').expect(text);
    &report[..end + line]
}

/// The functions that a report names, each with its letter, without `main`, which may be inlined.
pub fn named(report: &str) -> Vec<&str> {
    let frames = report.lines().filter(|line| line.get(4..8) == Some(": 0x"));
    frames
        .map(|line| line.get(25..).unwrap_or_default())
        .map(|name| name.split('+').next().unwrap_or_default())
        .filter(|name| *name != "r main")
        .collect()
}

#[long]
fn a_report_goes_through_a_module_while_it_is_registered() {
    for (kind, entry) in [(HANDLERS, "r long_mode"), (VECTORS, "r with_mmu")] {
        let said = boot(kind, &SHOP.replace("CALL", "Some(refuse), 4"));
        let text = &said.text;
        for begin in ["asked for 1", "asked for 3"] {
            let report = report(text, begin);
            let names = named(report);
            // Of the module nothing is known.
            assert!(names.len() == 1, "{text}");
            assert!(names[0].ends_with("shop::answer"), "{text}");
            assert!(
                report.contains("end of backtrace: incomplete: the return address "),
                "{text}"
            );
        }
        let asked = report(text, "asked for 2");
        let names = named(asked);
        let through = ["r price", "r order", "r corner_shop::shop::serve", entry];
        assert!(names[0].ends_with("shop::answer"), "{text}");
        assert_eq!(names[1..], through, "{text}");
        assert!(asked.contains(" at module.c:4\n"), "{text}");
        assert!(asked.contains("end of backtrace: complete, "), "{text}");
        let refused = named(report(text, "no price for 4"));
        assert!(refused.ends_with(&through), "{text}");
    }
}

#[long]
fn an_exception_in_a_module_is_one_of_its_function() {
    for (kind, entry) in [(HANDLERS, "r long_mode"), (VECTORS, "r with_mmu")] {
        let text = boot(kind, &SHOP.replace("CALL", "None, 0x70_0000_0000")).text;
        let (_, fault) = text.split_once("\nat 0x").expect(&text);
        let report = report(fault, "\n");
        let names = named(report);
        let frames = ["p order", "r corner_shop::shop::serve", entry];
        assert!(names.ends_with(&frames), "{text}");
        assert!(report.contains("end of backtrace: complete, "), "{text}");
        assert!(!report.contains(" is outside the known code"), "{text}");
    }
}

/// Its functions have their names, and callers as far as the link register or frame pointers tell them; the verdict says that.
#[long]
fn without_rows_a_list_through_a_module_is_never_complete() {
    for (kind, entry, frames, verdict, fault_verdict) in [
        (
            HANDLERS,
            "r long_mode",
            &[][..],
            "incomplete: no unwind row for address 0x",
            "outermost function reached, from frame 2 on by link register (no unwind row for address 0x",
        ),
        (
            VECTORS,
            "r with_mmu",
            &["f order", "f corner_shop::shop::serve"],
            "incomplete: the unwind row needs the stack pointer, ",
            "outermost function reached, from frame 1 on by link register (no unwind row for address 0x",
        ),
    ] {
        let text = boot(kind, WITHOUT_ROWS).text;
        let asked = report(&text, "asked for 1");
        let names = ["p corner_shop::shop::answer", "r price"];
        assert_eq!(named(asked), [&names, frames].concat(), "{text}");
        let (_, end) = asked.split_once("\nend of backtrace: ").expect(&text);
        assert!(end.starts_with(verdict), "{text}");

        let (_, fault) = text.split_once("\nend of backtrace: ").expect(&text);
        let fault = report(fault, "\n");
        let frames = ["p order", "l corner_shop::shop::serve", entry];
        assert!(named(fault).ends_with(&frames), "{text}");
        let (_, end) = fault.split_once("\nend of backtrace: ").expect(&text);
        assert!(end.starts_with(fault_verdict), "{text}");
    }
}
