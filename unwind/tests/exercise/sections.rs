//! What sections say of themselves and of addresses.

use unwind::sframe::{LookupError, Row, Rule, Section, Sections, StartRule, Tables};
use unwind::{Found, Proof, Range, RowSource, Rules};

/// Most functions and rows looked at in one section, so that a header which claims millions stays quick.
const FUNCTIONS: usize = 64;
const ROWS: usize = 256;

/// Parses sections and asks them everything.
pub fn sections(bytes: &[u8], address: u64, pc: u64) {
    verify(bytes, address);
    for rule in [StartRule::FromFlags, StartRule::Section, StartRule::Field] {
        let first = Section::parse_with(bytes, address, rule);
        for (index, found) in Sections::with(bytes, address, rule)
            .take(FUNCTIONS)
            .enumerate()
        {
            // What pads the place before a section is passed.
            assert!(index > 0 || found.is_ok() || first.is_err());
            match found {
                Ok(found) => section(&found, pc),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        as_source(&Tables::with(bytes, address, rule), pc);
    }
    let mut all = Sections::new(bytes, address);
    let is_found = all.next().is_some_and(|first| first.is_ok());
    assert!(is_found || Section::parse(bytes, address).is_err());
    as_source(&Tables::none(), pc);
}

/// The interface to walks says what the tables say.
fn as_source(tables: &Tables<'_>, pc: u64) {
    let mut found = Found::EMPTY;
    let told = tables.lookup(pc);
    let walks = tables.look_up(pc, &mut found);
    let Range { start, end } = found.range;
    let holds = match end {
        // A damaged function may go on at address 0: its range ends there, its size has 32 bits.
        u64::MAX => pc.wrapping_sub(start) <= u32::MAX.into(),
        _ => start <= pc && pc < end,
    };
    assert!(walks.is_err() || holds, "{start:#x}..{end:#x} for {pc:#x}");
    let verified = tables.verify();
    match (told, walks) {
        (Ok((function, row)), Ok(())) => {
            let (start, size) = (function.start(), function.size());
            let range = Range::new(start, start.saturating_add(size.into()));
            // Where functions are not in the order that the section says, they may find different rows.
            if verified.is_ok() {
                assert_eq!(found.range, range);
                same_row(&found, &row, function.is_signal_frame());
            }
        }
        (told, walks) if verified.is_ok() => assert_eq!(told.err(), walks.err()),
        _ => {}
    }
    if walks.is_ok() {
        proof(tables, &found);
    }
    assert!(tables.lookup(pc).is_err() || tables.function_at(pc).is_some());
    assert_eq!(tables.doubt(), None);
    let covers = tables.covers(pc);
    assert!(tables.look_up(pc, &mut found).is_err() || covers || verified.is_err());
    // Those that cannot be read at all are refused elsewhere.
    let damaged = tables.first().is_ok() && verified.is_err();
    assert_eq!(tables.verified(verified).doubt().is_some(), damaged);
}

/// Checks the proof of a row: unknown if the section contains no proof, proven if its list is empty.
fn proof(tables: &Tables<'_>, found: &Found) {
    let mut sections = tables.sections().flatten();
    if let (Some(section), None) = (sections.next(), sections.next()) {
        match section.unproven_count() {
            None => assert_eq!(found.proof, Proof::Unknown),
            Some(0) => assert_eq!(found.proof, Proof::Proven),
            Some(_) => assert_ne!(found.proof, Proof::Unknown),
        }
        let sizes = [
            section.code_checksums_size(),
            section.interrupted_links_size(),
            section.stack_pointers_size(),
        ];
        assert!(sizes.iter().sum::<usize>() <= section.length());
        let link = section.interrupted_link(found.range.start);
        assert_eq!(link, tables.interrupted_link(found.range.start));
        assert!(link.is_none() || section.interrupted_links_size() > 0);
        let stack_pointer = section.stack_pointer(found.range.start);
        assert_eq!(stack_pointer, tables.stack_pointer(found.range.start));
        assert!(stack_pointer.is_none() || section.stack_pointers_size() > 0);
    }
}

fn same_row(found: &Found, row: &Row, is_trap: bool) {
    let rules = found.rules;
    assert_eq!((rules, found.is_trap), (Rules::from(row), is_trap));
    assert_eq!(
        (rules.cfa(), rules.return_address(), rules.frame_pointer()),
        (row.cfa, row.return_address, row.frame_pointer)
    );
    let again = Rules::new(rules.cfa(), rules.return_address(), rules.frame_pointer());
    let again = again.with_signed(rules.is_signed());
    assert_eq!(again, rules);
    assert_eq!(rules.is_outermost(), row.is_outermost());
}

/// Verifies tables. In sound ones every row can be read, and every function is found by each of its addresses.
fn verify(bytes: &[u8], address: u64) {
    let tables = Tables::new(bytes, address);
    if let Err(damage) = tables.verify() {
        assert!(!damage.to_string().is_empty());
        return;
    }
    for section in tables.sections() {
        let section = section.expect("each was parsed when they were verified");
        for index in 0..section.function_count().min(FUNCTIONS as u32) {
            let function = section.function(index).expect("each was looked at");
            assert_eq!(function.rows().count(), function.row_count() as usize);
            for offset in [0, function.size() / 2, function.size().wrapping_sub(1)] {
                let pc = function.start().wrapping_add(offset.into());
                if offset < function.size() {
                    let found = tables.lookup(pc);
                    let found = found.map_or_else(
                        |error| matches!(error, LookupError::NoRow | LookupError::NoRows { .. }),
                        |(found, _)| found.start() == function.start(),
                    );
                    assert!(found, "{pc:#x}: {:?}", tables.lookup(pc));
                }
            }
        }
    }
}

fn section(section: &Section<'_>, pc: u64) {
    let abi = section.abi();
    let _ = (section.byte_order(), abi.byte_order());
    assert_ne!(abi.stack_pointer(), abi.frame_pointer());
    assert!((1..=3).contains(&section.version()));
    assert!(section.length() >= 28);
    let _ = (
        section.address(),
        section.flags(),
        section.row_count(),
        section.fixed_frame_pointer_offset(),
        section.fixed_return_address_offset(),
        section.moved_by(),
    );
    for function in section.functions().take(FUNCTIONS) {
        let (start, size) = (function.start(), function.size());
        let rows = function.rows().take(ROWS).count();
        assert!(rows <= function.row_count() as usize);
        let _ = (
            function.block_size(),
            function.is_flexible(),
            function.is_pc_mask(),
            function.is_signal_frame(),
            function.uses_key_b(),
        );
        for pc in [start, start.wrapping_add(u64::from(size) / 2), pc] {
            // An unsorted table that says it is sorted may miss, but never answers with a function elsewhere.
            if let Some(found) = section.function_at(pc) {
                assert!(found.contains(pc));
            }
            assert_eq!(function.lookup(pc).ok(), function.row_at(pc));
            if let Some(row) = function.row_at(pc) {
                assert!(!row.is_outermost() || row.return_address == Rule::Undefined);
                let offset = pc.wrapping_sub(start);
                assert!(offset < u64::from(size));
                assert!(u64::from(row.offset) <= offset);
                assert!(row.cfa != Rule::Same);
            }
        }
    }
    let _ = section.lookup(pc);
}
