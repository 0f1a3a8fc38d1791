//! Makes and reads tables.
