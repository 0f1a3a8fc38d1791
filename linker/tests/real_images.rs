//! The converter on what compilers and linkers really make: every file that is mapped into this very test, which are the
//! test itself (Rust), the C library and the dynamic loader (C and assembly, by GNU tools).
//!
//! Each row of each function is asked from the encoded section with the reader of `unwind`, at its first and its last
//! byte, in PLT entries at every byte, and must lead to the same caller as gimli's row.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::common::oracle::{AARCH64, Machine, S390X, Slice, X86_64};
use crate::common::say;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, Register, RegisterRule, RunTimeEndian,
    UnwindContext, UnwindSection, Vendor,
};
use linker::cfi::Frames;
use linker::image::Image;
use linker::sframe::{Table, compare};
use unwind::sframe::{Abi, Tables};

/// What was asked of one image: functions, addresses of rows, and rows that SFrame has no words for.
#[derive(Debug, Default)]
struct Asked {
    functions: usize,
    addresses: usize,
    left_out: usize,
}

#[test]
#[cfg(target_arch = "x86_64")]
fn every_row_leads_to_the_caller_that_dwarf_leads_to() {
    let mut total = Asked::default();
    for path in mapped_files() {
        let data = fs::read(&path).unwrap();
        let asked = ask(&data);
        say(format_args!("{}: {asked:?}", path.display()));
        total.functions += asked.functions;
        total.addresses += asked.addresses;
        total.left_out += asked.left_out;
    }
    say(format_args!("total: {total:?}"));
    assert!(total.functions > 1000, "{total:?}");
    assert!(total.addresses > 10 * total.functions / 2, "{total:?}");
    // A handful of rows in hand-written functions of the C library.
    assert!(total.left_out * 1000 < total.functions, "{total:?}");
}

/// The same for files of any architecture, those that `SFRAME_IMAGES` names, with `:` between them: see `binaries`.
#[test]
#[ignore = "wants files in SFRAME_IMAGES"]
fn files_that_the_environment_names() {
    let names = std::env::var("SFRAME_IMAGES").expect("SFRAME_IMAGES: files, with : between them");
    for name in names.split(':') {
        let asked = ask(&fs::read(name).unwrap());
        println!("{name}: {asked:?}");
        assert!(asked.addresses > asked.functions, "{asked:?}");
    }
}

/// The executable and its libraries.
fn mapped_files() -> BTreeSet<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let files: BTreeSet<PathBuf> = maps
        .lines()
        .filter(|line| line.contains(" r-xp "))
        .filter_map(|line| Some(PathBuf::from(&line[line.find('/')?..])))
        .collect();
    assert!(files.contains(&std::env::current_exe().unwrap()));
    files
}

fn left_out(frames: &Frames, address: u64) -> bool {
    let mut all = frames.left_out.iter();
    all.any(|left| address.wrapping_sub(left.start) < left.size)
}

/// Compares one image with gimli's reading of its `.eh_frame`.
fn ask(data: &[u8]) -> Asked {
    let image = Image::parse(data).unwrap();
    let mut frames = Frames::of(&image).unwrap();
    let table = Table::new(image.architecture, &mut frames);
    // Wherever the table lies: its starts count from its own address.
    let address = 0x7fff_0000_1230;
    let bytes = table.to_bytes(address);
    assert_eq!(bytes.len(), table.size());
    let tables = Tables::new(&bytes, address);
    let comparison = compare(&tables, &frames.functions);
    assert_eq!(comparison.differences, []);

    let section = image.section(".eh_frame").unwrap().unwrap();
    let (numbers, endian) = match image.architecture.abi() {
        Abi::Amd64 => (X86_64, RunTimeEndian::Little),
        Abi::AArch64Little => (AARCH64, RunTimeEndian::Little),
        Abi::AArch64Big => (AARCH64, RunTimeEndian::Big),
        Abi::S390x => (S390X, RunTimeEndian::Big),
    };
    let mut eh_frame: EhFrame<Slice<'_>> = EhFrame::new(section.data, endian);
    if numbers.ra == AARCH64.ra {
        eh_frame.set_vendor(Vendor::AArch64);
    }
    let bases = BaseAddresses::default().set_eh_frame(section.address);
    let mut context = UnwindContext::new();
    let mut entries = eh_frame.entries(&bases);
    let mut asked = Asked::default();
    while let Some(entry) = entries.next().unwrap() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let fde = partial.parse(EhFrame::cie_from_offset).unwrap();
        asked.functions += 1;
        let mut rows = fde.rows(&eh_frame, &bases, &mut context).unwrap();
        while let Some(row) = rows.next_row().unwrap() {
            if row.end_address() <= row.start_address() {
                continue;
            }
            if left_out(&frames, row.start_address()) {
                asked.left_out += 1;
                continue;
            }
            let last = row.end_address() - 1;
            // An expression may ask for the pc, as that of PLT entries does: then every address is another case.
            let addresses = match row.cfa() {
                CfaRule::Expression(_) => (row.start_address()..=last).collect(),
                CfaRule::RegisterAndOffset { .. } => vec![row.start_address(), last],
            };
            for pc in addresses {
                let machine = Machine { pc, numbers };
                let (_, found) = tables
                    .lookup(pc)
                    .unwrap_or_else(|error| panic!("{pc:#x}: {error}"));
                assert_eq!(
                    machine.by_sframe(&found),
                    machine.by_dwarf(row, &eh_frame, fde.cie().encoding()),
                    "at {pc:#x}: {found:?}, {row:?}",
                );
                // `RA_SIGN_STATE`
                let state = row.register(Register(34));
                let signed = numbers.ra == AARCH64.ra && state == Some(RegisterRule::Constant(1));
                assert_eq!(found.signed, signed, "at {pc:#x}: {row:?}");
                asked.addresses += 1;
            }
        }
    }
    asked
}
