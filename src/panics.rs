//! One line for a bug, instead of a stack trace.
//!
//! Here: the hook. Not here: what a panic does to the process; whoever catches it decides
//! (`ARCHITECTURE.md`, panics). Called by `main`, and by
//! `wiring` around the opening of the log.

use std::panic;

/// Installs the hook. The line names the place and the panic's own message, which by the rules of
/// this code base holds no handle, key or message of a client.
pub(crate) fn install() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(
            || "an unknown place".to_owned(),
            |at| format!("{}:{}", at.file(), at.line()),
        );
        let message = info.payload_as_str().unwrap_or("no message");
        let first = message.lines().next().unwrap_or_default();
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        crate::console::complain(&format!("bug at {place} in thread {name}: {first}"));
    }));
}

/// Runs something whose panics are expected and caught, and told as a refusal of ours: a damaged
/// database makes the engine panic. Nothing else runs yet when this is called.
pub(crate) fn unsaid<T>(run: impl FnOnce() -> T) -> T {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = run();
    panic::set_hook(hook);
    result
}
