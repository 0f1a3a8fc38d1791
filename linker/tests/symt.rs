//! `--symt`, by a reader of the test's own, written after the description of the format and sharing no code with ours, against debug
//! information as addr2line has it and calls as objdump lists them. libdragon's own reader runs on its console only.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{folder, succeed, tool};

/// Functions that are inlined, one in the other; calls behind both; a call as the first instruction of a function, by a jump back to it; a
/// name that another one begins with; a line that has no room.
const PROGRAM: &str = r#"
__attribute__((noinline)) int work(int x) { __asm__ volatile("" : "+r"(x)); return x * 3; }
__attribute__((noinline)) int work_more(int x) { __asm__ volatile("" : "+r"(x)); return work(x) + 1; }
static inline __attribute__((always_inline)) int inner(int x) {
    return work(x) + 5;
}
static inline __attribute__((always_inline)) int outer(int x) {
    return inner(x) - work_more(x);
}
__attribute__((noinline)) int by_pointer(int (*f)(int), int x) { return f(x) + 2; }
#line 70000 "far.c"
__attribute__((noinline)) int far(int x) { return outer(x) + by_pointer(work, x); }
void _start(void) { for (;;) far(7); }
"#;

fn build(folder: &Path, text: &str) -> PathBuf {
    fs::write(folder.join("program.c"), PROGRAM).unwrap();
    let image = folder.join("image");
    succeed(
        tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
            .current_dir(folder)
            .args([
                "-g",
                "-O2",
                "-ffreestanding",
                "-nostdlib",
                "-static",
                "-no-pie",
            ])
            .args(["-Wl,--build-id=none", &format!("-Wl,-Ttext={text}")])
            .args(["-o", "image", "program.c"]),
    );
    image
}

fn sframe() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sframe"))
}

/// The command that writes an image's file.
fn make(image: &Path, symt: &Path) -> Command {
    let mut command = sframe();
    command
        .arg("make")
        .arg(image)
        .arg("-o")
        .arg(symt.with_extension("made"));
    command.arg("--symt").arg(symt);
    command
}

/// What a command prints, which must succeed.
fn printed(command: &mut Command) -> String {
    String::from_utf8_lossy(&succeed(command).stdout).into_owned()
}

/// An entry, as the format has it.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    is_start: bool,
    has_more: bool,
    name: String,
    file: String,
    line: u16,
    offset: u16,
}

/// The entries of a file, by address. Nothing of it is left unread.
fn entries(data: &[u8]) -> BTreeMap<u32, Vec<Entry>> {
    let number = |at: usize, bytes: usize| {
        let digits = data[at..at + bytes].iter();
        digits.fold(0, |number, byte| number * 256 + usize::from(*byte))
    };
    assert_eq!(&data[..4], b"SYMT");
    assert_eq!(number(4, 4), 2);
    let [addresses, count, symbols, same, text, length] =
        [8, 12, 16, 20, 24, 28].map(|at| number(at, 4));
    assert_eq!(count, same);
    assert!([addresses, symbols, text].iter().all(|at| at % 16 == 0));
    assert_eq!(text + length, data.len());
    let part = |at: usize, length: usize| {
        assert!(at + length <= data.len() - text);
        String::from_utf8(data[text + at..text + at + length].to_vec()).unwrap()
    };
    let mut entries: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
    let mut before = 0;
    for index in 0..count {
        let entry = number(addresses + 4 * index, 4) as u32;
        let symbol = symbols + 16 * index;
        assert!(entry & !3 >= before, "they ascend");
        before = entry & !3;
        entries.entry(entry & !3).or_default().push(Entry {
            is_start: entry & 1 != 0,
            has_more: entry & 2 != 0,
            name: part(number(symbol, 4), number(symbol + 8, 2)),
            file: part(number(symbol + 4, 4), number(symbol + 10, 2)),
            line: number(symbol + 12, 2) as u16,
            offset: number(symbol + 14, 2) as u16,
        });
    }
    entries
}

