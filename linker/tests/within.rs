//! Links with scripts of kernels that map their own sections one by one: the tables are where such a kernel maps its constants.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{folder, sframe, sframe_link, stderr, stdout, succeed, tool};
use crate::place::{AARCH64, PROGRAM, X86_64, aarch64, installed, link};
use linker::image::Image;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags, elf};

/// The forms of such scripts, each with the symbols from and to which the kernel maps what is only read. Where there are none, it maps each
/// loaded section by its header.
const FORMS: [(&str, &str, Option<[&str; 2]>); 6] = [
    // ArceOS: symbols between the sections, and another section before the last one.
    (
        "between",
        "SECTIONS { . = 0x200000; _skernel = .;
         .text : ALIGN(4K) { _stext = .; *(.text .text.*) . = ALIGN(4K); _etext = .; }
         _srodata = .; .rodata : ALIGN(4K) { *(.rodata .rodata.*) }
         .init_array : ALIGN(0x10) { begin = .; *(.init_array .init_array.*) end = .; }
         . = ALIGN(4K); _erodata = .;
         .data : ALIGN(4K) { _sdata = .; *(.data .data.*) } . = ALIGN(4K); _edata = .;
         /DISCARD/ : { *(.comment) *(.gnu*) *(.note*) *(.eh_frame*) } }",
        Some(["_srodata", "_erodata"]),
    ),
    // rCore: one symbol ends a section, another one begins the next one.
    (
        "touching",
        "SECTIONS { . = 0x200000; stext = .; .text : { *(.text .text.*) }
         . = ALIGN(4K); etext = .; srodata = .; .rodata : { *(.rodata .rodata.*) *(.srodata .srodata.*) }
         . = ALIGN(4K); erodata = .; sdata = .; .data : { *(.data .data.*) } . = ALIGN(4K); edata = .;
         /DISCARD/ : { *(.eh_frame) } }",
        Some(["srodata", "erodata"]),
    ),
    // Redox on x86-64: a section begins with the symbols that end the one before it.
    (
        "in_next",
        "SECTIONS { . = 0xffffffff80000000; . += SIZEOF_HEADERS;
         .text ALIGN(4K) : AT(ADDR(.text) - 0xffffffff80000000) { __text_start = .; *(.text*) }
         .rodata ALIGN(4K) : AT(ADDR(.rodata) - 0xffffffff80000000) { __text_end = .; __rodata_start = .; *(.rodata*) }
         .data ALIGN(4K) : AT(ADDR(.data) - 0xffffffff80000000) { __rodata_end = .; *(.data*) }
         __end = .; /DISCARD/ : { *(.eh_frame*) } }",
        Some(["__rodata_start", "__rodata_end"]),
    ),
    // Redox on AArch64: each section has its symbols inside.
    (
        "inside",
        "SECTIONS { . = 0xffffff0000000000; . += SIZEOF_HEADERS; . = ALIGN(4096);
         .text : { __text_start = .; *(.text*) . = ALIGN(4096); __text_end = .; }
         .rodata : { __rodata_start = .; *(.rodata*) . = ALIGN(4096); __rodata_end = .; }
         .data : { *(.data*) . = ALIGN(4096); } __end = .; /DISCARD/ : { *(.eh_frame*) } }",
        Some(["__rodata_start", "__rodata_end"]),
    ),
    // The end without the rest of its page.
    (
        "exact",
        "SECTIONS { . = 0x200000; .text : { text_start = .; *(.text .text.*) text_end = .; } . = ALIGN(4096);
         rodata_start = .; .rodata : { *(.rodata .rodata.*) } rodata_end = .; . = ALIGN(4096);
         .data : { *(.data .data.*) } /DISCARD/ : { *(.eh_frame*) } }",
        Some(["rodata_start", "rodata_end"]),
    ),
    // Theseus: the headers of sections, of which it knows all.
    (
        "headers",
        "SECTIONS { . = 1M; .init ALIGN(4K) : { *(.init .init.*) } . += 0xffffffff80000000;
         .text ALIGN(4K) : AT(ADDR(.text) - 0xffffffff80000000) { *(.text .text.*) }
         .rodata ALIGN(4K) : AT(ADDR(.rodata) - 0xffffffff80000000) { *(.rodata .rodata.*) }
         .eh_frame ALIGN(4K) : AT(ADDR(.eh_frame) - 0xffffffff80000000) { *(.eh_frame) }
         .data ALIGN(4K) : AT(ADDR(.data) - 0xffffffff80000000) { *(.data .data.*) } }",
        None,
    ),
];

