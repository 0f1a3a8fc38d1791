//! Walks on machines of the other byte order: programs for big-endian AArch64 and s390x run in QEMU, instruction by instruction.
//! Between every two, a walk over QEMU's dump of registers and stack is compared with the calls that the machine has made, which
//! are told without any table.

mod machine;
mod program;
mod target;
mod truth;
mod walk;

use linker::sframe::Version;

use machine::Machine;
use program::Program;
use target::{AARCH64, S390X, Target};
use truth::Calls;
use walk::Says;

/// A table to walk by.
struct Table {
    name: &'static str,
    section: walk::Section,
    says: Says,
    /// Boundaries at which a walk by it has found all there is.
    whole: u32,
}

impl Table {
    fn new(name: &'static str, section: walk::Section, says: Says) -> Self {
        Self {
            name,
            section,
            says,
            whole: 0,
        }
    }
}

/// Steps through the program, compiled with each of the target's options.
fn every_list_is_right(target: &Target) {
    for options in target.options {
        let program = Program::compile(target, options);
        let [newer, older] = [Version::V3, Version::V2].map(|version| program.tables(version));
        let mut tables = vec![
            Table::new("version 3", newer, Says::All),
            Table::new("version 2", older, Says::NotAllFunctions),
        ];
        let own = program.own_table();
        tables.extend(own.map(|own| Table::new("version 1, of GNU as", own, Says::NotTheEnd)));
        let mut machine = Machine::start(target, &program);
        let mut calls = Calls::new(&program);
        let mut state = machine.state();
        let (mut boundaries, mut in_registers) = (0, 0);
        while state.pc != program.stack_is_set {
            state = machine.step().expect("the program sets its stack");
        }
        loop {
            let stack = machine.stack(&state);
            let truth = calls.list(&state);
            for table in &mut tables {
                let walked = target.walk(&table.section, &program, &state, &stack);
                let place = || {
                    let Target { name, .. } = target;
                    format!("{name} {options}, {}, at {:#x}", table.name, state.pc)
                };
                let judged = table.says.judge(&walked, &truth, calls.in_first());
                let is_whole = judged.unwrap_or_else(|wrong| panic!("{}: {wrong}", place()));
                table.whole += u32::from(is_whole);
            }
            boundaries += 1;
            in_registers += u32::from(target.saves_in_registers(&tables[0].section, state.pc));
            let Some(next) = machine.step() else { break };
            calls.advance(&state, &next);
            state = next;
        }
        assert!(calls.deepest >= 7, "no call was seen: {}", calls.deepest);
        assert_eq!(
            calls.unseen(),
            Vec::<u64>::new(),
            "functions that did not run"
        );
        assert!(
            target.is_right_share(in_registers),
            "{in_registers} in registers"
        );
        println!(
            "{} {options}: {boundaries} boundaries, at most {} calls, {in_registers} with registers in others",
            target.name, calls.deepest
        );
        for Table { name, whole, .. } in tables {
            println!("    {name}: {whole} lists whole");
            assert!(
                whole * 10 > boundaries * 7,
                "{name}: {whole} of {boundaries}"
            );
        }
    }
}

#[test]
fn aarch64_be() {
    every_list_is_right(&AARCH64);
}

#[test]
fn s390x() {
    every_list_is_right(&S390X);
}
