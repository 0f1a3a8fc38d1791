//! How many cases ended in which way.

use std::collections::BTreeMap;

use unwind::End;

use crate::damage::walk::List;

/// The cases of one kind of damage.
#[derive(Default)]
pub struct Tally {
    pub same: u64,
    pub incomplete: u64,
    /// Wrong lists that can be the truth of another run, by reason.
    pub possible: BTreeMap<&'static str, u64>,
    /// Other wrong lists.
    pub wrong: u64,
    /// Of those: lists with all the right addresses, of which one is called another thing than it is.
    pub right_addresses: u64,
    /// Some of them.
    pub examples: Vec<String>,
}

impl Tally {
    /// Counts a case; `explain` tells why a wrong list is none that damage alone can make.
    pub fn count(
        &mut self,
        list: &List,
        truth: &List,
        case: impl FnOnce() -> String,
        explain: impl FnOnce() -> Result<&'static str, String>,
    ) {
        if !matches!(list.end, End::Complete | End::User(_)) {
            self.incomplete += 1;
        } else if list.places == truth.places {
            self.same += 1;
        } else {
            match explain() {
                Ok(reason) => *self.possible.entry(reason).or_default() += 1,
                Err(reason) => {
                    self.wrong += 1;
                    self.right_addresses += u64::from(list.has_addresses_of(truth));
                    if self.examples.len() < 2 {
                        self.examples.push(format!("{}: {reason}", case()));
                    }
                }
            }
        }
    }

    pub fn print(&self, name: &str, damage: &str) {
        let possible: u64 = self.possible.values().sum();
        let all = self.same + self.incomplete + possible + self.wrong;
        println!(
            "{name}: {damage}: {all} cases, {} complete and right, {} incomplete, {possible} possible, {} wrong",
            self.same, self.incomplete, self.wrong
        );
        for (reason, count) in &self.possible {
            println!("    {count}: {reason}");
        }
        if self.right_addresses > 0 {
            let right = self.right_addresses;
            println!("    {right} of the wrong ones with the right addresses");
        }
        for example in &self.examples {
            println!("    wrong: {example}");
        }
    }
}