/// Functions and calls, from the listing of binutils.
fn listed(image: &Path) -> (BTreeMap<u32, String>, Vec<u32>) {
    let mut objdump = tool("aarch64-linux-gnu-objdump", "binutils-aarch64-linux-gnu");
    let text = printed(objdump.arg("-d").arg(image));
    let (mut functions, mut calls) = (BTreeMap::new(), Vec::new());
    for line in text.lines() {
        let address = |text: &str| u32::from_str_radix(text.trim(), 16).unwrap();
        if let Some((at, name)) = line
            .strip_suffix(">:")
            .and_then(|line| line.split_once(" <"))
        {
            functions.insert(address(at), name.to_owned());
        } else if let Some((at, rest)) = line.split_once(":\t") {
            let mnemonic = rest.split('\t').nth(1).unwrap_or_default();
            if ["bl", "blr"].contains(&mnemonic.trim()) {
                calls.push(address(at));
            }
        }
    }
    (functions, calls)
}

/// What addr2line of binutils says of an address: functions, files without folders, and lines, the innermost first.
fn lines(image: &Path, address: u32) -> Vec<(String, String, u32)> {
    let mut addr2line = tool("aarch64-linux-gnu-addr2line", "binutils-aarch64-linux-gnu");
    let text = printed(
        addr2line
            .args(["-i", "-f", "-s", "-e"])
            .arg(image)
            .arg(format!("{address:#x}")),
    );
    let lines: Vec<&str> = text.lines().collect();
    let pair = |pair: &[&str; 2]| {
        let (file, line) = pair[1].rsplit_once(':').unwrap();
        let line = line.split(' ').next().unwrap().parse().unwrap();
        (pair[0].to_owned(), file.to_owned(), line)
    };
    lines.as_chunks().0.iter().map(pair).collect()
}

#[test]
fn each_function_and_each_call_has_what_debug_information_says() {
    let folder = folder("symt");
    let image = build(&folder, "0x400000");
    let symt = folder.join("image.sym");
    succeed(&mut make(&image, &symt));
    let data = fs::read(&symt).unwrap();
    let entries = entries(&data);

    let (functions, calls) = listed(&image);
    assert!(
        functions.len() >= 5 && calls.len() >= 6,
        "{functions:?} {calls:x?}"
    );
    let mut all: Vec<u32> = functions.keys().copied().chain(calls.clone()).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(entries.keys().copied().collect::<Vec<_>>(), all);

    let mut inlined = 0;
    for (address, found) in &entries {
        let (start, _) = functions.range(..=address).next_back().unwrap();
        let is_start = start == address;
        let groups: Vec<&[Entry]> = found.chunk_by(|before, _| before.has_more).collect();
        assert_eq!(
            groups.len(),
            usize::from(is_start) + usize::from(calls.contains(address))
        );
        let expected = lines(&image, *address);
        for (number, group) in groups.iter().enumerate() {
            let said: Vec<(String, String, u32)> = group
                .iter()
                .map(|entry| {
                    let file = entry.file.rsplit('/').next().unwrap().to_owned();
                    (entry.name.clone(), file, entry.line.into())
                })
                .collect();
            // Line 70,000 has no room.
            let expected: Vec<_> = expected
                .iter()
                .map(|(name, file, line)| {
                    (
                        name.clone(),
                        file.clone(),
                        if *line < 65_536 { *line } else { 0 },
                    )
                })
                .collect();
            assert_eq!(said, expected, "{address:#x}");
            assert!(
                group
                    .iter()
                    .all(|entry| entry.is_start == (is_start && number == 0))
            );
            assert!(
                group
                    .iter()
                    .all(|entry| u32::from(entry.offset) == address - start)
            );
            assert!(!group.last().unwrap().has_more);
            inlined += group.len() - 1;
        }
    }
    assert!(inlined >= 3, "{inlined}");
    assert!(
        entries
            .values()
            .flatten()
            .any(|entry| entry.line == 0 && entry.file.ends_with("far.c"))
    );
    // `work` is the start of `work_more`, and is stored once.
    let count = |name: &[u8]| {
        data.windows(name.len())
            .filter(|part| *part == name)
            .count()
    };
    assert_eq!((count(b"work"), count(b"work_more")), (1, 1));
}

