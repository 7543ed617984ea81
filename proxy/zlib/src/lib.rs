//! What `flate2` uses of `libz-ng-sys`, on zlib-rs: deflate in Rust instead of C, so that no build needs cmake.
//!
//! pingora turns on flate2's feature `zlib-ng`, and that feature wins over `zlib-rs`. So zlib-rs has to come under this
//! name (docs/decisions/0063-no-cmake.md). The names, types and meanings are those of zlib's C interface; who calls a
//! function has to keep what zlib's manual asks of its callers.

#![expect(non_snake_case, reason = "zlib's names")]
#![expect(unsafe_code, reason = "an interface of C")]

use std::ffi::{c_char, c_int, c_void};

use libz_rs_sys as zlib;
pub use zlib::{
    Bytef, Z_BLOCK, Z_BUF_ERROR, Z_DATA_ERROR, Z_DEFAULT_STRATEGY, Z_DEFLATED, Z_FINISH, Z_FULL_FLUSH, Z_MEM_ERROR,
    Z_NEED_DICT, Z_NO_FLUSH, Z_OK, Z_PARTIAL_FLUSH, Z_STREAM_END, Z_STREAM_ERROR, Z_SYNC_FLUSH, uInt, uLong,
    zlibVersion,
};

/// zlib's stream. zlib-rs differs in one point: the allocator may be missing there, and here it is always given.
#[repr(C)]
pub struct z_stream {
    pub next_in: *mut Bytef,
    pub avail_in: uInt,
    pub total_in: uLong,
    pub next_out: *mut Bytef,
    pub avail_out: uInt,
    pub total_out: uLong,
    pub msg: *mut c_char,
    pub state: *mut c_void,
    pub zalloc: unsafe extern "C" fn(*mut c_void, uInt, uInt) -> *mut c_void,
    pub zfree: unsafe extern "C" fn(*mut c_void, *mut c_void),
    pub opaque: *mut c_void,
    pub data_type: c_int,
    pub adler: uLong,
    pub reserved: uLong,
}

// The two have the same layout: a function that may be missing takes no more room than a function.
const _: () = {
    use std::mem::{align_of, offset_of, size_of};
    assert!(size_of::<z_stream>() == size_of::<zlib::z_stream>());
    assert!(align_of::<z_stream>() == align_of::<zlib::z_stream>());
    assert!(offset_of!(z_stream, avail_in) == offset_of!(zlib::z_stream, avail_in));
    assert!(offset_of!(z_stream, total_in) == offset_of!(zlib::z_stream, total_in));
    assert!(offset_of!(z_stream, next_out) == offset_of!(zlib::z_stream, next_out));
    assert!(offset_of!(z_stream, avail_out) == offset_of!(zlib::z_stream, avail_out));
    assert!(offset_of!(z_stream, total_out) == offset_of!(zlib::z_stream, total_out));
    assert!(offset_of!(z_stream, msg) == offset_of!(zlib::z_stream, msg));
    assert!(offset_of!(z_stream, state) == offset_of!(zlib::z_stream, state));
    assert!(offset_of!(z_stream, zalloc) == offset_of!(zlib::z_stream, zalloc));
    assert!(offset_of!(z_stream, zfree) == offset_of!(zlib::z_stream, zfree));
    assert!(offset_of!(z_stream, opaque) == offset_of!(zlib::z_stream, opaque));
    assert!(offset_of!(z_stream, adler) == offset_of!(zlib::z_stream, adler));
};

/// Functions of zlib that only pass their arguments on.
macro_rules! passed_on {
    ($($name:ident($($given:ident: $kind:ty),*);)*) => {$(
        /// The function of this name in zlib's manual.
        ///
        /// # Safety
        ///
        /// As the manual says: the stream is one that was begun and not yet ended, and its buffers are as long as it says.
        pub unsafe fn $name(stream: *mut z_stream, $($given: $kind),*) -> c_int {
            // SAFETY: the layouts are the same, and the caller keeps what zlib asks for.
            unsafe { zlib::$name(stream.cast(), $($given),*) }
        }
    )*};
}

passed_on! {
    deflate(flush: c_int);
    deflateEnd();
    deflateInit2_(level: c_int, method: c_int, window: c_int, memory: c_int, strategy: c_int, version: *const c_char, size: c_int);
    deflateParams(level: c_int, strategy: c_int);
    deflateReset();
    deflateSetDictionary(dictionary: *const Bytef, length: uInt);
    inflate(flush: c_int);
    inflateEnd();
    inflateInit2_(window: c_int, version: *const c_char, size: c_int);
    inflateReset2(window: c_int);
    inflateSetDictionary(dictionary: *const Bytef, length: uInt);
}
