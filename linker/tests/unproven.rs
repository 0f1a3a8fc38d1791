//! The list of unproven rows in tables, and tables without these rows.

use std::fs;
use std::path::{Path, PathBuf};

use linker::image::Image;
use linker::unproven::Unproven;
use unwind::map::Map;
use unwind::sframe::Tables;
use unwind::{Found, LookupError, Proof, RowSource};

use crate::common::{
    SCRIPT, assemble, folder, scripts, sframe, sframe_link, stderr, stdout, succeed,
};

/// `loses` loads its stack pointer from memory, so that its directives are wrong from then on. `spills` overwrites `rbp` without a directive.
const X86_64: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
.cfi_undefined rip
 call loses
 call spills
 hlt
.cfi_endproc
.size _start, . - _start
.type loses, %function
loses:
.cfi_startproc
 push %rbx
.cfi_adjust_cfa_offset 8
unknown_from:
 mov other_stack(%rip), %rsp
 nop
 nop
unknown_to:
 ret
.cfi_endproc
.size loses, . - loses
.type spills, %function
spills:
.cfi_startproc
 mov %rbp, %rax
 mov other_stack(%rip), %rbp
lost_from:
 nop
 nop
lost_to:
 mov %rax, %rbp
 ret
.cfi_endproc
.size spills, . - spills
.data
other_stack: .quad 0
";

struct Linked {
    folder: PathBuf,
    data: Vec<u8>,
}

impl Linked {
    fn new(name: &str, switches: &[&str]) -> Self {
        let folder = folder(name);
        let object = assemble(&folder, "x86_64-unknown-none", X86_64);
        fs::write(folder.join("image.ld"), SCRIPT).unwrap();
        let mut command = sframe_link();
        let command = command
            .current_dir(&folder)
            .args([
                "-L",
                &scripts(),
                "-T",
                "image.ld",
                "-o",
                "image",
                "--symbols=names",
            ])
            .args(switches)
            .arg(object);
        succeed(command);
        let data = fs::read(folder.join("image")).unwrap();
        Self { folder, data }
    }

