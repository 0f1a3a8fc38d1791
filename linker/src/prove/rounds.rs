//! Follows all functions of an image in rounds, until the facts that they have of each other reach a fixed point.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rustc_hash::FxHashSet;

use super::block::Spare;
use super::entries::Entries;
use super::isa::Isa;
use super::outcome::Entry;
use super::text::Text;
use super::unit::Unit;
use super::world::{Returns, World};
use crate::architecture::Architecture;
use crate::parallel::in_parts;
use crate::progress::Step;
use crate::reason::Reason;

/// The largest number of rounds. Each follows only functions for which the last one has changed a fact; most images need three, a kernel
/// full of LLVM's outlined functions seventeen, the last ten of which follow a function or two.
/// A fact that is handed on by more functions than that is not known to the last ones, so nothing is said of them.
const MAX_ROUNDS: usize = 40;

/// Functions of at most so many bytes are followed before the others.
const SMALL: u32 = 256;

/// Every function that was followed, by its start.
pub type Units = BTreeMap<u64, Unit>;

/// Follows all functions.
pub fn follow<I: Isa>(
    isa: &I,
    architecture: &'static Architecture,
    text: &Text<'_>,
    entries: Entries,
    world: &mut World,
) -> Units {
    let mut units = Units::new();
    // Functions that never return are mostly small, and called by nearly all others. Following small ones first saves most
    // functions a second round.
    let is_small = |(start, _): &(u64, Entry)| {
        world
            .function_at(*start)
            .is_none_or(|function| function.size <= SMALL)
    };
    let (mut jobs, mut large): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_small);
    let mut rounds = 0;
    // How many jump tables were known when the lengths of unbounded ones were guessed last.
    let mut tables = 0;
    loop {
        if jobs.is_empty() || rounds == MAX_ROUNDS && !large.is_empty() {
            // Small ones that are not finished go on with the large ones.
            jobs.append(&mut large);
            jobs.sort_unstable_by_key(|(start, _)| *start);
            rounds = 0;
        }
        if jobs.is_empty() || rounds == MAX_ROUNDS {
            break;
        }
        rounds += 1;
        let step = Step::new("following the code", jobs.len());
        let weight = |job: &(u64, Entry)| {
            world
                .function_at(job.0)
                .map_or(64, |function| u64::from(function.size))
        };
        let before = &*world;
        let done = in_parts(&mut jobs, weight, |jobs| {
            let spare = Spare::default();
            let follow = |(start, entry): &(u64, Entry)| {
                step.one_more();
                (
                    *start,
                    Unit::follow(isa, architecture, text, before, *start, *entry, &spare),
                )
            };
            jobs.iter().map(follow).collect::<Vec<_>>()
        });
        let mut changed: BTreeSet<u64> = BTreeSet::new();
        // Functions that are now known to return. Kept apart from `changed`: most callers were followed beyond the call anyway.
        let mut returning: BTreeSet<u64> = BTreeSet::new();
        for (start, unit) in done.into_iter().flatten() {
            world.tables.extend(&unit.outcome.tables);
            let returns = match &unit.outcome {
                outcome if outcome.has_return => Returns::Yes,
                outcome if outcome.returns || outcome.problem.is_some() => Returns::Perhaps,
                _ => Returns::No,
            };
            if world.returns(start) != returns {
                match returns {
                    Returns::Yes => returning.insert(start),
                    _ => changed.insert(start),
                };
            }
            world.returning.insert(start, returns);
            let trap_code = trap_code::<I>(&unit, returns);
            if world.trap_code.get(&start).copied() != trap_code {
                changed.insert(start);
                match trap_code {
                    Some(bytes) => world.trap_code.insert(start, bytes),
                    None => world.trap_code.remove(&start),
                };
            }
            if world.effects.get(&start) != unit.outcome.effect.as_ref() {
                changed.insert(start);
                match &unit.outcome.effect {
                    Some(effect) => world.effects.insert(start, effect.clone()),
                    None => world.effects.remove(&start),
                };
            }
            units.insert(start, unit);
        }
        jobs = match large.is_empty() {
            true => {
                if world.tables.len() > tables {
                    let guesses = units.iter().filter(|(_, unit)| unit.outcome.guesses);
                    changed.extend(guesses.map(|(start, _)| *start));
                    tables = world.tables.len();
                }
                next_jobs(isa, text, world, &mut units, &changed, &returning, rounds)
            }
            false => affected(&units, world, &changed, &returning),
        };
    }
    void(&mut units, jobs.into_iter().map(|(start, _)| start));
    units
}

