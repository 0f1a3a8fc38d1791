//! A module, with code, tables and names.

use core::fmt;

use unwind::sframe::ParseError;
use unwind::symbols::{SymbolTable, SymbolsError};
use unwind::{Code, End, Found, LookupError, Machine, Range, Restored, RowSource, Rule};

use crate::image::Section;
use crate::tables::{self, ImageTables, Outcome, is_without_tables};

/// The addresses of a module that the kernel has loaded.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// The code. It must not overlap other code.
    pub code: Range,
    /// The bytes of `.sframe`, or of a rule map. If the range is empty, a walk through the module uses frame pointers.
    pub tables: Range,
    /// The bytes of `.symbols`. If the range is empty, the module's functions have no names.
    pub symbols: Range,
}

/// The reason why the registered modules were not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleError {
    /// A report is being written, or another change is being made.
    InUse,
    /// The registry has no space for another module.
    Full,
    /// The code overlaps the code of another module, or is empty.
    Overlaps,
    /// The tables cannot be used, for this reason.
    Tables(End),
    /// The names cannot be used, for this reason.
    Symbols(SymbolsError),
    /// Modules were registered in another [`Modules`](crate::Modules) before. Reports use only that registry.
    AnotherRegistry,
}

impl fmt::Display for ModuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse => {
                f.write_str("the module registry is in use by a report or by another call")
            }
            Self::Full => f.write_str("the module registry is full"),
            Self::Overlaps => {
                f.write_str("the code range of the module is empty or overlaps another module")
            }
            Self::Tables(why) => write!(f, ".sframe: {why}"),
            Self::Symbols(why) => write!(f, ".symbols: {why}"),
            Self::AnotherRegistry => {
                f.write_str("modules are already registered in a different registry")
            }
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
    /// The value of unused places in a list.
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
    /// The caller must guarantee that the ranges are mapped, readable and constant as long as the result is used.
    pub(crate) unsafe fn new(module: Module) -> Result<Self, ModuleError> {
        // SAFETY: the caller guarantees it.
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
    /// The reason why no walk that uses the modules' rows is complete.
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
