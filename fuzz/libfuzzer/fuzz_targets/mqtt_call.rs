#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| liftmesh_fuzz::check("mqtt_call", bytes));
