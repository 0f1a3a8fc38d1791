//! Nothing but a place for tests and benchmarks that need both `unwind` and `linker`: `linker` uses `unwind`, so in either
//! of the two they would make the published packages depend on each other in a circle.
