//! Code that comes and goes: object files that a kernel loads, and code that it generates.
//!
//! There are two copies of a list. Reports read the copy that is shown: see `turns.rs`.

use core::cell::UnsafeCell;
use core::fmt;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use unwind::Code;

use crate::module::{Loaded, Module, ModuleError};
use crate::turns::Turns;

/// The registry that reports use: the first in which a module was registered. No other registry uses its memory.
static KNOWN: AtomicPtr<Modules> = AtomicPtr::new(null_mut());

/// Memory for the list of up to `N` modules. The list is stored twice.
pub struct Room<const N: usize>([Places<N>; 2]);

struct Places<const N: usize> {
    count: UnsafeCell<usize>,
    code: UnsafeCell<[Code<'static>; N]>,
    modules: UnsafeCell<[Loaded; N]>,
}

// SAFETY: one `Modules` uses it, and writes only to places that nothing else uses, as `Turns` guarantees.
unsafe impl<const N: usize> Sync for Room<N> {}

impl<const N: usize> Room<N> {
    /// Creates memory without modules.
    #[must_use]
    pub const fn new() -> Self {
        Self(
            [const {
                Places {
                    count: UnsafeCell::new(0),
                    code: UnsafeCell::new([Loaded::NOTHING.code(); N]),
                    modules: UnsafeCell::new([Loaded::NOTHING; N]),
                }
            }; 2],
        )
    }
}

impl<const N: usize> Default for Room<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> fmt::Debug for Room<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Room for {N}")
    }
}

/// A [`Places`] of any size.
#[derive(Clone, Copy)]
struct List {
    count: &'static UnsafeCell<usize>,
    code: &'static UnsafeCell<[Code<'static>]>,
    modules: &'static UnsafeCell<[Loaded]>,
}

/// The modules of a kernel, in a static. Reports of [`print`](crate::print) and its variants, and of a [`Postmortem`](crate::Postmortem),
/// use the modules' tables to walk through their code, and name their functions.
///
/// A report takes no lock and never waits for a change, at any point at which it interrupts one. A change never waits for a report.
///
/// ```no_run
/// use postmortem::{Module, Modules, Range, Room};
///
/// static ROOM: Room<16> = Room::new();
/// static MODULES: Modules = Modules::new(&ROOM);
///
/// # fn load() -> [Range; 3] { [Range::new(0, 0); 3] }
/// let [code, tables, symbols] = load();
/// // SAFETY: the memory stays as it is until `remove` has returned `Ok`.
/// let outcome = unsafe { MODULES.register(Module { code, tables, symbols }) };
/// outcome.expect("a free place, and valid tables");
/// // Later, when no code of the module runs any more:
/// while MODULES.remove(code.start).is_err() {
///     core::hint::spin_loop();
/// }
/// ```
pub struct Modules {
    turns: Turns,
    lists: [List; 2],
}

// SAFETY: see `Room`.
unsafe impl Sync for Modules {}

impl fmt::Debug for Modules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modules").finish_non_exhaustive()
    }
}

impl Modules {
    /// Creates a registry that uses the memory `room`, which no other registry may use.
    #[must_use]
    pub const fn new<const N: usize>(room: &'static Room<N>) -> Self {
        let [first, second] = &room.0;
        Self {
            turns: Turns {
                state: AtomicUsize::new(0),
                is_changed: AtomicBool::new(false),
            },
            lists: [List::of(first), List::of(second)],
        }
    }

    /// Registers a module, after a check of its tables.
    ///
    /// # Errors
    /// Returns [`ModuleError::InUse`] if a report is being written or another change is being made: try again later. Returns another error
    /// if the module cannot be used, if the registry is full, or if another registry was used before.
    ///
    /// # Safety
    /// The caller must guarantee that each range is empty, or mapped, readable and constant until [`Self::remove`] has returned `Ok` for an
    /// address of the code.
    pub unsafe fn register(&'static self, module: Module) -> Result<(), ModuleError> {
        // SAFETY: the caller guarantees it.
        let module = unsafe { Loaded::new(module) }?;
        let this = core::ptr::from_ref(self).cast_mut();
        let known = KNOWN.compare_exchange(null_mut(), this, Ordering::AcqRel, Ordering::Acquire);
        if known.is_err_and(|known| known != this) {
            return Err(ModuleError::AnotherRegistry);
        }
        self.change(|shown, room| {
            if shown.iter().any(|other| other.overlaps(&module)) {
                return Err(ModuleError::Overlaps);
            }
            if shown.len() >= room {
                return Err(ModuleError::Full);
            }
            Ok((None, Some(module)))
        })
    }

