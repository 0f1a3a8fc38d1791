//! What the checker is given: an image's code, what its linker and compiler say of it, and the rows to be judged.

use unwind::sframe::Row;

/// Bytes of an image, loaded.
#[derive(Clone, Debug)]
pub struct Section<'data> {
    /// Address of the first byte.
    pub address: u64,
    /// The bytes, with dynamic relocations applied.
    pub data: std::borrow::Cow<'data, [u8]>,
    /// It is executable.
    pub is_code: bool,
    /// The linker has made the code, to jump to functions of other images (`.plt`): such a jump is taken for a call in the last place.
    pub is_linkage: bool,
}

/// Which instructions code has, where an architecture has two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The only set, or A32.
    Usual,
    /// T32.
    Thumb,
    /// No code.
    Data,
}

/// Code with rows: a function, or a part of one.
#[derive(Clone, Debug)]
pub struct Function<'data> {
    /// Address of the first instruction.
    pub start: u64,
    /// Address after the last one.
    pub end: u64,
    /// Ascending by offset.
    pub rows: &'data [Row],
    /// Entered by an interrupt, exception or signal.
    pub is_trap_code: bool,
    /// The rows describe one block of so many bytes, which is repeated.
    pub block: Option<u8>,
}

/// The extent of a function by the compiler's or the author's word: that of a symbol with a size, or of call frame information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declared {
    /// Address of the first instruction.
    pub start: u64,
    /// Address after the last one.
    pub end: u64,
}

/// Extents, ascending, of which some contain others.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    all: Vec<Declared>,
    /// For each extent: the highest end of it and of those before.
    ends: Vec<u64>,
}

impl From<Vec<Declared>> for Declarations {
    fn from(mut all: Vec<Declared>) -> Self {
        all.sort_unstable();
        all.dedup();
        let mut highest = 0;
        let ends = all.iter().map(|one| {
            highest = one.end.max(highest);
            highest
        });
        let ends = ends.collect();
        Self { all, ends }
    }
}

impl std::ops::Deref for Declarations {
    type Target = [Declared];

    fn deref(&self) -> &[Declared] {
        &self.all
    }
}

impl Declarations {
    /// Those that contain an address, the nearest start first.
    pub fn around(&self, address: u64) -> impl Iterator<Item = Declared> {
        let after = self.all.partition_point(|one| one.start <= address);
        let before = self.all[..after].iter().zip(&self.ends[..after]).rev();
        let before = before.take_while(move |(_, highest)| address < **highest);
        let before = before.map(|(one, _)| *one);
        before.filter(move |one| address < one.end)
    }
}

/// A range of instructions that go on in the same landing pad when they throw, by the image's exception tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LandingPad {
    /// Address of the first one.
    pub start: u64,
    /// Address after the last one.
    pub end: u64,
    /// Address of the landing pad.
    pub pad: u64,
    /// Bytes that the stack pointer is moved up before.
    pub arguments: i32,
}

/// What the checker is given of an image.
#[derive(Clone, Debug, Default)]
pub struct Program<'data> {
    /// Loaded sections, ascending, which do not overlap.
    pub sections: Vec<Section<'data>>,
    /// Where code of another kind begins: ascending. Empty: all code is of the usual kind.
    pub modes: Vec<(u64, Mode)>,
    /// Ranges of code that symbols mark as data among instructions, where [`Program::modes`] is empty: ascending.
    pub marked: Vec<(u64, u64)>,
    /// Code with rows: ascending, without overlaps.
    pub functions: Vec<Function<'data>>,
    /// The addresses of symbols that mark functions, and where those end: ascending. A symbol without a size ends where it starts.
    pub symbols: Declarations,
    /// Extents that a symbol or call frame information declares: ascending. No border that a tool made itself.
    pub declared: Declarations,
    /// The addresses at which extents of call frame information start, ascending.
    pub described: Vec<u64>,
    /// Where call frame information marks trap code: the addresses at which its extents start, ascending.
    pub traps: Vec<u64>,
    /// Addresses of code that words in data hold, with the address of each word: ascending.
    pub taken: Vec<(u64, u64)>,
    /// Where the image is entered.
    pub entry: u64,
    /// Where boot loaders enter the image in a mode whose instructions are others.
    pub other_mode: Vec<u64>,
    /// Where functions go on when a call throws: ascending by the calls.
    pub landing_pads: Vec<LandingPad>,
    /// Bytes below the stack pointer that nothing overwrites in a program of an operating system.
    pub red_zone: i32,
    /// It is a program of an operating system.
    pub is_hosted: bool,
    /// Constants in code are no addresses: it may be loaded anywhere.
    pub is_relocatable: bool,
}

