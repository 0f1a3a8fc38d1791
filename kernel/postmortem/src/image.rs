//! The kernel's image, with the code and the tables in it.

use crate::tables::ImageTables;

/// A part of the image, with bytes and an address.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The bytes.
    pub bytes: &'static [u8],
    /// The address of the first byte.
    pub address: u64,
}

impl Section {
    /// Creates a section of `bytes` whose address is the address of the slice.
    #[must_use]
    pub fn new(bytes: &'static [u8]) -> Self {
        let address = bytes.as_ptr() as u64;
        Self { bytes, address }
    }

    /// Creates a section of the bytes between two symbols of the linker script.
    ///
    /// ```no_run
    /// use postmortem::Section;
    ///
    /// unsafe extern "C" {
    ///     static __sframe_start: u8;
    ///     static __sframe_end: u8;
    /// }
    /// // SAFETY: the linker script puts constant bytes of the image between these symbols.
    /// let tables = unsafe { Section::between(&raw const __sframe_start, &raw const __sframe_end) };
    /// ```
    ///
    /// # Safety
    /// The caller must guarantee that the bytes are part of the image: mapped, readable and constant for as long as the kernel runs.
    #[must_use]
    pub unsafe fn between(start: *const u8, end: *const u8) -> Self {
        let length = (end as usize).saturating_sub(start as usize);
        // SAFETY: the caller guarantees that the bytes between these addresses are mapped, readable and constant.
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

    /// Returns the address after the last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(self.bytes.len() as u64)
    }
}

/// The parts of the kernel's image that a report needs. A part that the image does not have is empty.
///
/// [`image!`](crate::image) makes it from the symbols of the linker script.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// All code: the bytes between `__text_start` and `__text_end`.
    pub code: Section,
    /// The unwind tables between `__sframe_start` and `__sframe_end`: `.sframe`, or a rule map. On 32-bit ARM, also the exception tables
    /// between `__exidx_start` and `__exidx_end` and between `__extab_start` and `__extab_end`. Each report verifies the tables.
    pub tables: ImageTables<'static>,
    /// The code of functions that have no caller, between `__outermost_start` and `__outermost_end`. Exception tables do not contain it.
    #[cfg(target_arch = "arm")]
    pub outermost: unwind::Range,
    /// The names of functions, `.symbols`, between `__symbols_start` and `__symbols_end`.
    pub symbols: Section,
    /// The build id from the linker's note. If it is empty, the build id is not known, and the names are assumed to be of this image.
    pub build_id: &'static [u8],
}

/// Returns the [`Image`] between the symbols of the linker script: `__text_start`, `__text_end`, and the symbols of `tables.ld`.
///
/// The build id is empty; set the field `build_id` if the kernel has it. In a program on the host, such as a test, the symbols do not
/// exist, and the image is empty.
///
/// ```
/// let mut image = postmortem::image!();
/// image.build_id = &[0x61, 0x9d, 0xc4, 0x37];
/// ```
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

/// Returns the [`Image`] between the symbols of the linker script that the fields of [`Image`] name. The build id is empty; set the field
/// `build_id` if the kernel has it.
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
    /// Creates an image of `code`, the rule map `map`, the exception tables `index` (`.ARM.exidx`) and `table` (`.ARM.extab`), the part
    /// `outermost` of the code whose functions have no caller, and the names `symbols`. The build id is empty.
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

    /// The tables, with the functions that have no caller.
    #[cfg(target_arch = "arm")]
    pub(crate) const fn rows(&self) -> ImageTables<'_> {
        self.tables
            .outermost(core::slice::from_ref(&self.outermost))
    }

    /// The tables.
    #[cfg(not(target_arch = "arm"))]
    pub(crate) const fn rows(&self) -> ImageTables<'_> {
        self.tables
    }

    /// Creates an image of `code`, the unwind tables `tables` and the names `symbols`. The build id is empty.
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
