//! What no tool writes, or only a broken one: sections assembled by hand.

mod bounds;
mod checksum;
mod damage;
mod extent;
mod flexible;
mod form;
mod hand;
mod order;
mod pc_mask;
mod refused;
mod rows;
mod starts;
mod verify;
mod words;
