//! What happens to a page on its way out: the notice and the links go in near the top, the rest streams through.