/// Our reader says of every address what the entries are.
#[test]
fn what_is_written_is_looked_up() {
    let folder = folder("symt-lookup");
    let image = build(&folder, "0x400000");
    let symt = folder.join("image.sym");
    succeed(&mut make(&image, &symt));
    let entries = entries(&fs::read(&symt).unwrap());
    let (functions, calls) = listed(&image);
    let lookup = |address: u32| {
        printed(
            sframe()
                .arg("lookup")
                .arg(&symt)
                .arg(format!("{address:x}")),
        )
    };
    for call in &calls {
        let shown = lookup(*call);
        let group = &entries[call];
        assert_eq!(shown.lines().count(), group.len(), "{shown}");
        for (line, entry) in shown.lines().zip(group) {
            let place = match entry.line {
                0 => entry.file.clone(),
                line => format!("{}:{line}", entry.file),
            };
            assert!(
                line.ends_with(&format!("{} at {place}", entry.name)),
                "{line}: {entry:?}"
            );
        }
        // Behind the call nothing is said but the function.
        if !entries.contains_key(&(call + 4)) {
            let (start, name) = functions.range(..=call).next_back().unwrap();
            let expected = format!("{:#x}: {name}+{:#x}\n", call + 4, call + 4 - start);
            assert_eq!(lookup(call + 4), expected);
        }
    }
    let before = sframe()
        .arg("lookup")
        .arg(&symt)
        .arg("3ffffc")
        .output()
        .unwrap();
    assert_eq!(before.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&before.stdout),
        "0x3ffffc: no name\n"
    );

    let dumped = printed(sframe().arg("dump").arg(&symt));
    let count: usize = entries.values().map(Vec::len).sum();
    assert_eq!(dumped.lines().count(), count + 1, "{dumped}");
    for entry in entries.values().flatten() {
        assert!(
            dumped.contains(&format!("+{:#x} {} at ", entry.offset, entry.name)),
            "{dumped}"
        );
    }
}

/// A file whose head or texts lead out of it, and one with a changed byte anywhere: an error or other names, and never a panic.
#[test]
fn damaged_files_are_refused() {
    let folder = folder("symt-damaged");
    let image = build(&folder, "0x400000");
    let symt = folder.join("image.sym");
    succeed(&mut make(&image, &symt));
    let data = fs::read(&symt).unwrap();
    for length in 0..data.len() {
        let cut = linker::symt::Table::parse(&data[..length]);
        assert!(cut.is_err(), "cut off to {length} bytes");
    }
    for at in 0..data.len() {
        for bit in 0..8 {
            let mut changed = data.clone();
            changed[at] ^= 1 << bit;
            let Ok(table) = linker::symt::Table::parse(&changed) else {
                continue;
            };
            let mut out = Vec::new();
            table.dump(&mut out).unwrap();
            for address in [0, 0x40_0000, 0x40_0010, u64::MAX] {
                table.lookup(address, &mut out).unwrap();
            }
        }
    }
    for (at, words) in [
        (7, "version"),
        (8, "addresses"),
        (11, "lower than the previous address"),
        (12, "addresses"),
        (16, "symbols"),
        (24, "text"),
    ] {
        let mut changed = data.clone();
        changed[at] ^= 0x40;
        let error = format!("{:#}", linker::symt::Table::parse(&changed).unwrap_err());
        assert!(error.contains(words), "{at}: {error}");
    }
}

/// An address that the format has no room for is named.
#[test]
fn what_has_no_room_is_refused() {
    let folder = folder("symt-refused");
    let image = build(&folder, "0xffff000040000000");
    let symt = folder.join("image.sym");

    let output = make(&image, &symt).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("cannot write a SYMT file for code at 0xffff00004000"),
        "{error}"
    );
    assert!(!symt.exists());
    // The upper 2 GiB are where the sign says, as on MIPS.
    let image = build(&folder, "0xffffffff80000400");
    succeed(&mut make(&image, &symt));
    assert!(entries(&fs::read(&symt).unwrap()).contains_key(&0x8000_0400));
    let named = printed(sframe().arg("lookup").arg(&symt).arg("ffffffff80000404"));
    assert!(named.starts_with("0xffffffff80000404: work+0x4"), "{named}");
}
