//! Each binary checks the target of its own name.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| liftmesh_fuzz::check(env!("CARGO_BIN_NAME"), bytes));
