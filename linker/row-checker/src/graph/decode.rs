//! Decodes the instructions of an image.

use super::{Constant, Graph, Node, OUT};
use crate::architecture::{Architecture, VectorTable, is_set_by};
use crate::instruction::{Effect, Flow, Instruction};
use crate::program::{Program, Section};

impl Graph {
    /// Decodes every function with rows or a symbol, and what they lead to.
    #[must_use]
    pub fn of(program: &Program<'_>, architecture: &dyn Architecture) -> Self {
        let unit = architecture.convention().unit;
        let mut found: Vec<(u64, Instruction)> = Vec::new();
        let mut numbers: Vec<(u64, Vec<u32>)> = program
            .sections
            .iter()
            .filter(|section| section.is_code)
            .map(|section: &Section<'_>| {
                (
                    section.address,
                    vec![OUT; section.data.len().div_ceil(unit as usize)],
                )
            })
            .collect();
        for start in border_bytes(program, architecture, unit) {
            if let Some(place) = place(&mut numbers, unit, start) {
                *place = found.len() as u32;
                found.push((start, Instruction::border()));
            }
        }
        let mut decode = |at: u64, found: &mut Vec<(u64, Instruction)>| -> Option<(u32, bool)> {
            let place = place(&mut numbers, unit, at)?;
            if *place != OUT {
                return Some((*place, false));
            }
            let instruction = architecture.decode(program, at)?;
            *place = found.len() as u32;
            found.push((at, instruction));
            Some((*place, true))
        };
        let mut work: Vec<u64> = Vec::new();
        let functions = program.functions.iter().map(|one| (one.start, one.end));
        let symbols = program.symbols.iter().map(|one| (one.start, one.end));
        for (start, end) in functions.chain(symbols) {
            let mut at = start;
            while at < end {
                match decode(at, &mut found) {
                    Some((number, is_new)) => {
                        let instruction = &found[number as usize].1;
                        if is_new {
                            work.extend(leads_to(at, instruction));
                        }
                        at += u64::from(instruction.length);
                    }
                    None if program.code(at).is_some() => at += unit,
                    // Declared extents may reach beyond the code.
                    None => match program.next_section(at) {
                        Some(next) => at = next,
                        None => break,
                    },
                }
            }
        }
        let taken = program.taken.iter().map(|(address, _)| *address);
        work.extend(taken.filter(|address| {
            program
                .section(*address)
                .is_some_and(|section| section.is_code)
        }));
        work.push(program.entry);
        work.extend(program.landing_pads.iter().map(|pad| pad.pad));
        let mut follow = |mut work: Vec<u64>, found: &mut Vec<(u64, Instruction)>| {
            while let Some(at) = work.pop() {
                if let Some((number, true)) = decode(at, found) {
                    work.extend(leads_to(at, &found[number as usize].1));
                }
            }
        };
        follow(work, &mut found);
        follow(slots(program, architecture, &found), &mut found);
        Self::sorted(found, numbers, unit)
    }

    fn sorted(
        mut found: Vec<(u64, Instruction)>,
        mut numbers: Vec<(u64, Vec<u32>)>,
        unit: u64,
    ) -> Self {
        // The places in `numbers` ascend with the addresses.
        let places = numbers.iter_mut().flat_map(|(_, places)| places);
        let places = places.filter(|place| **place != OUT);
        let mut sorted: Vec<(u64, Instruction)> = Vec::with_capacity(found.len());
        for place in places {
            let (at, instruction) = &mut found[*place as usize];
            let empty = Instruction::nothing(0);
            *place = sorted.len() as u32;
            sorted.push((*at, std::mem::replace(instruction, empty)));
        }
        let mut graph = Self {
            numbers,
            unit,
            is_changed: true,
            ..Self::default()
        };
        for (at, instruction) in sorted {
            let first = graph.effects.len() as u32;
            let count = instruction.effects.len() as u8;
            graph.effects.extend(instruction.effects);
            let is_direct = matches!(instruction.flow, Flow::Jump | Flow::Branch | Flow::Call);
            graph.nodes.push(Node {
                at,
                length: instruction.length,
                flow: instruction.flow,
                is_conditional: instruction.is_conditional,
                condition: instruction.condition,
                keeps_flags: instruction.keeps_flags,
                may_name: instruction.may_name,
                is_padding: instruction.is_padding,
                constant: Constant::No,
                is_not_equal: instruction.is_not_equal,
                next: graph.at(at + u64::from(instruction.length)).unwrap_or(OUT),
                target: graph
                    .at(instruction.target)
                    .filter(|_| is_direct)
                    .unwrap_or(OUT),
                effects: (first, count),
                has_more: false,
            });
        }
        graph
    }
}

