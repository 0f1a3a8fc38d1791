//! Optional readers: without its cargo feature, the reader of a format is left out.
//!
//! A reader that is left out has a field of a type without values. So no value of the reader exists, and the compiler removes all code that
//! needs one, also in the walk and in the report. Otherwise, the same condition would be necessary at thirty places.

/// The field of a reader that is built.
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

/// The field of a reader.
pub(crate) trait Reader: Sized {
    /// The value of the field, if its type has one.
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
