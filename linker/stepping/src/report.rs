//! Prints the results of programs as a table, and the places behind the numbers.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::lists::Outcome;
use crate::tally::{Sums, Tally};

/// Head of the table.
pub const HEAD: &str = "boundaries  right proven  unproven  WRONG PROVEN  unproven  no row  outside  unknown | traces  complete  LIES  by unproven rows: right  wrong | program";

/// One line of the table.
#[must_use]
pub fn line(name: &str, tally: &Tally) -> String {
    sums(name, &tally.sums(), lists(tally))
}

/// Counts of lists: all, right and wrong by proven rows, right and wrong by others.
#[must_use]
pub fn lists(tally: &Tally) -> [u64; 5] {
    let complete = [(true, true), (false, true), (true, false), (false, false)];
    let [right, lies, doubted, wrong] =
        complete.map(|(is_right, is_proven)| tally.lists(is_right, is_proven));
    [tally.lists.values().sum(), right, lies, doubted, wrong]
}

/// A line of the table for these sums and lists.
#[must_use]
pub fn sums(name: &str, sums: &Sums, lists: [u64; 5]) -> String {
    let Sums {
        right_proven,
        right_unproven,
        wrong_proven,
        wrong_unproven,
        no_row,
        outside,
        unknown,
    } = sums;
    let boundaries = sums.boundaries();
    let [all, right, lies, doubted, wrong] = lists;
    format!(
        "{boundaries:10}  {right_proven:12}  {right_unproven:8}  {wrong_proven:12}  {wrong_unproven:8}  {no_row:6}  {outside:7}  {unknown:7} | {all:6}   {right:8}  {lies:4}  {doubted:23}  {wrong:5} | {name}"
    )
}

/// Wrong rows, lists wrongly called complete, and with `all` the places without a row, with a row that is not proven, and with an unknown truth.
#[must_use]
pub fn places(tally: &Tally, all: bool) -> String {
    let mut text = String::new();
    let mut others: BTreeMap<String, (u64, u64, String)> = BTreeMap::new();
    for ((file, address), (name, site)) in &tally.sites {
        let [outside, no_row, unknown, right, wrong] = site.counts;
        let verdict = site
            .judged
            .as_ref()
            .map_or("", |judged| judged.reason.as_str());
        if let Some((part, example)) = &site.wrong {
            let accepted = if site.is_wrongly_accepted() {
                "WRONG PROVEN"
            } else {
                "wrong unproven"
            };
            let _ = writeln!(
                text,
                "{accepted} {address:#x} {name} {file}: {part:?}, {wrong} of {}; [{verdict}] {example}",
                wrong + right
            );
        }
        let reason = match site.counts {
            _ if no_row > 0 => "no row".to_owned(),
            _ if unknown > 0 => format!("unknown: {:?}", site.unknown),
            _ if outside > 0 => "outside".to_owned(),
            _ if right > 0 && !verdict.is_empty() => {
                format!("the row is right, but unproven: {verdict}")
            }
            _ => continue,
        };
        let other = others.entry(reason).or_default();
        other.0 += no_row + unknown + outside + right;
        other.1 += 1;
        if other.1 <= 12 {
            let cause = site
                .judged
                .as_ref()
                .map(|judged| judged.cause)
                .filter(|cause| cause != address);
            let cause = cause.map_or_else(String::new, |cause| format!(" (from {cause:#x})"));
            let _ = write!(other.2, " {address:#x} {name}{cause};");
        }
    }
    for lie in &tally.lies {
        let _ = writeln!(text, "wrong backtrace called complete: {lie}");
    }
    if all {
        for (reason, (boundaries, places, examples)) in others {
            let _ = writeln!(
                text,
                "{reason}: {boundaries} instruction boundaries at {places} addresses:{examples}"
            );
        }
        let mut reasons: Vec<_> = tally.incomplete.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for ((reason, last), count) in reasons.into_iter().take(12) {
            let _ = writeln!(
                text,
                "{count} backtraces are incomplete: {reason} after frame {last}"
            );
        }
        let incomplete = tally.lists.get(&Outcome::Incomplete).unwrap_or(&0);
        let _ = writeln!(
            text,
            "{incomplete} backtraces are incomplete; the program switched stacks {} times; {}",
            tally.switches, tally.ended
        );
    }
    text
}
