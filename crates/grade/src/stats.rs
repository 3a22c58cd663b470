//! Rates with their uncertainty.

use schema::report::Rate;

/// The standard normal quantile of a two-sided interval of 95 %.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// `count` of `of`, with Wilson's score interval (Wilson 1927): it stays within 0 and 1, and says something of few instances too.
pub fn rate(count: usize, of: usize) -> Rate {
    let (counted, all) = (float(count), float(of));
    if of == 0 {
        return Rate {
            count,
            of,
            rate: 0.0,
            low: 0.0,
            high: 1.0,
        };
    }
    let rate = counted / all;
    let square = QUANTILE * QUANTILE;
    let scale = 1.0 + square / all;
    let centre = (rate + square / (2.0 * all)) / scale;
    let variance = rate * (1.0 - rate) / all + square / (4.0 * all * all);
    let half = QUANTILE / scale * variance.max(0.0).sqrt();
    Rate {
        count,
        of,
        rate,
        low: (centre - half).clamp(0.0, rate),
        high: (centre + half).clamp(rate, 1.0),
    }
}

/// The mean of some values, `None` where there are none.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values
        .into_iter()
        .fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// No run has more instances than `u32` counts, and `f64` holds all of those.
fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_ends_are_where_the_score_test_just_rejects() {
        // Found by bisection of (p - rate)^2 = z^2 p (1 - p) / n, not by the closed form.
        for (count, of, low, high) in [
            (0, 10, 0.0, 0.277_532_8),
            (10, 10, 0.722_467_2, 1.0),
            (5, 10, 0.236_593_1, 0.763_406_9),
            (250, 500, 0.456_341_3, 0.543_658_7),
            (1, 1, 0.206_549_3, 1.0),
        ] {
            let found = rate(count, of);
            assert!((found.low - low).abs() < 1e-6, "{found:?}");
            assert!((found.high - high).abs() < 1e-6, "{found:?}");
        }
        assert_eq!((rate(0, 0).low, rate(0, 0).high), (0.0, 1.0));
    }

    #[test]
    fn a_mean_of_nothing_is_none() {
        assert_eq!(mean([]), None);
        assert_eq!(mean([1.0, 0.5]), Some(0.75));
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_rate(of in 1_usize..5000, share in 0.0..=1.0_f64) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "small and positive")]
            let count = (of as f64 * share) as usize;
            let found = rate(count, of);
            prop_assert!(0.0 <= found.low && found.low <= found.rate && found.rate <= found.high && found.high <= 1.0);
        }
    }
}