/// Instructions before the system call that returns from a signal, at most.
const STRAIGHT: usize = 4;

/// Where call frame information of trap code starts one byte before code that returns from a signal. A handler's return address is the start of this
/// code, and the byte before the return address has to be in the same function. The byte is a part of the padding.
fn border_bytes<'a>(
    program: &'a Program<'_>,
    architecture: &'a dyn Architecture,
    unit: u64,
) -> impl Iterator<Item = u64> + use<'a> {
    let returns = |effect: &Effect| matches!(effect, Effect::SystemCall(calls) if !calls.signal_returns.is_empty());
    let is_border = move |start: &u64| {
        let mut at = start.wrapping_add(1);
        for _ in 0..=STRAIGHT {
            let Some(one) = architecture.decode(program, at) else {
                return false;
            };
            if one.effects.iter().any(returns) {
                return true;
            }
            if one.flow != Flow::Next {
                return false;
            }
            at = at.wrapping_add(one.length.into());
        }
        false
    };
    let starts = program.traps.iter().copied();
    let starts = starts.filter(move |start| unit == 1 && program.is_hosted && is_border(start));
    starts.filter(move |start| ends_padding(program, architecture, *start))
}

/// Whether a byte is the last one of an instruction that is padding, after the end of the function before it.
fn ends_padding(program: &Program<'_>, architecture: &dyn Architecture, byte: u64) -> bool {
    let ends = program.declared.iter().map(|one| one.end);
    let mut at = ends.filter(|end| *end <= byte).max().unwrap_or(byte);
    while at <= byte {
        match architecture.decode(program, at) {
            Some(one) if one.is_padding => at = at.wrapping_add(one.length.into()),
            _ => return false,
        }
    }
    at == byte.wrapping_add(1)
}

/// The addresses of the slots of what may be vector tables: addresses that the code names, if any of it sets the register for them.
fn slots(
    program: &Program<'_>,
    architecture: &dyn Architecture,
    found: &[(u64, Instruction)],
) -> Vec<u64> {
    let form = architecture.convention().vectors;
    let is_set = |form: &&VectorTable| {
        let mut found = found.iter().map(|(_, one)| one);
        found.any(|one| is_set_by(form.register, one.flow, &one.effects))
    };
    let Some(form) = form.filter(is_set) else {
        return Vec::new();
    };
    let mut all: Vec<u64> = found.iter().map(|(at, _)| *at).collect();
    all.sort_unstable();
    let named = architecture.named(program, &all);
    let tables = named.iter().map(|named| named.address);
    let tables = tables.filter(|table| table.is_multiple_of(form.alignment()));
    tables
        .flat_map(|table| form.slots(table, true).map(|(slot, _)| slot))
        .collect()
}

/// The addresses of the instructions to which control goes from one that was decoded.
fn leads_to(at: u64, instruction: &Instruction) -> impl Iterator<Item = u64> + use<> {
    let flow = instruction.flow;
    let ends = matches!(
        flow,
        Flow::Jump | Flow::IndirectJump | Flow::Return | Flow::TrapReturn | Flow::Unknown
    );
    let goes_on = !ends || instruction.is_conditional;
    let next = goes_on.then_some(at + u64::from(instruction.length));
    let is_direct = matches!(flow, Flow::Jump | Flow::Branch | Flow::Call);
    next.into_iter()
        .chain(is_direct.then_some(instruction.target))
}

fn place(numbers: &mut [(u64, Vec<u32>)], unit: u64, at: u64) -> Option<&mut u32> {
    let after = numbers.partition_point(|(start, _)| *start <= at);
    let (start, numbers) = numbers.get_mut(after.checked_sub(1)?)?;
    let offset = at - *start;
    if !offset.is_multiple_of(unit) {
        return None;
    }
    numbers.get_mut((offset / unit) as usize)
}
