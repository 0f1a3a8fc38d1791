//! The tables of a program: `.eh_frame` with its `.eh_frame_hdr`, written by gimli, and `.sframe`, made from them by
//! `linker`, so that every peer is asked about the same functions.

use gimli::write::{
    Address, CallFrameInstruction, CommonInformationEntry, EhFrame, EndianVec,
    FrameDescriptionEntry, FrameTable,
};
use gimli::{BaseAddresses, Encoding, Format, LittleEndian, RunTimeEndian, X86_64};
use linker::architecture;
use linker::cfi::Frames;
use linker::map::Map;
use linker::sframe::Table;

use super::program::{Function, Program};
use super::shape::Rules;

/// Functions that share a CIE, as those of a compilation unit do.
const UNIT: usize = 1000;

/// A table and its address.
pub struct Section {
    pub address: u64,
    pub bytes: Vec<u8>,
}

/// Every table of a program.
pub struct Tables {
    pub eh_frame: Section,
    pub eh_frame_hdr: Section,
    pub sframe: Section,
    /// The rule map of the same functions.
    pub map: Section,
}

impl Tables {
    pub fn new(program: &Program) -> Self {
        let (_, end) = program.text();
        // Behind the code, a page apart.
        let after = |end: u64| end.next_multiple_of(0x1000);
        let address = after(end);
        let bytes = eh_frame(program, address);
        let eh_frame = Section { address, bytes };

        let address = after(address + eh_frame.bytes.len() as u64);
        let bytes = eh_frame_hdr(program, &eh_frame, address);
        let eh_frame_hdr = Section { address, bytes };

        let (table, map) = table(&eh_frame);
        let address = after(address + eh_frame_hdr.bytes.len() as u64);
        let bytes = table.to_bytes(address);
        let sframe = Section { address, bytes };

        let address = after(address + sframe.bytes.len() as u64);
        let bytes = map.to_bytes(address);
        Self {
            map: Section { address, bytes },
            sframe,
            eh_frame,
            eh_frame_hdr,
        }
    }
}

fn table(eh_frame: &Section) -> (Table, Map) {
    let bases = BaseAddresses::default().set_eh_frame(eh_frame.address);
    let (bytes, endian) = (&eh_frame.bytes, RunTimeEndian::Little);
    let mut frames = Frames::parse(&architecture::X86_64, bytes, endian, &bases)
        .expect("an .eh_frame that gimli wrote");
    let table = Table::new(&architecture::X86_64, &mut frames);
    assert_eq!(frames.left_out, [], "every function can be described");
    let map = Map::new(&architecture::X86_64, &frames.functions, None);
    (table, map.expect("a map"))
}

fn eh_frame(program: &Program, address: u64) -> Vec<u8> {
    let mut section = EhFrame::from(EndianVec::new(LittleEndian));
    for unit in program.functions().chunks(UNIT) {
        let mut table = FrameTable::default();
        let cie = table.add_cie(cie());
        for function in unit {
            table.add_fde(cie, fde(function, address));
        }
        table.write_eh_frame(&mut section).expect("an .eh_frame");
    }
    let mut bytes = section.0.into_vec();
    // The terminator.
    bytes.extend_from_slice(&[0; 4]);
    bytes
}

/// As compilers write it for x86-64.
fn cie() -> CommonInformationEntry {
    let encoding = Encoding {
        address_size: 8,
        format: Format::Dwarf32,
        version: 1,
    };
    let mut cie = CommonInformationEntry::new(encoding, 1, -8, X86_64::RA);
    cie.fde_address_encoding = gimli::DW_EH_PE_pcrel | gimli::DW_EH_PE_sdata4;
    cie.add_instruction(CallFrameInstruction::Cfa(X86_64::RSP, 8));
    cie.add_instruction(CallFrameInstruction::Offset(X86_64::RA, -8));
    cie
}

fn fde(function: &Function, section: u64) -> FrameDescriptionEntry {
    // gimli counts addresses from the start of the section.
    let start = Address::Constant(function.start.wrapping_sub(section));
    let mut fde = FrameDescriptionEntry::new(start, function.size());
    let mut last = Some(Rules {
        from_fp: false,
        cfa: 8,
        fp: None,
    });
    let (saved_at, saved) = saved_registers(function);
    for (index, row) in function.rows().enumerate() {
        for instruction in change(last, row.rules) {
            fde.add_instruction(row.offset, instruction);
        }
        if index == saved_at {
            for instruction in saved.iter().cloned() {
                fde.add_instruction(row.offset, instruction);
            }
        }
        last = row.rules;
    }
    fde
}

