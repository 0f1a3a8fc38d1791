//! The kernel's image: its code, and the tables in it.

use crate::tables::ImageTables;

/// A part of the image: its bytes, and where they are.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The bytes.
    pub bytes: &'static [u8],
    /// The address of the first byte.
    pub address: u64,
}

impl Section {
    /// A section of these bytes, at their own address.
    #[must_use]
    pub fn new(bytes: &'static [u8]) -> Self {
        let address = bytes.as_ptr() as u64;
        Self { bytes, address }
    }

    /// The bytes between two symbols of the linker script.
    ///
    /// # Safety
    /// They are part of the image: mapped, readable and constant as long as the kernel runs.
    #[must_use]
    pub unsafe fn between(start: *const u8, end: *const u8) -> Self {
        let length = (end as usize).saturating_sub(start as usize);
        // SAFETY: the caller says that the bytes between these addresses are mapped, readable and constant.
        Self::new(unsafe { core::slice::from_raw_parts(start, length) })
    }

    /// The part from the address `start` to the address `end`; empty if it is not inside.
    pub(crate) fn part(&self, start: u64, end: u64) -> Self {
        let offset = |address: u64| usize::try_from(address.wrapping_sub(self.address));
        let range = offset(start).unwrap_or(usize::MAX)..offset(end).unwrap_or(usize::MAX);
        Self {
            bytes: self.bytes.get(range).unwrap_or_default(),
            address: start,
        }
    }

    /// The addresses from the first byte to the last one.
    pub(crate) fn range(&self) -> unwind::Range {
        unwind::Range::new(self.address, self.end())
    }

    /// The address after the last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(self.bytes.len() as u64)
    }
}

/// The parts of the kernel's image that a report needs. A part that the image does not have is empty.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// All code: what lies between `__text_start` and `__text_end`.
    pub code: Section,
    /// The unwind tables between `__sframe_start` and `__sframe_end`: `.sframe`, or a rule map. On 32-bit ARM also the exception tables between
    /// `__exidx_start` and `__exidx_end` and between `__extab_start` and `__extab_end`. Each report verifies them.
    pub tables: ImageTables<'static>,
    /// Code whose functions have no caller: what lies between `__outermost_start` and `__outermost_end`. Exception tables do not tell it.
    #[cfg(target_arch = "arm")]
    pub outermost: unwind::Range,
    /// The names of functions, `.symbols`, between `__symbols_start` and `__symbols_end`.
    pub symbols: Section,
    /// The build id from the linker's note. If it is not known, it is empty, and names are assumed to be of this image.
    pub build_id: &'static [u8],
}

/// The [`Image`] between the symbols of the linker script that `unwind` and `sframe-link` ask for: `__text_start`, `__text_end`,
/// and those of `tables.ld`. A build id can be filled in.
///
/// In a program on the host, such as a test, there are no such symbols, and everything is empty.
#[cfg(all(target_os = "none", not(target_arch = "arm")))]
#[macro_export]
macro_rules! image {
    () => {{
        unsafe extern "C" {
            static __text_start: u8;
            static __text_end: u8;
            static __sframe_start: u8;
            static __sframe_end: u8;
            static __symbols_start: u8;
            static __symbols_end: u8;
        }
        // SAFETY: the linker script puts constant bytes of the image between these symbols.
        unsafe {
            $crate::Image::new(
                $crate::Section::between(&raw const __text_start, &raw const __text_end),
                $crate::Section::between(&raw const __sframe_start, &raw const __sframe_end),
                $crate::Section::between(&raw const __symbols_start, &raw const __symbols_end),
            )
        }
    }};
}

/// The [`Image`] between the symbols of the linker script that [`Image`] names, and `__symbols_start` and `__symbols_end`. A build id can be
/// filled in.
#[cfg(all(target_os = "none", target_arch = "arm"))]
#[macro_export]
macro_rules! image {
    () => {{
        unsafe extern "C" {
            static __text_start: u8;
            static __text_end: u8;
            static __sframe_start: u8;
            static __sframe_end: u8;
            static __exidx_start: u8;
            static __exidx_end: u8;
            static __extab_start: u8;
            static __extab_end: u8;
            static __outermost_start: u8;
            static __outermost_end: u8;
            static __symbols_start: u8;
            static __symbols_end: u8;
        }
        // SAFETY: the linker script puts constant bytes of the image between these symbols.
        unsafe {
            $crate::Image::new(
                $crate::Section::between(&raw const __text_start, &raw const __text_end),
                $crate::Section::between(&raw const __sframe_start, &raw const __sframe_end),
                $crate::Section::between(&raw const __exidx_start, &raw const __exidx_end),
                $crate::Section::between(&raw const __extab_start, &raw const __extab_end),
                $crate::Section::between(&raw const __outermost_start, &raw const __outermost_end),
                $crate::Section::between(&raw const __symbols_start, &raw const __symbols_end),
            )
        }
    }};
}

#[allow(missing_docs)]
#[cfg(not(target_os = "none"))]
#[macro_export]
macro_rules! image {
    () => {{
        let nothing = $crate::Section::new(&[]);
        $crate::Image::new(nothing, nothing, nothing)
    }};
}

impl Image {
    /// An image with this code, this rule map, these exception tables (`.ARM.exidx` and `.ARM.extab`), this part of the code with functions
    /// that have no caller, and these names; the build id is not known.
    #[cfg(target_arch = "arm")]
    #[must_use]
    pub fn new(
        code: Section,
        map: Section,
        index: Section,
        table: Section,
        outermost: Section,
        symbols: Section,
    ) -> Self {
        use unwind::ehabi::Tables;
        let range = |section: Section| unwind::Range::new(section.address, section.end());
        let (at, table_at) = (index.address as u32, table.address as u32);
        let exceptions = Tables::new(index.bytes, at, table.bytes, table_at, range(code));
        Self {
            code,
            tables: ImageTables::new(map.bytes, map.address, exceptions),
            outermost: range(outermost),
            symbols,
            build_id: &[],
        }
    }

    /// Its tables, with what they do not tell themselves.
    #[cfg(target_arch = "arm")]
    pub(crate) const fn rows(&self) -> ImageTables<'_> {
        self.tables
            .outermost(core::slice::from_ref(&self.outermost))
    }

    /// Its tables.
    #[cfg(not(target_arch = "arm"))]
    pub(crate) const fn rows(&self) -> ImageTables<'_> {
        self.tables
    }

    /// An image with this code, these tables and these names; the build id is not known.
    #[cfg(not(target_arch = "arm"))]
    #[must_use]
    pub fn new(code: Section, tables: Section, symbols: Section) -> Self {
        Self {
            code,
            tables: ImageTables::new(tables.bytes, tables.address),
            symbols,
            build_id: &[],
        }
    }
}
