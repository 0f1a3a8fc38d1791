//! One program for each rule of the checker: it breaks that rule alone, so that a row that does not follow is refused, and the row that
//! does is accepted. The files `encodings_*` have programs for instructions of one set.

#[path = "rules/beliefs.rs"]
mod beliefs;
#[path = "rules/beliefs_arms.rs"]
mod beliefs_arms;
#[path = "rules/calls.rs"]
mod calls;
#[path = "rules/computed.rs"]
mod computed;
#[path = "rules/constants.rs"]
mod constants;
#[path = "rules/edges.rs"]
mod edges;
#[path = "rules/encodings_a64.rs"]
mod encodings_a64;
#[path = "rules/encodings_arm.rs"]
mod encodings_arm;
#[path = "rules/encodings_x86.rs"]
mod encodings_x86;
#[path = "rules/entries.rs"]
mod entries;
#[path = "rules/jumps.rs"]
mod jumps;
#[path = "rules/kept.rs"]
mod kept;
#[path = "rules/meets.rs"]
mod meets;
#[path = "rules/notation.rs"]
mod notation;
#[path = "rules/others.rs"]
mod others;
#[path = "rules/reaching.rs"]
mod reaching;
#[path = "rules/returned.rs"]
mod returned;
#[path = "rules/runs.rs"]
mod runs;
#[path = "rules/signals.rs"]
mod signals;
#[path = "rules/stores.rs"]
mod stores;
#[path = "rules/straight.rs"]
mod straight;
#[path = "rules/stubs.rs"]
mod stubs;
#[path = "rules/support.rs"]
mod support;
#[path = "rules/switches.rs"]
mod switches;
#[path = "rules/system_calls.rs"]
mod system_calls;
#[path = "rules/tables.rs"]
mod tables;
#[path = "rules/tables_elsewhere.rs"]
mod tables_elsewhere;
#[path = "rules/traps.rs"]
mod traps;
#[path = "rules/vectors.rs"]
mod vectors;
