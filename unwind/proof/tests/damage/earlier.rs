//! Lists that were the truth at an earlier moment of the same run. A wild stack pointer can lead to words that calls have left below the
//! stack and that nothing has overwritten since. If they are a whole chain of calls, a walk cannot notice that these have returned.
//! Whether it is so is not guessed from the words: the machine boots again, and gdb compares each entry of the list's first function.

use qemu::machine::{Arch, Boot};

use crate::damage::capture::Situation;
use crate::damage::history::History;
use crate::damage::walk::List;
use crate::support::{built, gdb};

/// What must hold when a function is entered, so that a list is the one of its callers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The function's first instruction.
    function: u64,
    sp: u64,
    return_address: u64,
    /// All words that the walk has read of the callers' frames: address and value.
    words: Vec<(u64, u64)>,
}

impl Moment {
    /// The moment of a list, for which the walk has read these words; or why there is none.
    pub fn of(
        situation: &Situation,
        history: &History,
        list: &List,
        reads: &[u64],
    ) -> Result<Self, &'static str> {
        let [first, caller, ..] = &list.places[..] else {
            return Err("it has no caller");
        };
        let cfa = list.cfas[0].ok_or("its first frame has no address")?;
        let (function, _) = history
            .function(first.lookup_pc())
            .ok_or("it does not begin in a function")?;
        // x86-64 has pushed the return address, AArch64 has it in x30.
        let sp = match situation.arch {
            Arch::X86_64 => cfa - 8,
            Arch::Aarch64 => cfa,
        };
        let own_stack = situation.stacks.iter().find(|range| range.holds(sp, 8));
        let own_stack = own_stack.ok_or("its first frame is on no stack")?;
        // The function itself has written what is below.
        let of_callers = |address: u64| address >= sp || !own_stack.holds(address, 8);
        let mut words: Vec<_> = reads
            .iter()
            .filter(|address| of_callers(**address))
            .map(|address| (*address, situation.word(*address)))
            .collect();
        if situation.arch == Arch::X86_64 {
            words.push((sp, caller.pc));
        }
        words.sort_unstable();
        words.dedup();
        Ok(Self {
            function,
            sp,
            return_address: caller.pc,
            words,
        })
    }

    /// The moment with another return address, which was never there.
    fn other(&self) -> Self {
        let mut other = self.clone();
        other.return_address += 1;
        for (address, value) in &mut other.words {
            *value += u64::from(*address == self.sp);
        }
        other
    }

    /// A condition for gdb at the function's first instruction.
    fn condition(&self, arch: Arch) -> String {
        let mut condition = match arch {
            Arch::X86_64 => format!("$rsp == {:#x}", self.sp),
            Arch::Aarch64 => format!(
                "$sp == {:#x} && $x30 == {:#x}",
                self.sp, self.return_address
            ),
        };
        for (address, value) in &self.words {
            condition += &format!(" && *(unsigned long *){address:#x} == {value:#x}");
        }
        condition
    }
}

/// Fails unless each of these lists was the truth at a moment before the situation: the machine boots again, up to there.
///
/// The situation's own list, `truth`, must be found in the same way, and must not be found with another return address.
pub fn expect_all(situation: &Situation, truth: Moment, moments: &[(Moment, String)]) {
    let lie = truth.other();
    let all: Vec<_> = [&truth, &lie]
        .into_iter()
        .chain(moments.iter().map(|(moment, _)| moment))
        .collect();
    let mut commands = vec!["set language c".to_owned()];
    for (index, moment) in all.iter().enumerate() {
        let function = moment.function;
        commands.push(format!("dprintf *{function:#x},\"moment {index} was\\n\""));
        let condition = moment.condition(situation.arch);
        commands.push(format!("condition {} {condition}", index + 1));
    }
    commands.push(format!("break *{:#x}", situation.stop));
    commands.extend(["continue", "kill"].map(String::from));
    let image = built::image(situation.kernel);
    let boot = Boot::new(situation.arch, &image, &situation.scenario);
    let session = gdb::session(boot, commands);
    let (said, complained) = (&session.said, &session.complained);
    let stopped = format!("Breakpoint {}, ", all.len() + 1);
    assert!(said.contains(&stopped), "no stop:\n{said}\n{complained}");
    let was = |index: usize| {
        said.lines()
            .any(|line| line == format!("moment {index} was"))
    };
    assert!(was(0), "the truth was not found:\n{said}\n{complained}");
    assert!(!was(1), "a list was found that never was:\n{said}");
    for (index, (moment, list)) in moments.iter().enumerate() {
        assert!(
            was(index + 2),
            "{}: {list} was never the list of callers: {moment:x?}\n{complained}",
            situation.name
        );
    }
}
