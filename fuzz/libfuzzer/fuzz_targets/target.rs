//! Each binary checks the target of its own name.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: {
        // The database panics on some damaged files, which the journal catches: a panic that is
        // caught must not end the process. Any other still does.
        drop(std::panic::take_hook());
    },
    |bytes: &[u8]| liftmesh_fuzz::check(env!("CARGO_BIN_NAME"), bytes)
);
