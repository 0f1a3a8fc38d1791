//! Every function and every row of tables that other tools wrote, against what objdump of the matching version printed.
//! Nothing is skipped: a line of objdump's that is not understood is a failure. `data/make` says where the files are
//! from. `SFRAME_TABLES=FOLDER` has another folder of the same shape compared, such as `data/make --large` fills.

mod linear;
mod objdump;
#[path = "../say/mod.rs"]
mod say;

use std::fs;
use std::path::{Path, PathBuf};

use objdump::{Dump, Function};
use say::say;
use unwind::sframe::format::Flags;
use unwind::sframe::{Abi, Row, Section, Sections, Tables};
use unwind::{Found, RowSource, Rules};

/// What was compared, for the last line.
#[derive(Default)]
struct Count {
    files: usize,
    functions: usize,
    rows: usize,
    lookups: usize,
}

fn data() -> PathBuf {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    other_data().unwrap_or(stored)
}

fn other_data() -> Option<PathBuf> {
    std::env::var_os("SFRAME_TABLES").map(PathBuf::from)
}

/// The stored sections, in order: `v1/amd64-c` and so on.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    for version in ["v1", "v2", "v2e1", "v3"] {
        for entry in fs::read_dir(data().join(version)).expect("the data folder") {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if let Some(name) = name.strip_suffix(".sframe") {
                names.push(format!("{version}/{name}"));
            }
        }
    }
    names.sort();
    names
}

fn abi_of(name: &str) -> Abi {
    let arch = name.split(['/', '-']).nth(1).unwrap();
    match arch {
        "amd64" => Abi::Amd64,
        "aarch64" => Abi::AArch64Little,
        "aarch64be" => Abi::AArch64Big,
        "s390x" => Abi::S390x,
        other => panic!("architecture {other}"),
    }
}

