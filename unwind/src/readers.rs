//! Formats that a kernel may do without: cargo features leave their readers out.
//!
//! Each value of a reader that is left out has a field of a type that has no values. So there is none, and the compiler drops all code
//! that needs one, in the walk and in the report too. Conditions at each such place would say the same thirty times.

/// The field of a reader that is there.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(any(feature = "sframe", feature = "map", feature = "symbols")),
    expect(dead_code)
)]
pub(crate) struct Kept;

/// The field of a reader that is left out.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    all(feature = "sframe", feature = "map", feature = "symbols"),
    expect(dead_code)
)]
pub(crate) enum LeftOut {}

/// Such a field.
pub(crate) trait Reader: Sized {
    /// Its value, if there is one.
    const THERE: Option<Self>;
}

impl Reader for Kept {
    const THERE: Option<Self> = Some(Self);
}

impl Reader for LeftOut {
    const THERE: Option<Self> = None;
}

#[cfg(feature = "sframe")]
pub(crate) type SFrame = Kept;
#[cfg(not(feature = "sframe"))]
pub(crate) type SFrame = LeftOut;

#[cfg(feature = "map")]
pub(crate) type Map = Kept;
#[cfg(not(feature = "map"))]
pub(crate) type Map = LeftOut;

#[cfg(feature = "symbols")]
pub(crate) type Symbols = Kept;
#[cfg(not(feature = "symbols"))]
pub(crate) type Symbols = LeftOut;
