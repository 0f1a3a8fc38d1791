//! What came of several scenarios.

use std::collections::{BTreeMap, BTreeSet};

use super::image::Image;
use super::tally::Tally;

/// The functions of the table in which the machine never was, each with its address.
pub(super) fn unseen(image: &Image, tallies: &[Tally]) -> String {
    let tables = image.tables(&image.table);
    let seen = tallies.iter().flat_map(|tally| &tally.seen);
    let seen: BTreeSet<u64> = seen
        .filter_map(|pc| Some(tables.function_at(*pc)?.start()))
        .collect();
    let functions = tables.first().into_iter();
    let functions = functions.flat_map(|section| section.functions());
    let starts = functions.map(|function| function.start());
    let unseen = starts.filter(|start| !seen.contains(start));
    unseen
        .map(|start| format!("{start:#x} {}\n", image.name(start)))
        .collect()
}

/// The sums of all scenarios, in a line for each number of CPUs.
pub(super) fn totals(image: &Image, tallies: &[Tally]) -> Vec<String> {
    let mut by_cpus: BTreeMap<usize, Vec<&Tally>> = BTreeMap::new();
    for tally in tallies {
        by_cpus.entry(tally.cpus.len()).or_default().push(tally);
    }
    let lines = by_cpus.iter();
    lines
        .map(|(cpus, tallies)| {
            format!(
                "results of all scenarios with CPU count {cpus}: {total}",
                total = total(image, tallies)
            )
        })
        .collect()
}

/// The sums of these.
fn total(image: &Image, tallies: &[&Tally]) -> String {
    let seen: BTreeSet<u64> = tallies
        .iter()
        .flat_map(|tally| tally.seen.iter().copied())
        .collect();
    let tables = image.tables(&image.table);
    let rows: BTreeSet<(u64, u32)> = seen
        .iter()
        .filter_map(|pc| {
            let (function, row) = tables.lookup(*pc).ok()?;
            Some((function.start(), row.offset))
        })
        .collect();
    let functions: BTreeSet<u64> = rows.iter().map(|(function, _)| *function).collect();
    let (all_functions, all_rows) = tables.first().map_or((0, 0), |section| {
        (section.function_count(), section.row_count())
    });
    format!(
        "{comparison}. Distinct instructions reached: {instructions}, functions reached: {functions} of {all_functions}, unwind rows used: {rows} of {all_rows}",
        comparison = counts(tallies),
        instructions = seen.len(),
        functions = functions.len(),
        rows = rows.len(),
    )
}

/// The sums of scenarios of a kernel for 32-bit ARM, each with one CPU.
pub(super) fn of_arm(tallies: &[Tally]) -> String {
    let seen: BTreeSet<u64> = (tallies.iter())
        .flat_map(|tally| tally.seen.iter().copied())
        .collect();
    let tallies: Vec<&Tally> = tallies.iter().collect();
    let (comparison, instructions) = (counts(&tallies), seen.len());
    format!("{comparison}. Distinct instructions reached: {instructions}")
}

fn counts(tallies: &[&Tally]) -> String {
    let sum = |count: fn(&Tally) -> u64| tallies.iter().map(|tally| count(tally)).sum::<u64>();
    format!(
        "scenarios: {scenarios}, backtraces compared: {boundaries}, equal: {equal}, incomplete as expected: {excused}, wrong: {wrong}, incomplete unexpectedly: {unexplained}",
        scenarios = tallies.len(),
        boundaries = sum(|tally| tally.boundaries),
        equal = sum(|tally| tally.equal),
        excused = sum(Tally::excused),
        wrong = sum(|tally| tally.wrong),
        unexplained = sum(|tally| tally.unexplained.values().sum()),
    )
}