/// Returns how far the interrupt frame is above the stack pointer at the entry, if a function never returns, but ends in an interrupt return. Stubs
/// may call it: then its return address is below the interrupt frame, and perhaps an error code between them.
fn trap_code<I: Isa>(unit: &Unit, returns: Returns) -> Option<i64> {
    if !I::KEEPS_INTERRUPTED_ON_STACK || returns != Returns::No {
        return None;
    }
    match (unit.entry, unit.outcome.interrupt_return) {
        (Entry::Call, Some((_, bytes @ (8 | 16)))) => Some(bytes),
        (Entry::Interrupt(bytes @ (8 | 16)), _) => Some(bytes.into()),
        _ => None,
    }
}

/// Makes the results about unfinished functions void, and those about all functions that know a fact of such a one, directly or
/// through others: with the right facts they might be others.
fn void(units: &mut Units, unfinished: impl Iterator<Item = u64>) {
    let mut unfinished: Vec<u64> = unfinished.collect();
    if unfinished.is_empty() {
        return;
    }
    let mut users: HashMap<u64, Vec<u64>> = HashMap::new();
    for (start, unit) in units.iter() {
        // `relies_on` and `stops_at` are among the calls.
        let outcome = &unit.outcome;
        let calls = outcome.calls.iter().chain(&outcome.enters);
        for of in calls.chain(&outcome.tail_calls) {
            users.entry(*of).or_default().push(*start);
        }
    }
    while let Some(start) = unfinished.pop() {
        if let Some(unit) = units.get_mut(&start) {
            unit.void(Reason::TooMuch);
        }
        // Taken out, so that none comes twice.
        unfinished.extend(users.remove(&start).unwrap_or_default());
    }
}

/// The functions to follow again while only the small ones were followed. New entries are not looked for yet: not all calls
/// are known.
fn affected(
    units: &Units,
    world: &World,
    changed: &BTreeSet<u64>,
    returning: &BTreeSet<u64>,
) -> Vec<(u64, Entry)> {
    let relies = |unit: &Unit| {
        let outcome = &unit.outcome;
        let mut others = outcome.relies_on.iter().chain(&outcome.tail_calls);
        let ends_in = || outcome.tail_calls.iter().any(|to| returning.contains(to));
        let is_trap_code = |to: &u64| changed.contains(to) && world.trap_code.contains_key(to);
        let enters = || outcome.calls.iter().any(is_trap_code);
        enters()
            || others.any(|to| changed.contains(to))
            || outcome.stops_at.iter().any(|to| returning.contains(to))
            || !outcome.has_return && ends_in()
    };
    let units = units.iter().filter(|(_, unit)| relies(unit));
    units.map(|(start, unit)| (*start, unit.entry)).collect()
}