/// A table: its address, and its bytes.
type Table = (u64, Vec<u8>);

/// The tables of an image, which are loaded where their headers have them.
#[track_caller]
fn tables(data: &[u8]) -> [Table; 2] {
    let image = Image::parse(data).unwrap();
    [".sframe", ".symbols"].map(|name| {
        let table = image.section(name).unwrap().expect(name);
        let mut segments = image.file.segments();
        let loaded = segments.find_map(|segment| {
            let at = table.address.checked_sub(segment.address())?;
            segment
                .data()
                .unwrap()
                .get(at as usize..)?
                .get(..table.data.len())
        });
        assert_eq!(loaded, Some(table.data), "{name}");
        assert!(table.data.len() > 32, "{name}");
        (table.address, table.data.to_vec())
    })
}

/// The loaded sections: name, type and flags, by address.
fn sections(data: &[u8]) -> Vec<(String, SectionFlags)> {
    let file = object::File::parse(data).unwrap();
    let loaded = file.sections().filter(|section| {
        let is_loaded = matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_ALLOC));
        is_loaded && section.size() > 0
    });
    let mut loaded: Vec<_> = loaded.collect();
    loaded.sort_by_key(ObjectSection::address);
    let known = loaded
        .iter()
        .map(|section| (section.name().unwrap().to_owned(), section.flags()));
    known.collect()
}

/// Checks that both tables are where the kernel maps what is only read.
#[track_caller]
fn expect_within(data: &[u8], symbols: Option<[&str; 2]>) {
    let file = object::File::parse(data).unwrap();
    let [from, to] = match symbols {
        Some(symbols) => symbols.map(|name| file.symbol_by_name(name).unwrap().address()),
        None => {
            let rodata = file.section_by_name(".rodata").unwrap();
            [rodata.address(), rodata.address() + rodata.size()]
        }
    };
    for (address, bytes) in tables(data) {
        let end = address + bytes.len() as u64;
        assert!(
            from <= address && end <= to,
            "{from:#x}..{to:#x}: {address:#x}..{end:#x}"
        );
    }
}

/// The program with each of the forms, by this linker.
fn in_every_form(name: &str, target: &str, text: &str, linker: Option<&Path>) {
    let text =
        format!("{text}.section .init_array, \"a\"\n.quad 0\n.section .init, \"a\"\n.quad 0\n");
    for (form, script, symbols) in FORMS {
        let folder = folder(&format!("within_{name}_{form}"));
        crate::common::assemble(&folder, target, &text);
        let image = || fs::read(folder.join("image")).unwrap();
        let linked = |more: &[&str]| {
            let output = link(&folder, linker, Some(script), more);
            assert!(output.status.success(), "{form}: {}", stderr(&output));
            image()
        };
        let first = linked(&["-z", "max-page-size=4096"]);
        let check = sframe(&["check"], &folder.join("image"));
        assert!(check.status.success(), "{form}: {}", stdout(&check));
        expect_within(&first, symbols);
        // With the room of the first one.
        assert!(linked(&["-z", "max-page-size=4096"]) == first, "{form}");
        let dropping = linked(&["-z", "max-page-size=4096", "--gc-sections"]);
        expect_within(&dropping, symbols);
        let stripped = linked(&["-z", "max-page-size=4096", "-s"]);
        assert_eq!(tables(&stripped), tables(&first), "{form}");

        // Everything else is as without tables.
        let mut alone = sframe_link();
        alone.current_dir(&folder).args([
            "--sframe=none",
            "--symbols=none",
            "-z",
            "max-page-size=4096",
        ]);
        alone.args(["-o", "image", "-e", "_start", "input.o", "-T", "image.ld"]);
        alone.args(linker.map(|linker| format!("--sframe-linker={}", linker.display())));
        let symbols = [
            "__sframe_start",
            "__sframe_end",
            "__symbols_start",
            "__symbols_end",
        ];
        succeed(alone.args(symbols.map(|symbol| format!("--defsym={symbol}=0"))));
        assert_eq!(sections(&first), sections(&image()), "{form}");
    }
}

