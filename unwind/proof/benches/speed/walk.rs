//! Walks over a stack of 32 frames, again and again: tables, stack and framehop's cache are warm.

use std::hint::black_box;

use crate::common::check;
use crate::common::peers::{Registers, frame_pointer, framehop, orc, sframe};
use crate::common::program::Program;
use crate::common::stack::Stack;
use crate::common::tables::Tables;
use crate::measure::Peer;
use crate::table::Table;

const FRAMES: usize = 32;
/// Walks in one run.
const RUN: usize = 50;

pub fn groups(size: &str) -> [String; 2] {
    [format!("walk-{size}"), format!("walk-fp-{size}")]
}

pub fn measure(table: &mut Table, size: &str, program: &Program, tables: &Tables) {
    // Frames of any function that has no frame record; then frames that all have one, for the bare walk along them.
    for (name, frame_pointers) in groups(size).into_iter().zip([false, true]) {
        let stack = &Stack::new(program, FRAMES, frame_pointers);
        check::walks(program, tables, stack, frame_pointers);
        let ours = sframe::Peer::new(&tables.sframe);
        let map = sframe::Peer::by_map(&tables.map);
        let cached = sframe::Peer::cached(&tables.map);
        let orc = orc::Peer::new(program);
        let text = program.text();
        let mut framehop = framehop::Peer::new(program, tables);
        let mut peers = vec![
            chain("unwind", stack, |registers, found| {
                ours.walk(stack, registers, found);
            }),
            chain("by map", stack, |registers, found| {
                map.walk(stack, registers, found);
            }),
            chain("by map, cached", stack, |registers, found| {
                cached.walk(stack, registers, found);
            }),
            chain("framehop", stack, |registers, found| {
                framehop.walk(stack, registers, found);
            }),
            chain("ORC", stack, |registers, found| {
                orc.walk(stack, registers, found);
            }),
        ];
        if frame_pointers {
            peers.push(chain("frame pointer", stack, |registers, found| {
                frame_pointer::walk(stack, registers, found);
            }));
            peers.push(chain("checked fp", stack, |registers, found| {
                frame_pointer::walk_checked(stack, text, registers, found);
            }));
        }
        table.measure(&name, RUN * FRAMES, peers);
    }
}

/// A peer that walks over and over: the registers of each walk are computed with what the last one found.
fn chain<'a>(
    name: &'static str,
    stack: &'a Stack,
    mut walk: impl FnMut(Registers, &mut dyn FnMut(u64)) + 'a,
) -> Peer<'a> {
    // Nothing of what was found is let through; the processor does not know.
    let mask = black_box(0);
    let (pc, sp, fp) = stack.registers;
    let mut last = 0;
    Peer::new(name, move |_| {
        for _ in 0..RUN {
            let nothing = last & mask;
            let registers = (pc + nothing, sp + nothing, fp + nothing);
            walk(registers, &mut |pc| last = pc);
        }
    })
}
