//! An exception as text. Each architecture defines the text.

use core::fmt;

use crate::names::Names;

/// The text of the exception with this trap frame: the cause and the place.
#[derive(Clone, Copy)]
pub struct Words<'a, F> {
    pub(crate) frame: &'a F,
    pub(crate) names: &'a dyn Names,
}

impl<'a, F> Words<'a, F> {
    pub(crate) const fn new(frame: &'a F, names: &'a dyn Names) -> Self {
        Self { frame, names }
    }
}

impl<F> fmt::Debug for Words<'_, F>
where
    Self: fmt::Display,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