#[test]
fn rust_lld_puts_tables_where_constants_are() {
    in_every_form("lld", X86_64, PROGRAM, None);
}

#[test]
fn rust_lld_puts_tables_where_constants_are_aarch64() {
    in_every_form("lld_aarch64", AARCH64, &aarch64(), None);
}

#[test]
fn gnu_ld_puts_tables_where_constants_are() {
    let ld = installed("ld", "binutils");
    in_every_form("ld", X86_64, PROGRAM, Some(&ld));
}

#[test]
fn gnu_ld_puts_tables_where_constants_are_aarch64() {
    let ld = installed("aarch64-linux-gnu-ld", "binutils-aarch64-linux-gnu");
    in_every_form("ld_aarch64", AARCH64, &aarch64(), Some(&ld));
}

/// A linked program with the first form.
fn linked(name: &str, more: &[&str]) -> (PathBuf, Vec<u8>) {
    let folder = folder(name);
    crate::common::assemble(&folder, X86_64, PROGRAM);
    let output = link(&folder, None, Some(FORMS[0].1), more);
    assert!(output.status.success(), "{}", stderr(&output));
    let image = fs::read(folder.join("image")).unwrap();
    (folder, image)
}

/// Programs that strip an image copy what is not loaded to another place in the file.
#[test]
fn a_stripped_image_has_its_tables() {
    for load in ["sframe", "map"] {
        let name = format!("within_stripped_{load}");
        let (folder, image) = linked(&name, &[&format!("--sframe-load={load}")]);
        let named = |data: &[u8]| {
            let image = Image::parse(data).unwrap();
            [".sframe", ".unwind_map", ".symbols"].map(|name| {
                let section = image.section(name).unwrap();
                section.map(|section| (section.address, section.data.to_vec()))
            })
        };
        let expected = named(&image);
        assert_eq!(expected[1].is_some(), load == "map");
        for (program, package) in [("strip", "binutils"), ("llvm-strip", "llvm")] {
            let stripped = folder.join(program);
            succeed(Command::new(tool(program, package).get_program()).args([
                folder.join("image"),
                "-o".into(),
                stripped.clone(),
            ]));
            let data = fs::read(stripped).unwrap();
            let file = object::File::parse(&*data).unwrap();
            assert_eq!(file.symbols().count(), 0, "{program}");
            // `llvm-strip` drops what is not loaded: a `.sframe` next to a map.
            let kept = usize::from(load == "map");
            assert_eq!(named(&data)[kept..], expected[kept..], "{program}");
            let mut segments = file.segments();
            let (address, bytes) = expected[2].as_ref().unwrap();
            let is_loaded = segments.any(|segment| {
                let at = address.checked_sub(segment.address());
                let data = segment.data().unwrap();
                at.is_some_and(|at| {
                    data.get(at as usize..)
                        .is_some_and(|data| data.starts_with(bytes))
                })
            });
            assert!(is_loaded, "{program}");
        }
    }
}

