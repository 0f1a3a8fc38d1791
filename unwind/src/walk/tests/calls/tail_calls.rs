//! Return addresses behind a call of another function, which leads to this one by jumps.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::{a64_branch, arm, is_complete, is_in_doubt, one_call, text, walk, x86_branch};
use crate::{Code, End, aarch64};

#[test]
fn tail_calls_lead_on() {
    let call = x86_branch(0xe8, 0x1000, 0x2200);
    let to = |opcode, from, to| (from, x86_branch(opcode, from, to));
    // One, by a jump that is taken at times; two; one through a pointer; one by running on; and one from where no table is.
    let cases: [&[(u64, Vec<u8>)]; 7] = [
        &[to(0x84, 0x2210, 0x2100)],
        &[to(0xe9, 0x2210, 0x2320), to(0xe9, 0x2301, 0x2100)],
        &[(0x2230, vec![0xff, 0xe0])],
        // Behind `add rsp, 0x78`.
        &[
            to(0xe9, 0x2210, 0x2100),
            (0x220c, vec![0x48, 0x83, 0xc4, 0x78]),
        ],
        &[to(0xe9, 0x2210, 0x2140), (0x20c0, vec![0xc3])],
        // Behind `mov al, 0xe9`, whose last byte looks like a jump out of all code.
        &[to(0xe9, 0x2210, 0x2100), (0x220e, vec![0xb0, 0xe9])],
        &[to(0xe9, 0x2210, 0x20f8), (0x20f8, vec![0x90; 8])],
    ];
    for (number, jumps) in cases.into_iter().enumerate() {
        let mut all: Vec<(u64, &[u8])> = vec![(0x1000, &call), (0x223f, &[0xc3])];
        all.extend(jumps.iter().map(|(at, bytes)| (*at, &bytes[..])));
        let text = text(&all);
        let code = [Code::new(&text, 0x1000)];
        let walked = one_call(&code, 0x2110, 0x1005);
        if number == 4 {
            // What lies behind the function's end is none of it.
            is_in_doubt(
                &walked,
                &[0x2110, 0x1005],
                End::CalledElsewhere(0x1005, 0x2200),
            );
            continue;
        }
        is_complete(&walked, &[0x2110, 0x1005], Some(0x2200));
        assert_eq!(
            walked.report,
            "   0: 0x0000000000002110 p
        reached by a tail call from 0x0000000000002200
   1: 0x0000000000001005 r
end of backtrace: complete, 2 frames
"
        );
    }
}

/// The bytes before a return address are an indirect call, and read as a direct call of a function that jumps anywhere: which of them ran is
/// not known, so that no tail call is stated.
#[test]
fn a_call_that_may_be_indirect_states_no_tail_call() {
    // call [rax+r13*8+0x12345678], with the displacement that a direct call of 0x2200 has.
    let direct = x86_branch(0xe8, 0x1003, 0x2200);
    let indirect = [&[0x42, 0xff, 0x94][..], &direct].concat();
    let jump: (u64, &[u8]) = (0x2230, &[0xff, 0xe0]);
    let walk = |call: &[u8], jump| {
        let text = text(&[(0x1000, call), (0x223f, &[0xc3]), jump]);
        one_call(&[Code::new(&text, 0x1000)], 0x2110, 0x1008)
    };
    is_complete(&walk(&indirect, jump), &[0x2110, 0x1008], None);
    // Without the bytes of the indirect call it is stated.
    let only_direct = [&[0x90, 0x90, 0x90][..], &direct].concat();
    is_complete(&walk(&only_direct, jump), &[0x2110, 0x1008], Some(0x2200));
    // Without the jump, the function that begins at the direct call's target leaves doubt.
    let doubt = End::CalledElsewhere(0x1008, 0x2200);
    let no_jump: (u64, &[u8]) = (0x2230, &[0x90]);
    is_in_doubt(&walk(&indirect, no_jump), &[0x2110, 0x1008], doubt);
}

/// The search does not leave a function that has an extent and no rows.
#[test]
fn a_function_without_rows_ends_where_it_ends() {
    let call = x86_branch(0xe8, 0x1000, 0x2c00);
    for (jump, found) in [(0x2c08, true), (0x2c10, false)] {
        let text = text(&[(0x1000, &call), (0x2c0f, &[0xc3]), (jump, &[0xff, 0xe0])]);
        let walked = one_call(&[Code::new(&text, 0x1000)], 0x2110, 0x1005);
        assert_eq!(walked.end.is_complete(), found, "{jump:#x}");
    }
}

/// A function whose last call goes through memory does not run on into the next function.
#[test]
fn a_call_through_memory_ends_a_function() {
    let call = x86_branch(0xe8, 0x1000, 0x20c0);
    for (last, found) in [(&[0x90; 6], true), (&[0xff, 0x15, 0, 0, 0, 0], false)] {
        let text = text(&[(0x1000, &call), (0x20fa, last)]);
        let walked = one_call(&[Code::new(&text, 0x1000)], 0x2110, 0x1005);
        assert_eq!(walked.end.is_complete(), found, "{last:x?}");
    }
}

/// A chain of more functions than are searched: not shown, not claimed.
#[test]
fn the_search_has_bounds() {
    for (length, found) in [(7, true), (8, true), (9, false)] {
        let starts: Vec<u64> = (0..length).map(|n| 0x2200 + 0x100 * n).collect();
        let mut all = vec![(0x1000, x86_branch(0xe8, 0x1000, 0x2200))];
        for (n, start) in starts.iter().enumerate() {
            let next = starts.get(n + 1).copied().unwrap_or(0x2100);
            all.push((*start, x86_branch(0xe9, *start, next)));
            all.push((start + 0x3f, vec![0xc3]));
        }
        let all: Vec<(u64, &[u8])> = all.iter().map(|(at, b)| (*at, &b[..])).collect();
        let text = text(&all);
        let walked = one_call(&[Code::new(&text, 0x1000)], 0x2110, 0x1005);
        assert_eq!(walked.end.is_complete(), found, "{length}");
    }
}

#[test]
fn an_arm_leaf_is_reached_by_tail_calls_too() {
    let bl = a64_branch(0x9400_0000, 0x1004, 0x2200);
    let b = a64_branch(0x1400_0000, 0x2208, 0x2300);
    let conditional =
        (0x5400_0000_u32 | (((0x2100_i32 - 0x2310) / 4) << 5) as u32 & 0x00ff_ffe0).to_le_bytes();
    let ret = 0xd65f_03c0_u32.to_le_bytes();
    let whole: [(u64, &[u8]); 5] = [
        (0x1004, &bl),
        (0x2208, &b),
        (0x223c, &ret),
        (0x2310, &conditional),
        (0x233c, &ret),
    ];
    let leaf = |instructions: &[(u64, &[u8])]| {
        let text = text(instructions);
        let registers = aarch64::Registers::new(0x2104, 0x10100, 0, 0x1008);
        walk(&arm(), &[Code::new(&text, 0x1000)], registers, &[])
    };
    is_complete(&leaf(&whole), &[0x2104, 0x1008], Some(0x2200));
    let without_last = leaf(&whole[..3]);
    is_in_doubt(
        &without_last,
        &[0x2104, 0x1008],
        End::CalledElsewhere(0x1008, 0x2200),
    );
    let through_register = 0xd61f_0200_u32.to_le_bytes();
    let indirect = leaf(&[(0x1004, &bl), (0x2208, &through_register)]);
    is_complete(&indirect, &[0x2104, 0x1008], Some(0x2200));
}
