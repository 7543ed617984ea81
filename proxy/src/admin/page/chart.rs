//! Small SVG charts, rendered here so that the browser needs no library.
//!
//! The content policy forbids inline styles, so colours are classes and sizes are attributes.

use super::html::Html;

/// The bars of the traffic chart.
const BARS: usize = 60;
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 100.0;

/// Stacked bars with the oldest on the left and a class for each series. Averages the values into [`BARS`] bars; fewer
/// than `all` values leave the left side empty. Returns the height of the highest bar.
pub(super) fn stacked(html: &mut Html, values: &[[f32; 3]], all: usize, classes: [&'static str; 3]) -> f64 {
    let per_bar = all.div_ceil(BARS);
    let missing = all.saturating_sub(values.len());
    let mut bars = vec![([0.0f64; 3], 0u32); BARS];
    for (n, value) in values.iter().enumerate() {
        let Some((sums, count)) = bars.get_mut((missing + n) / per_bar) else { continue };
        for (sum, value) in sums.iter_mut().zip(value) {
            *sum += f64::from(*value);
        }
        *count += 1;
    }
    let means: Vec<[f64; 3]> =
        bars.iter().map(|(sums, count)| sums.map(|sum| sum / f64::from((*count).max(1)))).collect();
    let highest = means.iter().map(|bar| bar.iter().sum::<f64>()).fold(0.0, f64::max);
    let top = nice(highest);
    html.raw("<svg class=\"chart\" viewBox=\"0 0 600 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    html.raw("<path class=\"grid\" d=\"M0 .5H600M0 50H600M0 99.5H600\"/>");
    let step = WIDTH / BARS as f64;
    for (n, bar) in means.iter().enumerate() {
        let mut from = HEIGHT;
        for (value, class) in bar.iter().zip(classes) {
            let height = value / top * HEIGHT;
            if height > 0.0 {
                from -= height;
                rect(html, class, (n as f64 * step + 1.0, from, step - 2.0, height));
            }
        }
    }
    html.raw("</svg>");
    top
}

/// Bars side by side, scaled to the highest.
pub(super) fn bars(html: &mut Html, values: &[u64], class: &'static str) {
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    html.raw("<svg class=\"spark\" viewBox=\"0 0 ").number(values.len() as u64 * 4);
    html.raw(" 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"grid\" d=\"M0 19.5H");
    html.number(values.len() as u64 * 4).raw("\"/>");
    for (n, value) in values.iter().enumerate() {
        if *value > 0 {
            let height = (*value as f64 / most as f64 * 19.0).max(1.5);
            rect(html, class, (n as f64 * 4.0 + 0.5, 20.0 - height, 3.0, height));
        }
    }
    html.raw("</svg>");
}

/// One bar, split by shares.
pub(super) fn split(html: &mut Html, shares: &[(u64, &'static str)]) {
    let total: u64 = shares.iter().map(|(count, _)| count).sum();
    html.raw("<svg class=\"split\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    html.raw("<rect class=\"empty\" width=\"100\" height=\"8\"/>");
    let mut from = 0.0;
    for (count, class) in shares.iter().filter(|(count, _)| *count > 0) {
        let width = *count as f64 / total.max(1) as f64 * 100.0;
        rect(html, class, (from, 0.0, width, 8.0));
        from += width;
    }
    html.raw("</svg>");
}

fn rect(html: &mut Html, class: &'static str, (x, y, width, height): (f64, f64, f64, f64)) {
    html.raw("<rect class=\"").raw(class).raw("\" x=\"").decimal(x, 1).raw("\" y=\"").decimal(y, 2);
    html.raw("\" width=\"").decimal(width, 1).raw("\" height=\"").decimal(height, 2).raw("\"/>");
}

/// The next round number, for the end of the axis.
fn nice(highest: f64) -> f64 {
    let mut top = 1.0;
    let mut turn = [2.0, 2.5, 2.0].into_iter().cycle();
    while top < highest {
        top *= turn.next().unwrap_or(2.0);
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_with_round_numbers() {
        for (highest, top) in [(0.0, 1.0), (0.4, 1.0), (1.1, 2.0), (3.0, 5.0), (7.0, 10.0), (101.0, 200.0)] {
            assert!((nice(highest) - top).abs() < 1e-9, "{highest}: {}", nice(highest));
        }
    }

    #[test]
    fn what_is_drawn_stays_within() {
        let mut html = Html::default();
        let top = stacked(&mut html, &[[1.0, 2.0, 0.5]; 7], 300, ["a", "b", "c"]);
        bars(&mut html, &[0, u64::MAX, 3], "d");
        split(&mut html, &[(0, "e"), (u64::MAX / 2, "f"), (1, "g")]);
        split(&mut html, &[]);
        assert!((top - 5.0).abs() < 1e-9);
        let text = String::from_utf8(html.into_bytes()).unwrap();
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
        assert!(!text.contains("NaN") && !text.contains("inf") && !text.contains("=\"-"), "{text}");
    }
}