impl Program<'_> {
    /// Whether call frame information that starts at an address marks trap code.
    #[must_use]
    pub fn is_trap(&self, address: u64) -> bool {
        self.traps.binary_search(&address).is_ok()
    }

    /// The section that contains an address.
    #[must_use]
    pub fn section(&self, address: u64) -> Option<&Section<'_>> {
        let after = self.sections.partition_point(|one| one.address <= address);
        let section = self.sections.get(after.checked_sub(1)?)?;
        (address - section.address < section.data.len() as u64).then_some(section)
    }

    /// Where the first section behind an address starts.
    #[must_use]
    pub fn next_section(&self, address: u64) -> Option<u64> {
        let after = self.sections.partition_point(|one| one.address <= address);
        self.sections.get(after).map(|section| section.address)
    }

    /// The address of the instruction that a jump to `address` executes. In T32 code, this is the address without bit 0, which selects T32.
    #[must_use]
    pub fn instruction_at(&self, address: u64) -> u64 {
        let code = address & !1;
        match self.code(code).is_some() && self.mode(code) == Mode::Thumb {
            true => code,
            false => address,
        }
    }

    /// The bytes from an address to the end of its section.
    #[must_use]
    pub fn bytes(&self, address: u64) -> Option<&[u8]> {
        let section = self.section(address)?;
        section.data.get((address - section.address) as usize..)
    }

    /// The code from an address to the end of its section.
    #[must_use]
    pub fn code(&self, address: u64) -> Option<&[u8]> {
        let section = self.section(address).filter(|section| section.is_code)?;
        section.data.get((address - section.address) as usize..)
    }

    /// Which instructions code at an address has.
    #[must_use]
    pub fn mode(&self, address: u64) -> Mode {
        let after = self.modes.partition_point(|(start, _)| *start <= address);
        match after.checked_sub(1) {
            Some(index) => self.modes[index].1,
            None if self.modes.is_empty() => Mode::Usual,
            None => Mode::Data,
        }
    }

    /// The function with rows that contains an address.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<&Function<'_>> {
        let after = self.functions.partition_point(|one| one.start <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (address < function.end).then_some(function)
    }

    /// The row that holds at an address, and its function.
    #[must_use]
    pub fn row(&self, address: u64) -> Option<(&Function<'_>, &Row)> {
        let function = self.function(address)?;
        let mut offset = address - function.start;
        if let Some(block) = function.block.filter(|block| *block > 0) {
            offset %= u64::from(block);
        }
        let after = function
            .rows
            .partition_point(|row| u64::from(row.offset) <= offset);
        Some((function, function.rows.get(after.checked_sub(1)?)?))
    }

    /// Whether a symbol or call frame information declares a function to start at an address. Where rows start does not count: a tool may
    /// have made this border itself.
    #[must_use]
    pub fn is_start(&self, address: u64) -> bool {
        let starts = |all: &[Declared]| all.binary_search_by_key(&address, |one| one.start).is_ok();
        starts(&self.declared) || starts(&self.symbols)
    }

    /// The extent of the function at an address: what symbols, call frame information and rows say, together.
    #[must_use]
    pub fn extent(&self, address: u64) -> Declared {
        let function = self.function(address);
        let mut extent = match function {
            Some(function) => Declared {
                start: function.start,
                end: function.end,
            },
            None => Declared {
                start: address,
                end: address,
            },
        };
        let symbols = self.symbols.around(address).take(1);
        for one in symbols.chain(self.declared.around(address).take(1)) {
            extent.start = extent.start.min(one.start);
            extent.end = extent.end.max(one.end);
        }
        extent
    }

    /// Where the function at an address is declared to end.
    #[must_use]
    pub fn declared_end(&self, address: u64) -> Option<u64> {
        self.declared.around(address).map(|one| one.end).max()
    }

    /// Whether a declared extent starts at an address.
    #[must_use]
    pub fn is_declared_start(&self, address: u64) -> bool {
        let start = self
            .declared
            .binary_search_by_key(&address, |one| one.start);
        start.is_ok()
    }

    /// Whether the code at an address has rows, and is said to have no caller.
    #[must_use]
    pub fn is_outermost(&self, address: u64) -> bool {
        self.row(address).is_some_and(|(_, row)| row.is_outermost())
    }

    /// Whether a declared extent goes on over an address.
    #[must_use]
    pub fn is_inside(&self, address: u64) -> bool {
        self.declared.around(address).any(|one| one.start < address)
    }
}
