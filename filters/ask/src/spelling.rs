//! How far two spellings are apart.

/// How many letters have to be changed, left out or put in to make one word of another; `None` where that is more than
/// `most`.
pub(super) fn distance(one: &[char], other: &str, most: usize) -> Option<usize> {
    let mut row: Vec<usize> = (0..=one.len()).collect();
    let mut before: Option<Vec<usize>> = None;
    let mut last = None;
    for (line, c) in other.chars().enumerate() {
        let mut next = vec![line + 1];
        for (at, letter) in one.iter().enumerate() {
            let mut cost = (row[at] + usize::from(*letter != c)).min(row[at + 1] + 1).min(next[at] + 1);
            // Two letters that changed places are one mistake.
            if let (Some(before), Some(last)) = (&before, last)
                && at > 0
                && *letter == last
                && one[at - 1] == c
            {
                cost = cost.min(before[at - 1] + 1);
            }
            next.push(cost);
        }
        if next.iter().all(|cost| *cost > most) {
            return None;
        }
        before = Some(std::mem::replace(&mut row, next));
        last = Some(c);
    }
    row.last().copied().filter(|cost| *cost <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_changed_places_are_one_mistake() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        assert_eq!(distance(&letters("repositry"), "repository", 2), Some(1));
        assert_eq!(distance(&letters("abc"), "xyz", 2), None);
        assert_eq!(distance(&letters("kenrel"), "kernel", 1), Some(1));
    }
}