    /// Removes the module whose code contains `address`. After `Ok`, no report reads the module, and its memory can be reused. If no module
    /// contains the address, the result is `Ok`, too.
    ///
    /// # Errors
    /// Returns [`ModuleError::InUse`] if a report that may read the module is being written, or if another change is being made. Call it
    /// again later: reports that begin meanwhile may already be without the module.
    ///
    /// ```no_run
    /// # fn unload(MODULES: &'static postmortem::Modules, code: postmortem::Range) {
    /// if MODULES.remove(code.start).is_ok() {
    ///     // The memory of the module can be freed.
    /// }
    /// # }
    /// ```
    pub fn remove(&'static self, address: u64) -> Result<(), ModuleError> {
        if !core::ptr::eq(KNOWN.load(Ordering::Acquire), self) {
            // Nothing was registered here.
            return Ok(());
        }
        self.change(|_, _| Ok((Some(address), None)))
    }

    /// Replaces the list: without the module that has an address, and with a further module. `plan` returns both, from the current modules
    /// and the largest number of modules. If a module is to be removed, a reader of the list is an error.
    fn change(
        &self,
        plan: impl FnOnce(&[Loaded], usize) -> Result<(Option<u64>, Option<Loaded>), ModuleError>,
    ) -> Result<(), ModuleError> {
        if !self.turns.begin() {
            return Err(ModuleError::InUse);
        }
        let outcome = self.change_alone(plan);
        self.turns.end();
        outcome
    }

    fn change_alone(
        &self,
        plan: impl FnOnce(&[Loaded], usize) -> Result<(Option<u64>, Option<Loaded>), ModuleError>,
    ) -> Result<(), ModuleError> {
        let list = self.list(self.turns.shown());
        // SAFETY: nothing writes to the list that is shown; only a change writes to lists, and this is the only change.
        let shown = unsafe { list.modules() };
        let (without, with) = plan(shown, list.room())?;
        let goes = |module: &Loaded| without.is_some_and(|address| module.holds(address));
        if with.is_some() || shown.iter().any(goes) {
            let unused = self.turns.unused().ok_or(ModuleError::InUse)?;
            let stays = shown.iter().filter(|module| !goes(module)).copied();
            // SAFETY: `Turns` guarantees that nothing uses this list until it is shown.
            unsafe { self.list(unused).fill(stays.chain(with)) };
            self.turns.show_other();
        }
        match without {
            Some(_) => self.turns.unused().map(|_| ()).ok_or(ModuleError::InUse),
            None => Ok(()),
        }
    }

    fn list(&self, copy: usize) -> List {
        let [first, second] = self.lists;
        if copy == 0 { first } else { second }
    }
}

impl List {
    const fn of<const N: usize>(places: &'static Places<N>) -> Self {
        Self {
            count: &places.count,
            code: &places.code,
            modules: &places.modules,
        }
    }

    /// The largest number of modules.
    const fn room(self) -> usize {
        self.modules.get().len()
    }

    /// The modules of the list.
    ///
    /// # Safety
    /// The caller must guarantee that nothing writes to the list.
    unsafe fn modules(self) -> &'static [Loaded] {
        // SAFETY: the caller guarantees it.
        let (all, count) = unsafe { (&*self.modules.get(), *self.count.get()) };
        all.get(..count).unwrap_or_default()
    }

    /// The code of the same modules.
    ///
    /// # Safety
    /// The caller must guarantee that nothing writes to the list.
    unsafe fn code(self) -> &'static [Code<'static>] {
        // SAFETY: the caller guarantees it.
        let (all, count) = unsafe { (&*self.code.get(), *self.count.get()) };
        all.get(..count).unwrap_or_default()
    }

    /// Stores these modules in the list.
    ///
    /// # Safety
    /// The caller must guarantee that nothing else uses the list.
    unsafe fn fill(self, modules: impl Iterator<Item = Loaded>) {
        // SAFETY: the caller guarantees it.
        let (all, code, count) = unsafe {
            (
                &mut *self.modules.get(),
                &mut *self.code.get(),
                &mut *self.count.get(),
            )
        };
        *count = 0;
        for ((place, code), module) in all.iter_mut().zip(code).zip(modules) {
            *code = module.code();
            *place = module;
            *count = count.saturating_add(1);
        }
    }
}

/// A snapshot of the registered modules, taken when a report begins. They cannot be removed until it is dropped.
pub(crate) struct Reading {
    modules: &'static Modules,
    list: List,
}

impl Reading {
    /// The modules of the kernel, if there are any.
    pub(crate) fn begin() -> Option<Self> {
        // SAFETY: it is null, or a reference to a static.
        let modules = unsafe { KNOWN.load(Ordering::Acquire).as_ref() }?;
        let list = modules.list(modules.turns.enter());
        Some(Self { modules, list })
    }

    pub(crate) fn modules(&self) -> &[Loaded] {
        // SAFETY: nothing writes to the list until this reader leaves.
        unsafe { self.list.modules() }
    }

    pub(crate) fn code(&self) -> &[Code<'_>] {
        // SAFETY: as above.
        unsafe { self.list.code() }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.modules.turns.leave();
    }
}
