//! Page tables of AArch64 ("Arm Architecture Reference Manual for A-profile architecture", chapter D8), with addresses of memory
//! of up to 48 bits.

/// Bit of SCTLR: there are page tables.
const PAGING: u64 = 1;
/// Bit of TCR_EL1: addresses of more than 48 bits, whose tables are of another form.
const LONG_ADDRESSES: u64 = 1 << 59;
/// The same of TCR_EL2.
const LONG_ADDRESSES_2: u64 = 1 << 32;

/// Bits of an entry: it is there; it leads to a table, or in the last level is a page; programs may read it; it was accessed, or
/// may be.
const PRESENT: u64 = 1;
const TABLE: u64 = 1 << 1;
const USER: u64 = 1 << 6;
const ACCESSED: u64 = 1 << 10;
/// Of one that leads to a table: programs may read nothing of it.
const NO_USER: u64 = 1 << 61;
/// The bits of an entry that are an address, and of the register that says where the first table is.
const ADDRESS: u64 = 0x0000_ffff_ffff_f000;
const FIRST: u64 = 0x0000_ffff_ffff_fffe;

/// One of the halves that addresses are in: those with zeros at the top, or with ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    is_upper: bool,
    /// How many bits at the top are all the same.
    same: u32,
    /// The highest byte does not count.
    ignores_top: bool,
    /// The bits of an address within a page.
    granule: u32,
    table: u64,
    /// Nothing is mapped, or in a way that is not known here.
    is_none: bool,
}

impl Half {
    /// The half that this address is in, of a kernel and its programs, by TCR_EL1 and the two registers with tables.
    pub(super) fn of_kernel(translation: u64, tables: [u64; 2], address: u64) -> Self {
        let is_upper = address >> 55 & 1 == 1;
        let bit = |bit: u32| translation >> bit & 1 == 1;
        let (same, granule, disabled, top) = match is_upper {
            false => (
                translation,
                granule(translation >> 14, [12, 16, 14, 0]),
                7,
                37,
            ),
            true => (
                translation >> 16,
                granule(translation >> 30, [0, 14, 12, 16]),
                23,
                38,
            ),
        };
        Self {
            is_upper,
            same: (same & 0x3f) as u32,
            ignores_top: bit(top),
            granule,
            table: tables[usize::from(is_upper)],
            is_none: bit(disabled) || translation & LONG_ADDRESSES != 0,
        }
    }

    /// The only one of a hypervisor, by TCR_EL2 and the register with its table.
    pub(super) fn of_hypervisor(translation: u64, table: u64) -> Self {
        Self {
            is_upper: false,
            same: (translation & 0x3f) as u32,
            ignores_top: translation >> 20 & 1 == 1,
            granule: granule(translation >> 14, [12, 16, 14, 0]),
            table,
            is_none: translation & LONG_ADDRESSES_2 != 0,
        }
    }

    /// Addresses of so many bits of the table there, whose pages have 4 KiB: the long format of 32-bit ARM, which is the same.
    pub(super) fn of_32_bits(width: u32, table: u64) -> Self {
        Self {
            is_upper: false,
            same: 64 - width,
            ignores_top: false,
            granule: 12,
            table,
            is_none: false,
        }
    }

    /// The physical address, if page tables are used at all, as SCTLR says.
    pub(super) fn translate(
        self,
        control: u64,
        is_user: bool,
        word: &mut dyn FnMut(u64) -> Option<u64>,
        address: u64,
    ) -> Option<u64> {
        if control & PAGING == 0 {
            return Some(address);
        }
        let Self { same, granule, .. } = self;
        if self.is_none || granule == 0 || !(16..=39).contains(&same) {
            return None;
        }
        let width = 64 - same;
        let ignored = if self.ignores_top { 8 } else { 0 };
        let above = (address << ignored).cast_signed() >> (width + ignored);
        if above != if self.is_upper { -1 } else { 0 } {
            return None;
        }
        // Each table has a page of entries with 8 bytes each; the first one may be smaller.
        let stride = granule - 3;
        let levels = (width - granule).div_ceil(stride);
        let mut table = self.table & FIRST & !0xf;
        for level in (0..levels).rev() {
            let shift = granule + stride * level;
            let bits = stride.min(width - shift);
            let entry = word(table + (address >> shift & ((1 << bits) - 1)) * 8)?;
            if entry & PRESENT == 0 {
                return None;
            }
            let is_page = match entry & TABLE != 0 {
                true => level == 0,
                // A block, of which only some levels have any.
                false if level == 1 || (level == 2 && granule == 12) => true,
                false => return None,
            };
            let offset = (1 << shift) - 1;
            if is_page {
                let may = entry & ACCESSED != 0 && (!is_user || entry & USER != 0);
                return may.then_some(entry & ADDRESS & !offset | address & offset);
            }
            if is_user && entry & NO_USER != 0 {
                return None;
            }
            table = entry & ADDRESS & !((1 << granule) - 1);
        }
        None
    }
}

/// The bits of an address within a page, by the lowest two bits of `choice`.
fn granule(choice: u64, granules: [u32; 4]) -> u32 {
    granules[(choice & 3) as usize]
}

#[cfg(test)]
mod tests;