fn read(name: &str, kind: &str) -> String {
    let path = data().join(format!("{name}.{kind}"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The header of a section, field by field.
fn check_header(name: &str, section: &Section<'_>, dump: &Dump) {
    assert_eq!(section.version(), dump.version, "{name}");
    assert_eq!(section.abi(), abi_of(name), "{name}");
    assert_eq!(section.byte_order(), abi_of(name).byte_order(), "{name}");
    let flags = dump.flags.iter().map(|flag| match flag.as_str() {
        "SFRAME_F_FDE_SORTED" => Flags::SORTED,
        "SFRAME_F_FRAME_POINTER" => Flags::FRAME_POINTER,
        "SFRAME_F_FDE_FUNC_START_PCREL" => Flags::START_PC_RELATIVE,
        other => panic!("{name}: flag {other}"),
    });
    assert_eq!(section.flags(), flags.collect(), "{name}");
    assert_eq!(
        section.fixed_return_address_offset(),
        dump.fixed_return_address,
        "{name}"
    );
    assert_eq!(section.fixed_frame_pointer_offset(), 0, "{name}");
    assert_eq!(
        section.function_count() as usize,
        dump.functions.len(),
        "{name}"
    );
    assert_eq!(section.row_count(), dump.row_count, "{name}");
}

/// The functions and rows of a section, one by one. `starts` are the addresses of the functions.
fn check_functions(
    name: &str,
    section: &Section<'_>,
    expected: &[Function],
    blocks: &[u64],
    count: &mut Count,
) {
    assert_eq!(section.functions().count(), expected.len(), "{name}");
    let mut rows_in_all = 0;
    for (index, (function, expected)) in section.functions().zip(expected).enumerate() {
        let rows: Vec<Row> = function.rows().collect();
        assert_eq!(
            rows.len(),
            function.row_count() as usize,
            "{name}, function {index}: a row was not read"
        );
        let found = Function {
            start: function.start(),
            size: function.size(),
            signal: function.is_signal_frame(),
            flexible: function.is_flexible(),
            key_b: function.uses_key_b(),
            pc_mask: function.is_pc_mask(),
            rows,
        };
        assert_eq!(found, *expected, "{name}, function {index}");
        if found.pc_mask {
            assert_eq!(
                u64::from(function.block_size()),
                blocks[index],
                "{name}, function {index}"
            );
        }
        rows_in_all += found.rows.len();
    }
    assert_eq!(rows_in_all, section.row_count() as usize, "{name}");
    count.functions += expected.len();
    count.rows += rows_in_all;
}

/// Look-ups at every pc that could go wrong, against a plain reading of all functions of all sections.
fn check_lookups(
    name: &str,
    tables: &Tables<'_>,
    expected: &[Function],
    blocks: &[u64],
    count: &mut Count,
) {
    for pc in linear::interesting(expected, blocks) {
        let wanted = linear::lookup(expected, blocks, pc);
        let found = tables
            .lookup(pc)
            .map(|(function, row)| (function.start(), row));
        assert_eq!(
            found,
            wanted.map(|(index, row)| (expected[index].start, row)),
            "{name}, pc {pc:#x}"
        );
        // The same question, as a walk asks it.
        let mut walks = Found::EMPTY;
        let asked = tables.look_up(pc, &mut walks);
        let row = wanted.as_ref().map(|(_, row)| Rules::from(row));
        assert_eq!(
            asked.map(|()| walks.rules),
            row.map_err(|e| *e),
            "{name}, pc {pc:#x}"
        );
        // And step by step.
        let function = tables.function_at(pc);
        assert_eq!(
            function.is_some(),
            wanted != Err(unwind::sframe::LookupError::NoFunction),
            "{name}, pc {pc:#x}"
        );
        let row = function.and_then(|function| function.row_at(pc));
        assert_eq!(row, wanted.ok().map(|(_, row)| row), "{name}, pc {pc:#x}");
        count.lookups += 1;
    }
}

/// A section that one linker made one of.
fn check_merged(name: &str, bytes: &[u8], count: &mut Count) {
    let dump = Dump::parse(&read(name, "objdump"), abi_of(name));
    let address = dump.address();
    let blocks = linear::blocks(&dump, abi_of(name));
    let section = Section::parse(bytes, address).unwrap_or_else(|error| panic!("{name}: {error}"));
    check_header(name, &section, &dump);
    check_functions(name, &section, &dump.functions, &blocks, count);
    let tables = Tables::new(bytes, address);
    assert_eq!(tables.sections().count(), 1, "{name}");
    check_lookups(name, &tables, &dump.functions, &blocks, count);
}

/// Sections that lld put one after another: the rows are those of the objects, the starts where the relocations point.
fn check_side_by_side(name: &str, bytes: &[u8], count: &mut Count) {
    let (section, relocations) = objdump::relocations(&read(name, "relocations"));
    assert_eq!(bytes.len() as u64, section.end - section.start, "{name}");
    let mut starts = relocations.into_iter();
    let mut sections = Sections::new(bytes, section.start);
    let mut all = Vec::new();
    for part in 1.. {
        if !data().join(format!("{name}.{part}.objdump")).exists() {
            assert!(part > 2, "{name}: several objects");
            break;
        }
        let part_name = format!("{name}.{part}");
        let mut dump = Dump::parse(&read(&part_name, "objdump"), abi_of(name));
        let found = sections
            .next()
            .unwrap_or_else(|| panic!("{part_name}: no section"));
        let found = found.unwrap_or_else(|error| panic!("{part_name}: {error}"));
        let entry_size = match found.version() {
            1 => 17,
            2 => 20,
            _ => 16,
        };
        for (index, function) in dump.functions.iter_mut().enumerate() {
            let (field, start) = starts.next().expect("a relocation for every function");
            assert_eq!(
                field,
                found.address() + 28 + index as u64 * entry_size,
                "{part_name}"
            );
            function.start = start;
        }
        check_header(&part_name, &found, &dump);
        let blocks = vec![0; dump.functions.len()];
        check_functions(&part_name, &found, &dump.functions, &blocks, count);
        all.append(&mut dump.functions);
    }
    assert!(
        sections.next().is_none(),
        "{name}: more sections than objects"
    );
    assert_eq!(
        starts.next(),
        None,
        "{name}: more relocations than functions"
    );
    // The point of these files: neither the sections nor the functions in them are in order.
    assert!(!all.is_sorted_by_key(|function| function.start), "{name}");
    let blocks = vec![0; all.len()];
    check_lookups(
        name,
        &Tables::new(bytes, section.start),
        &all,
        &blocks,
        count,
    );
}

#[test]
fn every_row_is_what_objdump_prints() {
    let mut total = Count::default();
    say(format_args!(
        "{:28} {:>9} {:>6} {:>8}",
        "table", "functions", "rows", "look-ups"
    ));
    for name in names() {
        let bytes = fs::read(data().join(format!("{name}.sframe"))).unwrap();
        let mut count = Count::default();
        if data().join(format!("{name}.relocations")).exists() {
            check_side_by_side(&name, &bytes, &mut count);
        } else {
            check_merged(&name, &bytes, &mut count);
        }
        assert!(count.rows > 0, "{name}");
        say(format_args!(
            "{name:28} {:9} {:6} {:8}",
            count.functions, count.rows, count.lookups
        ));
        total.files += 1;
        total.functions += count.functions;
        total.rows += count.rows;
        total.lookups += count.lookups;
    }
    say(format_args!(
        "{} tables: {} functions, {} rows and {} look-ups as objdump has them",
        total.files, total.functions, total.rows, total.lookups
    ));
    assert!(
        total.rows > 0 && (other_data().is_some() || total.files >= 40 && total.rows > 2000),
        "tables are missing"
    );
}