#[test]
fn one_table_is_enough() {
    for switch in ["--symbols=none", "--sframe=none"] {
        let (_, image) = linked(&format!("within{switch}"), &[switch]);
        let image = Image::parse(&image).unwrap();
        let has = |name| image.section(name).unwrap().is_some();
        assert_eq!(has(".symbols"), switch != "--symbols=none");
        assert_eq!(has(".sframe"), switch != "--sframe=none");
        let symbol = |name| image.file.symbol_by_name(name).unwrap().address();
        for (switched, [start, end]) in [
            ("--sframe=none", ["__sframe_start", "__sframe_end"]),
            ("--symbols=none", ["__symbols_start", "__symbols_end"]),
        ] {
            assert_eq!(symbol(start) == symbol(end), switch == switched, "{switch}");
        }
    }
}

/// Constants among code, or before it, or that can be written, are no place for tables.
#[test]
fn other_constants_are_left_as_they_are() {
    for (name, script) in [
        (
            "in_code",
            "SECTIONS { . = 1M; .text : { *(.text .text.* .rodata .rodata.*) } .data : { *(.data .data.*) } }",
        ),
        (
            "before_code",
            "SECTIONS { . = 1M; .rodata : { *(.rodata .rodata.*) } .text : { *(.text .text.*) } .data : { *(.data .data.*) } }",
        ),
        (
            "written",
            "SECTIONS { . = 1M; .text : { *(.text .text.*) } .data : { *(.data .data.* .rodata .rodata.*) } }",
        ),
        (
            "unnamed",
            "SECTIONS { . = 1M; .text : { *(.text .text.*) } .data : { *(.data .data.*) } }",
        ),
    ] {
        let ld = installed("ld", "binutils");
        for linker in [None, Some(&*ld)] {
            let folder = folder(&format!("within_{name}_{}", linker.is_some()));
            crate::common::assemble(&folder, X86_64, PROGRAM);
            let output = link(&folder, linker, Some(script), &[]);
            assert!(output.status.success(), "{name}: {}", stderr(&output));
            let check = sframe(&["check"], &folder.join("image"));
            assert!(check.status.success(), "{name}: {}", stdout(&check));
            let data = fs::read(folder.join("image")).unwrap();
            let [(sframe, _), (symbols, _)] = tables(&data);
            let file = object::File::parse(&*data).unwrap();
            let text = file.section_by_name(".text").unwrap();
            assert!(
                sframe >= text.address() + text.size() && symbols > sframe,
                "{name}"
            );
        }
    }
}

/// A script that assigns constants to no segment does not load them.
#[test]
fn constants_in_no_segment_are_no_place_for_tables() {
    let script = "PHDRS { text PT_LOAD FLAGS(5); data PT_LOAD FLAGS(6); }
        SECTIONS { . = 1M; .text : { *(.text .text.*) } :text .data : { *(.data .data.*) } :data
        .rodata : { *(.rodata .rodata.*) } :NONE /DISCARD/ : { *(.eh_frame*) } }";
    let ld = installed("ld", "binutils");
    for linker in [None, Some(&*ld)] {
        let folder = folder(&format!("within_no_segment_{}", linker.is_some()));
        crate::common::assemble(&folder, X86_64, PROGRAM);
        let output = link(&folder, linker, Some(script), &["--sframe-require"]);
        assert!(output.status.success(), "{}", stderr(&output));
        tables(&fs::read(folder.join("image")).unwrap());
        // If no section is loaded, no section is a place for tables.
        let script = script.replace(":text", ":NONE").replace(":data", ":NONE");
        let output = link(&folder, linker, Some(&script), &[]);
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        let warning = "warning: image is linked without unwind tables: the linker cannot place unwind tables after section .text: section .sframe is not in a loaded segment";
        assert!(said.contains(warning), "{said}");
        let note = "assign each section to a PT_LOAD program header";
        assert!(said.contains(note), "{said}");
        let required = link(&folder, linker, Some(&script), &["--sframe-require"]);
        assert_eq!(required.status.code(), Some(1));
        assert!(!folder.join("image").exists());
    }
}
