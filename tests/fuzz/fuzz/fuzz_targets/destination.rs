//! Inputs of the fuzzer for the target `destination`. What must hold of them is in `interlock_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    interlock_fuzz::destination(input);
});
