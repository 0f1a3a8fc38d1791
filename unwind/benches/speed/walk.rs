//! Walks over a stack of 32 frames, again and again: tables, stack and framehop's cache are warm.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};

use crate::common::check;
use crate::common::peers::{Registers, frame_pointer, framehop, sframe};
use crate::common::program::Program;
use crate::common::stack::Stack;
use crate::common::tables::Tables;

pub const FRAMES: usize = 32;

pub fn measure(criterion: &mut Criterion, size: &str, program: &Program, tables: &Tables) {
    // Frames of any function that has no frame record; then frames that all have one, for the bare walk along them.
    for (name, frame_pointers) in [("walk", false), ("walk-fp", true)] {
        let stack = Stack::new(program, FRAMES, frame_pointers);
        check::walks(program, tables, &stack, frame_pointers);
        let mut group = criterion.benchmark_group(format!("{name}-{size}"));
        group.throughput(Throughput::Elements(FRAMES as u64));
        let peer = sframe::Peer::new(tables);
        chain(&mut group, "unwind", &stack, |registers, found| {
            peer.walk(&stack, registers, found);
        });
        let mut peer = framehop::Peer::new(program, tables);
        chain(&mut group, "framehop", &stack, |registers, found| {
            peer.walk(&stack, registers, found);
        });
        if frame_pointers {
            chain(&mut group, "frame-pointer", &stack, |registers, found| {
                frame_pointer::walk(&stack, registers, found);
            });
        }
        group.finish();
    }
}

/// Measures `walk`, over and over: the registers of each walk are computed with what the last one found.
fn chain(
    group: &mut BenchmarkGroup<'_, WallTime>,
    peer: &str,
    stack: &Stack,
    mut walk: impl FnMut(Registers, &mut dyn FnMut(u64)),
) {
    // Nothing of what was found is let through; the processor does not know.
    let mask = black_box(0);
    let (pc, sp, fp) = stack.registers;
    let mut last = 0;
    group.bench_function(peer, |bencher| {
        bencher.iter(|| {
            let nothing = last & mask;
            let registers = (pc + nothing, sp + nothing, fp + nothing);
            walk(registers, &mut |pc| last = pc);
        })
    });
}