/// What leads from one row to the next, in as few instructions as compilers take.
fn change(from: Option<Rules>, to: Option<Rules>) -> Vec<CallFrameInstruction> {
    let (from, to) = match (from, to) {
        (Some(from), Some(to)) => (from, to),
        (_, None) => return vec![CallFrameInstruction::Undefined(X86_64::RA)],
        (None, Some(_)) => unreachable!("nothing follows the outermost function's row"),
    };
    let mut all = Vec::new();
    let register = if to.from_fp { X86_64::RBP } else { X86_64::RSP };
    match (from.from_fp == to.from_fp, from.cfa == to.cfa) {
        (true, true) => {}
        (true, false) => all.push(CallFrameInstruction::CfaOffset(to.cfa)),
        (false, true) => all.push(CallFrameInstruction::CfaRegister(register)),
        (false, false) => all.push(CallFrameInstruction::Cfa(register, to.cfa)),
    }
    if from.fp != to.fp {
        all.push(match to.fp {
            Some(offset) => CallFrameInstruction::Offset(X86_64::RBP, offset),
            None => CallFrameInstruction::SameValue(X86_64::RBP),
        });
    }
    all
}

/// Where the other registers are saved that the prologue pushed: SFrame leaves that out, `.eh_frame` has it, and its
/// readers pay for it. As LLVM does, all in the first row of the deepest frame; returned with that row's index.
fn saved_registers(function: &Function) -> (usize, Vec<CallFrameInstruction>) {
    let depths: Vec<i32> = function
        .rows()
        .map_while(|row| row.rules.filter(|rules| !rules.from_fp))
        .map(|rules| rules.cfa)
        .collect();
    let deepest = depths.iter().copied().max().unwrap_or(8);
    let at = depths
        .iter()
        .position(|depth| *depth == deepest)
        .unwrap_or(0);
    let fp = function.rows().find_map(|row| row.rules?.fp);
    let registers = [
        X86_64::R15,
        X86_64::R14,
        X86_64::R13,
        X86_64::R12,
        X86_64::RBX,
    ];
    let prologue = depths.get(..=at).unwrap_or_default();
    let pushes = prologue.windows(2).filter(|pair| pair[1] - pair[0] == 8);
    let saved = pushes
        .map(|pair| -pair[1])
        .filter(|offset| Some(*offset) != fp)
        .zip(registers)
        .map(|(offset, register)| CallFrameInstruction::Offset(register, offset))
        .collect();
    (at, saved)
}

/// The search table of `.eh_frame_hdr`: Linux Standard Base, "Exception Frame Header".
fn eh_frame_hdr(program: &Program, eh_frame: &Section, address: u64) -> Vec<u8> {
    let relative = |to: u64, from: u64| (to.wrapping_sub(from) as u32).to_le_bytes();
    let count = program.functions().len() as u32;
    let encodings = [
        gimli::DW_EH_PE_pcrel | gimli::DW_EH_PE_sdata4,
        gimli::DW_EH_PE_udata4,
        gimli::DW_EH_PE_datarel | gimli::DW_EH_PE_sdata4,
    ];
    let mut bytes = vec![1];
    bytes.extend(encodings.map(|encoding| encoding.0));
    bytes.extend(relative(eh_frame.address, address + 4));
    bytes.extend(count.to_le_bytes());
    let mut functions = program.functions().iter();
    let mut at = 0;
    // Entries: length, then the distance back to the CIE, or 0 in a CIE. A length 0 is the end.
    let word = |at: usize| {
        let bytes = &eh_frame.bytes[at..at + 4];
        u32::from_le_bytes(bytes.try_into().expect("4 bytes"))
    };
    while word(at) != 0 {
        if word(at + 4) != 0 {
            let function = functions.next().expect("an FDE for each function");
            bytes.extend(relative(function.start, address));
            bytes.extend(relative(eh_frame.address + at as u64, address));
        }
        at += 4 + word(at) as usize;
    }
    assert!(functions.next().is_none(), "an FDE for each function");
    bytes
}