    fn image(&self) -> Image<'_> {
        Image::parse(&self.data).unwrap()
    }

    fn path(&self) -> PathBuf {
        self.folder.join("image")
    }

    /// Returns the address of a label.
    fn label(&self, name: &str) -> u64 {
        use object::{Object, ObjectSymbol};
        let image = self.image();
        let mut symbols = image.file.symbols();
        let symbol = symbols.find(|symbol| symbol.name() == Ok(name));
        symbol
            .unwrap_or_else(|| panic!("no label {name}"))
            .address()
    }

    fn sframe<T>(&self, use_them: impl FnOnce(Tables<'_>) -> T) -> T {
        let image = self.image();
        let section = image.section(".sframe").unwrap().unwrap();
        use_them(Tables::new(section.data, section.address))
    }

    fn map<T>(&self, use_it: impl FnOnce(Map<'_>) -> T) -> T {
        let image = self.image();
        let section = image.section(".unwind_map").unwrap().unwrap();
        use_it(Map::parse(section.data, section.address).unwrap())
    }
}

fn look_up(tables: &impl RowSource, address: u64) -> Result<Found, LookupError> {
    let mut found = Found::EMPTY;
    tables.look_up(address, &mut found).map(|()| found)
}

fn check(path: &Path) -> (bool, String) {
    let check = sframe(&["check"], path);
    (check.status.success(), stdout(&check) + &stderr(&check))
}

#[test]
fn unproven_row_is_listed() {
    let linked = Linked::new("unproven-listed", &["--sframe-load=map"]);
    let (from, to) = (linked.label("unknown_from"), linked.label("unknown_to"));
    let proof = |address| {
        let in_table = linked.sframe(|tables| look_up(&tables, address));
        let in_map = linked.map(|map| look_up(&map, address));
        let [in_table, in_map] = [in_table, in_map].map(|found| found.unwrap());
        assert_eq!(in_table.rules, in_map.rules, "{address:#x}");
        assert_eq!(in_table.proof, in_map.proof, "{address:#x}");
        in_table.proof
    };
    // The row is right before the load, and so are the rows of the other functions.
    for address in [
        from - 1,
        from,
        linked.label("_start"),
        linked.label("spills"),
    ] {
        assert_eq!(proof(address), Proof::Proven, "{address:#x}");
    }
    let loaded = from + 7;
    for address in [loaded, loaded + 1, to] {
        assert_eq!(proof(address), Proof::Unproven, "{address:#x}");
    }
    let (is_right, text) = check(&linked.path());
    assert!(is_right, "{text}");
    assert!(
        text.contains(
            "\nthe unwind tables mark the unwind rows for 3 bytes of code as not proven correct\n"
        ),
        "{text}"
    );
    let lookup = |address: u64| {
        stdout(&sframe(
            &["lookup", &format!("{address:#x}")],
            &linked.path(),
        ))
    };
    assert!(lookup(to).contains(", unproven\n"), "{}", lookup(to));
    assert!(!lookup(from).contains("unproven"), "{}", lookup(from));
    let dump = stdout(&sframe(&["dump"], &linked.path()));
    let line = format!("    code with unproven unwind rows: pc = {loaded:#x}, size = 3 bytes\n");
    assert!(dump.contains(&line), "{dump}");
}

#[test]
fn unproven_frame_pointer_is_marked_as_lost() {
    let linked = Linked::new("unproven-frame-pointer", &[]);
    let (from, to) = (linked.label("lost_from"), linked.label("lost_to"));
    linked.sframe(|tables| {
        for (address, is_lost) in [(from - 1, false), (from, true), (to, true), (to + 3, false)] {
            let found = look_up(&tables, address).unwrap();
            assert_eq!(found.proof, Proof::Proven, "{address:#x}");
            let is_same = found.rules.frame_pointer() == unwind::Rule::Same;
            assert_eq!(is_same, !is_lost, "{address:#x}: {:?}", found.rules);
        }
    });
}

#[test]
fn unproven_rows_can_be_removed() {
    let linked = Linked::new(
        "unproven-dropped",
        &["--sframe-unproven=drop", "--sframe-load=map"],
    );
    let loaded = linked.label("unknown_from") + 7;
    let expect = |tables: &dyn RowSource| {
        for address in loaded..=linked.label("unknown_to") {
            let mut found = Found::EMPTY;
            assert!(tables.look_up(address, &mut found).is_err(), "{address:#x}");
        }
        for address in [loaded - 1, linked.label("spills"), linked.label("loses")] {
            let mut found = Found::EMPTY;
            assert_eq!(tables.look_up(address, &mut found), Ok(()), "{address:#x}");
            assert_eq!(found.proof, Proof::Proven, "{address:#x}");
        }
    };
    linked.sframe(|tables| expect(&tables));
    linked.map(|map| expect(&map));
    let count = linked.sframe(|tables| tables.first().unwrap().unproven_count());
    assert_eq!(count, Some(0));
}

#[test]
fn tables_without_the_check_contain_no_proof() {
    let linked = Linked::new("unproven-all", &["--sframe-repair=no", "--sframe-load=map"]);
    let start = linked.label("_start");
    let of_tables = linked.sframe(|tables| look_up(&tables, start)).unwrap();
    let of_map = linked.map(|map| look_up(&map, start)).unwrap();
    assert_eq!([of_tables.proof, of_map.proof], [Proof::Unknown; 2]);
}

#[test]
fn version_2_lists_a_lost_frame_pointer_as_unproven() {
    let linked = Linked::new("unproven-v2", &["--sframe=v2"]);
    linked.sframe(|tables| {
        let found = look_up(&tables, linked.label("lost_from")).unwrap();
        assert_eq!(found.proof, Proof::Unproven);
    });
}

#[test]
fn check_fails_if_the_list_omits_an_unproven_row() {
    let linked = Linked::new("unproven-forged", &[]);
    let (at, address) = {
        let image = linked.image();
        let section = image.section(".sframe").unwrap().unwrap();
        (section.offset as usize, section.address)
    };
    // The only range precedes the count and the magic number of the list (8 bytes), the checksum of the code (16 and 8), the address (12) and
    // the checksum (8).
    let length = linked.sframe(|tables| tables.first().unwrap().length());
    let mut data = linked.data.clone();
    let range = at + length - 8 - 12 - (16 + 8) - 8 - 6;
    let start = u32::from_le_bytes(data[range..range + 4].try_into().unwrap());
    let loaded = linked.label("unknown_from") + 7;
    assert_eq!(start, loaded.wrapping_sub(address) as u32);
    data[range + 4] = 1;
    let checksum = crc32fast::hash(&data[at..at + length - 8]).to_le_bytes();
    data[at + length - 8..at + length - 4].copy_from_slice(&checksum);
    let path = linked.folder.join("forged");
    fs::write(&path, data).unwrap();
    let (is_right, text) = check(&path);
    assert!(!is_right);
    assert!(
        text.contains("error: the unwind tables do not mark all unproven unwind rows. The marks are missing for 2 bytes of code, "),
        "{text}"
    );
}

/// Tables that count what is looked up in them.
struct Counted<T>(T, std::cell::Cell<u64>);

impl<T: RowSource> RowSource for Counted<T> {
    fn describes(&self, machine: unwind::Machine) -> Result<(), unwind::End> {
        self.0.describes(machine)
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        self.1.set(self.1.get() + 1);
        self.0.look_up(pc, found)
    }

    fn covers(&self, pc: u64) -> bool {
        self.0.covers(pc)
    }

    fn doubt(&self) -> Option<unwind::End> {
        self.0.doubt()
    }
}

#[test]
fn size_beyond_file_is_not_looked_up() {
    let linked = Linked::new("unproven-sizes", &["--sframe-load=map"]);
    let subject = linker::inspect::Subject::parse(&linked.data).unwrap();
    let mut functions = subject.functions().unwrap().functions;
    let size = linked.data.len() as u64;
    let listed = linked.sframe(|tables| Unproven::listed(&tables, &functions, size).unwrap());
    assert!(listed.bytes() > 0);
    let last = functions.last_mut().unwrap();
    last.size = 1 << 28;
    let (start, end) = (last.start, last.end());
    let bytes: u64 = functions.iter().map(|one| size.min(one.size.into())).sum();
    linked.sframe(|tables| {
        let tables = Counted(tables, Default::default());
        assert!(Unproven::listed(&tables, &functions, size).is_some());
        assert_eq!(tables.1.get(), bytes);
    });
    // Without a verdict nothing is proven, up to its end.
    let all = Unproven::of(&functions, &[]);
    assert!(all.contains(start) && all.contains(end - 1) && !all.contains(end));
    let (omitted, first) = all.beyond(&listed).unwrap();
    assert_eq!(omitted, all.bytes() - listed.bytes());
    assert!(all.contains(first) && !listed.contains(first));
    assert_eq!(listed.beyond(&all), None);
}

/// The mark that the processor enters a function, at a row that does not follow from that.
#[test]
fn sframe_check_finds_a_wrong_mark_of_an_entry() {
    let mut linked = Linked::new("unproven-marked", &[]);
    let says = "error: the unwind tables mark the unwind row at ";
    assert!(!check(&linked.path()).1.contains(says));
    // The list ends with the number of its ranges and a magic. The highest byte of a range contains the mark.
    let magic = linked.data.windows(4).position(|bytes| bytes == b"SFPF");
    let mark = magic.unwrap() - 5;
    assert_eq!(linked.data[mark] & 0x80, 0);
    linked.data[mark] |= 0x80;
    let loaded = linked.label("unknown_from") + 7;
    let proof = linked.sframe(|tables| look_up(&tables, loaded).unwrap().proof);
    assert_eq!(proof, Proof::IfEntered);
    fs::write(linked.path(), &linked.data).unwrap();
    let (is_ok, text) = check(&linked.path());
    assert!(!is_ok && text.contains(says), "{text}");
}

/// `after` is proven because only `before` jumps to it. A table contains the distances to all functions, but these words are not pointers
/// with which the program calls functions, not even if the table is a part of the program's constants.
#[test]
fn a_table_among_the_constants_is_not_read_for_pointers() {
    const PROGRAM: &str = "
.globl _start
.type _start, %function
_start:
.cfi_startproc
.cfi_undefined rip
 call before
 hlt
.cfi_endproc
.size _start, . - _start
.type before, %function
before:
.cfi_startproc
 push %rbx
.cfi_adjust_cfa_offset 8
 jmp after
.cfi_endproc
.size before, . - before
.type after, %function
after:
.cfi_startproc
.cfi_def_cfa_offset 16
 nop
 pop %rbx
.cfi_adjust_cfa_offset -8
 ret
.cfi_endproc
.size after, . - after
.section .rodata
 .quad 7
";
    const IN_CONSTANTS: &str = "
ENTRY(_start)
SECTIONS {
    . = 0x200000;
    .text : { *(.text .text.*) }
    . = ALIGN(4096); constants_start = .;
    .rodata : { *(.rodata .rodata.*) }
    constants_end = .; . = ALIGN(4096);
    .eh_frame : { KEEP(*(.eh_frame)) }
    .data : { *(.data .data.*) }
}
";
    let folder = folder("unproven-in-constants");
    let object = assemble(&folder, "x86_64-unknown-none", PROGRAM);
    fs::write(folder.join("image.ld"), IN_CONSTANTS).unwrap();
    let mut command = sframe_link();
    let command = command.current_dir(&folder);
    succeed(command.args(["-T", "image.ld", "-o", "image"]).arg(object));
    let path = folder.join("image");
    let data = fs::read(&path).unwrap();
    let image = Image::parse(&data).unwrap();
    let [table, constants] = [".sframe", ".rodata"].map(|name| {
        let section = image.section(name).unwrap().unwrap();
        section.address..section.address + section.data.len() as u64
    });
    assert!(constants.contains(&table.start) && constants.contains(&(table.end - 1)));
    let (is_right, text) = check(&path);
    assert!(is_right, "{text}");
    assert!(
        text.contains("proved the unwind rows for 100.00 % of the code"),
        "{text}"
    );
}
