//! One module: its code, tables and names.

use core::fmt;

use unwind::sframe::ParseError;
use unwind::symbols::{SymbolTable, SymbolsError};
use unwind::{Code, End, Found, LookupError, Machine, Range, Restored, RowSource, Rule};

use crate::image::Section;
use crate::tables::{self, ImageTables, Outcome, is_without_tables};

/// Where a module lies in memory.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// Its code, which does not overlap other code.
    pub code: Range,
    /// The bytes of `.sframe`, or of a rule map. If they are empty, a walk goes on by frame pointers.
    pub tables: Range,
    /// The bytes of `.symbols`. If they are empty, its functions have no names.
    pub symbols: Range,
}

/// Why modules were not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleError {
    /// A report is being written, or another change made.
    InUse,
    /// There is the registry of modules is full.
    Full,
    /// Its code overlaps that of another module, or is none.
    Overlaps,
    /// Why its tables cannot be used.
    Tables(End),
    /// Why its names cannot be used.
    Symbols(SymbolsError),
    /// Modules were registered in another [`Modules`](crate::Modules) before, the only one that reports know.
    AnotherRegistry,
}

impl fmt::Display for ModuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse => f.write_str("a report or another call uses the modules at this moment"),
            Self::Full => f.write_str("the registry of modules is full"),
            Self::Overlaps => f.write_str("the range of code is empty or overlaps another module"),
            Self::Tables(why) => write!(f, ".sframe: {why}"),
            Self::Symbols(why) => write!(f, ".symbols: {why}"),
            Self::AnotherRegistry => f.write_str("another registry of modules is in use"),
        }
    }
}

impl core::error::Error for ModuleError {}

/// A module whose tables were found to be of use.
#[derive(Clone, Copy)]
pub(crate) struct Loaded {
    code: Section,
    tables: ImageTables<'static>,
    names: Option<SymbolTable<'static>>,
}

impl Loaded {
    /// For room that is not used yet.
    pub(crate) const NOTHING: Self = Self {
        code: Section {
            bytes: &[],
            address: 0,
        },
        tables: tables::none(),
        names: None,
    };

    /// Checks the tables of a module.
    ///
    /// # Safety
    /// The ranges are mapped, readable and constant as long as the result is used.
    pub(crate) unsafe fn new(module: Module) -> Result<Self, ModuleError> {
        // SAFETY: the caller says it.
        let part = |range: Range| unsafe {
            Section::between(range.start as *const u8, range.end as *const u8)
        };
        let is_there = |range: Range| range.start < range.end;
        if !is_there(module.code) {
            return Err(ModuleError::Overlaps);
        }
        let mut loaded = Self {
            code: part(module.code),
            ..Self::NOTHING
        };
        if is_there(module.tables) {
            let tables = part(module.tables);
            let tables = tables::of_module(tables.bytes, tables.address);
            loaded.tables = tables.map_err(ModuleError::Tables)?;
        }
        if is_there(module.symbols) {
            let names = part(module.symbols);
            let names = SymbolTable::parse(names.bytes, names.address);
            loaded.names = Some(names.map_err(ModuleError::Symbols)?);
        }
        Ok(loaded)
    }

    /// Its code, as a walk knows it.
    pub(crate) const fn code(&self) -> Code<'static> {
        Code::new(self.code.bytes, self.code.address)
    }

    /// Whether code at this address is the module's.
    pub(crate) fn holds(&self, address: u64) -> bool {
        (self.code.address..self.code.end()).contains(&address)
    }

    /// The tables, and what verifying them and comparing the code with them finds.
    fn verified(&self) -> (ImageTables<'static>, Outcome) {
        let Section { bytes, address } = self.code;
        let outcome = self.tables.verify_code(bytes, address);
        (self.tables.verified(outcome), outcome)
    }

    /// What verifying its tables, and comparing its code with them, finds; `None` if it has none.
    pub(crate) fn verify(&self) -> Option<Outcome> {
        let (_, outcome) = self.verified();
        (!is_without_tables(&outcome)).then_some(outcome)
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.code.address < other.code.end() && other.code.address < self.code.end()
    }
}

/// The module with code at this address.
fn find(modules: &[Loaded], pc: u64) -> Option<&Loaded> {
    modules.iter().find(|module| module.holds(pc))
}

/// The symbol table of the module with code at this address.
pub(crate) fn names(modules: &[Loaded], pc: u64) -> Option<SymbolTable<'static>> {
    find(modules, pc)?.names
}

/// The code of the module with code at this address.
pub(crate) fn section(modules: &[Loaded], pc: u64) -> Option<Section> {
    Some(find(modules, pc)?.code)
}

/// The rows of an image and of its modules. Those of a module are used for its own code only.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    image: &'a ImageTables<'a>,
    modules: &'a [Loaded],
    /// Why no walk by the modules' rows may be complete.
    damage: Option<End>,
}

impl<'a> Rows<'a> {
    /// Verifies the tables of all modules, and compares their code, as memory may be damaged at any time; the image's were verified.
    #[inline(never)]
    pub(crate) fn new(image: &'a ImageTables<'a>, modules: &'a [Loaded]) -> Self {
        let verified = modules.iter().map(Loaded::verified);
        let damage = verified
            .map(|(tables, _)| tables)
            .find_map(|tables| tables.doubt());
        Self {
            image,
            modules,
            damage,
        }
    }

    fn at(&self, pc: u64) -> &ImageTables<'a> {
        find(self.modules, pc).map_or(self.image, |module| &module.tables)
    }
}

impl RowSource for Rows<'_> {
    fn describes(&self, machine: Machine) -> Result<(), End> {
        match self.image.describes(machine) {
            // Those of modules were found to be of use when they were registered.
            Err(End::NoTables(ParseError::Empty)) if !self.modules.is_empty() => Ok(()),
            outcome => outcome,
        }
    }

    fn look_up(&self, pc: u64, found: &mut Found) -> Result<(), LookupError> {
        self.at(pc).look_up(pc, found)
    }

    fn function(&self, pc: u64) -> Option<Range> {
        self.at(pc).function(pc)
    }

    fn is_one_function(&self, found: &Found, other: u64) -> bool {
        self.at(found.range.start).is_one_function(found, other)
    }

    fn restored(&self, pc: u64, restored: &mut Restored) {
        self.at(pc).restored(pc, restored);
    }

    fn interrupted_link(&self, pc: u64) -> Option<Rule> {
        self.at(pc).interrupted_link(pc)
    }

    fn stack_pointer(&self, pc: u64) -> Option<u64> {
        self.at(pc).stack_pointer(pc)
    }

    fn covers(&self, pc: u64) -> bool {
        self.at(pc).covers(pc)
    }

    fn doubt(&self) -> Option<End> {
        self.image.doubt().or(self.damage)
    }
}