/// The functions to follow again, and newly found ones.
fn next_jobs<I: Isa>(
    isa: &I,
    text: &Text<'_>,
    world: &mut World,
    units: &mut Units,
    changed: &BTreeSet<u64>,
    returning: &BTreeSet<u64>,
    round: usize,
) -> Vec<(u64, Entry)> {
    let mut jobs: HashMap<u64, Entry> = HashMap::new();
    let called: FxHashSet<u64> = units
        .values()
        .flat_map(|unit| unit.outcome.calls.iter().copied())
        .collect();
    let entered: FxHashSet<u64> = units
        .values()
        .flat_map(|unit| unit.outcome.enters.iter().copied())
        .collect();
    let jumped: FxHashSet<u64> = units
        .values()
        .flat_map(|unit| unit.outcome.tail_calls.iter().chain(&unit.outcome.intrudes))
        .copied()
        .collect();
    // Callees that were not known to be functions.
    for address in &called {
        let known = units.contains_key(address) || text.code_at(*address).is_none();
        let is_plt = world
            .function_at(*address)
            .is_some_and(|function| function.block.is_some());
        if !known && !is_plt && world.entries.insert(*address) {
            jobs.insert(*address, Entry::Call);
        }
    }
    let may_return_now = |to: &u64| {
        (returning.contains(to) || changed.contains(to)) && world.returns(*to) != Returns::No
    };
    for (start, unit) in units.iter() {
        let outcome = &unit.outcome;
        let again = outcome.guesses && changed.contains(start)
            || outcome.relies_on.iter().any(|to| changed.contains(to))
            || outcome
                .calls
                .iter()
                .any(|to| changed.contains(to) && world.is_special(*to))
            || outcome.enters.iter().any(|to| changed.contains(to))
            || outcome
                .tail_calls
                .iter()
                .chain(&outcome.intrudes)
                .any(|to| changed.contains(to))
            || outcome.stops_at.iter().any(may_return_now)
            || !outcome.has_return && outcome.tail_calls.iter().any(|to| returning.contains(to));
        let entry = match (unit.entry, outcome.interrupt_return) {
            // A function that ends in an interrupt return, with 0 or 8 bytes of error code below, is an interrupt handler.
            (Entry::Call, Some((_, code @ (0 | 8))))
                if !called.contains(start) && I::KEEPS_INTERRUPTED_ON_STACK =>
            {
                Entry::Interrupt(code as u8)
            }
            // Stubs call it, and nothing else does.
            (Entry::Call, Some((_, bytes @ (8 | 16))))
                if entered.contains(start) && !called.contains(start) =>
            {
                Entry::Interrupt(bytes as u8)
            }
            (Entry::Call, None) if !outcome.returns && !called.contains(start) => {
                let by_code = || isa.interrupt_handler(text.code_at(*start)?);
                let can_be = I::KEEPS_INTERRUPTED_ON_STACK && !jumped.contains(start);
                let by_row = || world.error_code(*start).filter(|_| can_be);
                let code = by_code().or_else(by_row);
                code.map_or(unit.entry, Entry::Interrupt)
            }
            (entry, _) => entry,
        };
        if again || entry != unit.entry {
            jobs.insert(*start, entry);
        }
    }
    // Only when no other facts change: code that seems to be jumped to from the middle of another function may follow a call
    // that does not return.
    if jobs.is_empty() || round >= MAX_ROUNDS / 2 {
        for start in without_pieces(world, units, &called) {
            jobs.entry(start).or_insert_with(|| units[&start].entry);
        }
        jobs.retain(|start, _| world.entries.contains(start));
    }
    let mut jobs: Vec<_> = jobs.into_iter().collect();
    jobs.sort_unstable_by_key(|(start, _)| *start);
    jobs
}

/// Removes entries that are never called, if a jump or the code before leads there with a frame on the stack. Such an entry is a part of the
/// function that leads there. Returns these functions, which must be followed again.
fn without_pieces(world: &mut World, units: &mut Units, called: &FxHashSet<u64>) -> Vec<u64> {
    let mut intruded: BTreeSet<u64> = units
        .values()
        .flat_map(|unit| unit.outcome.intrudes.iter().copied())
        .collect();
    // What follows a call may also be a function, if the call does not return after all.
    let runs_into = units
        .values()
        .flat_map(|unit| unit.outcome.runs_into.iter());
    let parts = runs_into.filter(|to| units.get(to).is_some_and(is_part));
    intruded.extend(parts.copied());
    let mut pieces = BTreeSet::new();
    for address in intruded {
        let is_declared = matches!(
            units.get(&address).map(|unit| unit.entry),
            Some(Entry::Declared(_))
        );
        if !called.contains(&address) && !is_declared && world.entries.remove(&address) {
            units.remove(&address);
            pieces.insert(address);
        }
    }
    let jumps_there = |unit: &Unit| {
        let outcome = &unit.outcome;
        let jumps = outcome.tail_calls.iter().chain(&outcome.intrudes);
        let mut ways = jumps.chain(&outcome.runs_into);
        ways.any(|to| pieces.contains(to))
    };
    let jumping = units.iter().filter(|(_, unit)| jumps_there(unit));
    jumping.map(|(start, _)| *start).collect()
}

/// Whether code that was followed as a function needs a stack that no call and no interrupt leaves: it is a part of another function.
fn is_part(unit: &Unit) -> bool {
    let outcome = &unit.outcome;
    unit.entry == Entry::Call
        && (matches!(outcome.problem, Some(Reason::Unbalanced(_)))
            || outcome.interrupt_return.is_some()
            || !outcome.intrudes.is_empty())
}
