//! What `.eh_frame` says, by gimli.

use gimli::{
    BaseAddresses, CieOrFde, EhFrame, Encoding, EndianSlice, EvaluationResult, Expression,
    FrameDescriptionEntry, LittleEndian, Location, Register, RegisterRule, UnwindContext,
    UnwindSection, UnwindTableRow, Value,
};
use object::{Object, ObjectSection};

use crate::eh_frame::machine::{Caller, FRAME_POINTER, Machine, RETURN_ADDRESS, STACK_POINTER};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The call frame information of a file.
pub struct Dwarf<'a> {
    eh_frame: EhFrame<Slice<'a>>,
    bases: BaseAddresses,
    /// By start; none of them is empty.
    functions: Vec<FrameDescriptionEntry<Slice<'a>>>,
}

/// One function's rules: a row holds from its start to its end.
pub struct Rows(Vec<UnwindTableRow<usize>>);

impl<'a> Dwarf<'a> {
    /// Reads all entries of `.eh_frame`.
    pub fn of(file: &object::File<'a>) -> Self {
        let section = |name| {
            let section = file.section_by_name(name);
            let data = section.as_ref().and_then(|section| section.data().ok());
            (data.unwrap_or(&[]), section.map_or(0, |s| s.address()))
        };
        let (data, address) = section(".eh_frame");
        let bases = BaseAddresses::default()
            .set_eh_frame(address)
            .set_text(section(".text").1)
            .set_got(section(".got").1);
        let mut eh_frame = EhFrame::new(data, LittleEndian);
        eh_frame.set_address_size(8);
        let mut functions = Vec::new();
        let mut entries = eh_frame.entries(&bases);
        while let Some(entry) = entries.next().expect("an entry of .eh_frame") {
            if let CieOrFde::Fde(partial) = entry {
                let function = partial.parse(EhFrame::cie_from_offset);
                let function = function.expect("a function of .eh_frame");
                if function.len() != 0 {
                    functions.push(function);
                }
            }
        }
        functions.sort_by_key(FrameDescriptionEntry::initial_address);
        Self {
            eh_frame,
            bases,
            functions,
        }
    }

    /// How many functions there are.
    pub fn count(&self) -> usize {
        self.functions.len()
    }

    /// A function: start, end, and whether it is a signal frame.
    pub fn function(&self, index: usize) -> (u64, u64, bool) {
        let function = &self.functions[index];
        (
            function.initial_address(),
            function.end_address(),
            function.is_signal_trampoline(),
        )
    }

    /// The index of the function that contains `pc`: of several, the one that starts last.
    pub fn find(&self, pc: u64) -> Option<usize> {
        let after = self
            .functions
            .partition_point(|f| f.initial_address() <= pc);
        // Functions hardly ever overlap, and then by a byte or a few entries.
        let candidates = self.functions.get(after.saturating_sub(8)..after)?;
        let found = candidates.iter().rposition(|f| f.contains(pc))?;
        Some(after.saturating_sub(8) + found)
    }

    /// A function's rows.
    pub fn rows(&self, index: usize) -> Rows {
        let mut context = UnwindContext::new();
        let mut table = self.functions[index]
            .rows(&self.eh_frame, &self.bases, &mut context)
            .expect("the rows of a function");
        let mut rows = Vec::new();
        while let Some(row) = table.next_row().expect("a row of a function") {
            rows.push(row.clone());
        }
        Rows(rows)
    }

    /// What a function that was interrupted at `pc` finds in its caller's registers.
    pub fn caller(&self, rows: &Rows, pc: u64, machine: &Machine) -> Caller {
        let row = rows.0.iter().find(|row| row.contains(pc));
        let row = row.unwrap_or_else(|| panic!("no row for {pc:#x}"));
        let cfa = match row.cfa() {
            gimli::CfaRule::RegisterAndOffset { register, offset } => {
                machine.register(register.0).wrapping_add_signed(*offset)
            }
            gimli::CfaRule::Expression(expression) => {
                let expression = expression.get(&self.eh_frame).expect("an expression");
                evaluate(expression, None, machine)
            }
        };
        let value = |number: u16| match row.register(Register(number)) {
            // Not mentioned: for the frame pointer, kept; a return address is always mentioned.
            None | Some(RegisterRule::SameValue) => Some(machine.register(number)),
            Some(RegisterRule::Undefined) => None,
            Some(RegisterRule::Offset(offset)) => {
                Some(machine.word(cfa.wrapping_add_signed(offset)))
            }
            Some(RegisterRule::ValOffset(offset)) => Some(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::Register(other)) => Some(machine.register(other.0)),
            Some(RegisterRule::Expression(expression)) => {
                let expression = expression.get(&self.eh_frame).expect("an expression");
                Some(machine.word(evaluate(expression, Some(cfa), machine)))
            }
            Some(RegisterRule::ValExpression(expression)) => {
                let expression = expression.get(&self.eh_frame).expect("an expression");
                Some(evaluate(expression, Some(cfa), machine))
            }
            Some(other) => panic!("rule {other:?} at {pc:#x}"),
        };
        match value(RETURN_ADDRESS) {
            Some(return_address) => Caller::Frame {
                stack_pointer: match row.register(Register(STACK_POINTER)) {
                    None => cfa,
                    Some(_) => value(STACK_POINTER).expect("a stack pointer"),
                },
                return_address,
                frame_pointer: value(FRAME_POINTER),
            },
            None => Caller::None,
        }
    }
}

impl Rows {
    /// Where rows start.
    pub fn starts(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(UnwindTableRow::start_address)
    }
}

/// Runs an expression on the machine; rules of registers find the CFA on the stack of the expression.
fn evaluate(expression: Expression<Slice<'_>>, initial: Option<u64>, machine: &Machine) -> u64 {
    let encoding = Encoding {
        address_size: 8,
        format: gimli::Format::Dwarf32,
        version: 4,
    };
    let mut evaluation = expression.evaluation(encoding);
    if let Some(value) = initial {
        evaluation.set_initial_value(value);
    }
    let mut state = evaluation.evaluate().expect("an expression that runs");
    loop {
        state = match state {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                evaluation.resume_with_register(Value::Generic(machine.register(register.0)))
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                assert_eq!(size, 8, "the expression reads part of a word");
                evaluation.resume_with_memory(Value::Generic(machine.word(address)))
            }
            other => panic!("the expression wants {other:?}"),
        }
        .expect("an expression that runs");
    }
    match evaluation.result()[..] {
        [
            gimli::Piece {
                location: Location::Address { address },
                ..
            },
        ] => address,
        ref other => panic!("the expression ends with {other:?}"),
    }
}
