//! Unique ids of requests and responses.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::{SystemTime, UNIX_EPOCH},
};

use uuid::{Builder, Uuid};

/// A unique UUIDv7. It is no secret, so it needs no system call.
pub fn fresh_id() -> Uuid {
    // Each `RandomState` has new keys, derived from this thread's random seed.
    let random = || RandomState::new().build_hasher().finish().to_be_bytes();
    let (first, second) = (random(), random());
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&first);
    bytes[8..].copy_from_slice(&second[..2]);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX);
    Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_the_same_and_all_are_of_version_7() {
        let ids: std::collections::HashSet<Uuid> = (0..10_000).map(|_| fresh_id()).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
    }
}
