//! A set of addresses.

use std::slice::Iter;

/// Addresses: ascending, none twice. A list, because most sets of this kind are empty or small, and every block of an image has some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses(Vec<u64>);

impl Addresses {
    /// Adds one. Returns whether it is new.
    pub fn insert(&mut self, address: u64) -> bool {
        match self.0.binary_search(&address) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, address);
                true
            }
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> Iter<'_, u64> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Addresses {
    type Item = &'a u64;
    type IntoIter = Iter<'a, u64>;

    fn into_iter(self) -> Iter<'a, u64> {
        self.iter()
    }
}

impl<'a> Extend<&'a u64> for Addresses {
    fn extend<All: IntoIterator<Item = &'a u64>>(&mut self, all: All) {
        for address in all {
            self.insert(*address);
        }
    }
}

impl FromIterator<u64> for Addresses {
    fn from_iter<All: IntoIterator<Item = u64>>(all: All) -> Self {
        let mut addresses: Vec<u64> = all.into_iter().collect();
        addresses.sort_unstable();
        addresses.dedup();
        Self(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_ascend_and_none_comes_twice() {
        let mut addresses: Addresses = [7, 3, 7].into_iter().collect();
        assert!(addresses.insert(5) && !addresses.insert(3));
        addresses.extend(&[1, 5, 9]);
        assert_eq!(
            addresses.iter().copied().collect::<Vec<_>>(),
            [1, 3, 5, 7, 9]
        );
        assert!(!addresses.is_empty() && Addresses::default().is_empty());
    }
}
