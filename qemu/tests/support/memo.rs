//! Values that tests share.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Values by key, each made once. A thread that needs a value which another one makes waits for that value only.
#[derive(Debug)]
pub struct Memo<K, V>(Mutex<Option<HashMap<K, Arc<OnceLock<V>>>>>);

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// No values yet.
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns the value of a key, which `make` makes if it is not there.
    pub fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        let slot = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let slots = slots.get_or_insert_default();
            slots.entry(key).or_default().clone()
        };
        slot.get_or_init(make).clone()
    }
}
