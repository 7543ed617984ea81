//! What reading a declaration leaves behind: many small pieces, which the allocator would keep for the thread that read it.

/// Gives back to the system what nobody uses. Takes some milliseconds after a large declaration; not for a worker thread.
pub(super) fn give_back() {
    // SAFETY: it takes no pointer, and may be called by any thread at any time.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}
