#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: {
        // The database panics on some damaged files, which the journal catches: a panic that is
        // caught must not end the process.
        drop(std::panic::take_hook());
    },
    |bytes: &[u8]| liftmesh_fuzz::check("journal", bytes)
);
