//! Calibration in short: the ranks of a fit with the right family, the same on any number of threads, and what is refused.

use pointillist::{Link, Model};
use pointillist_rivals::calibrate::{Calibration, Families, Settings, TRUTHS, calibrate, cover};
use std::ops::ControlFlow;

const SHORT: Settings = Settings { dims: 1, link: Link::Log, events: 40, sets: 120, families: Families::Own, seed: 0 };

fn run(settings: &Settings) -> Calibration {
    calibrate(settings, &|_| ControlFlow::Continue(())).unwrap()
}

/// Five places of a set are worth about one and a half: the standard error of coverage at 90 % is under 0.03, and 0.1 is more than 3.3 of them, which chance
/// exceeds once in a thousand times.
#[test]
fn ranks_of_the_right_family_are_uniform() {
    for link in [Link::Log, Link::Square] {
        let found = run(&Settings { link, ..SHORT.clone() });
        assert_eq!((found.sets, found.failed, found.quantities.len()), (120, 0, 4), "{:?}", found.failure);
        assert!((10.0..400.0).contains(&found.events), "{}", found.events);
        for quantity in &found.quantities[..2] {
            let covered = quantity.coverage[2];
            assert!((covered.value - 0.9).abs() < 0.1 && covered.se < 0.03, "{} {covered:?}", quantity.name);
            assert!(quantity.p_value > 1e-3, "{quantity:?}");
            assert_eq!(quantity.histogram.iter().sum::<usize>(), 120);
        }
    }
}

#[test]
fn threads_and_watching_change_nothing() {
    let settings = Settings { events: 20, sets: 20, families: Families::All, ..SHORT.clone() };
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| run(&settings));
    let several = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap().install(|| run(&settings));
    assert_eq!(alone, several);
    assert_eq!(alone.quantities.len(), 2);
    let cancelled =
        calibrate(&SHORT, &|done| if done < 0.1 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) });
    assert!(matches!(cancelled, Err(pointillist::Error::Cancelled)));
}

#[test]
fn known_intensities_have_their_totals() {
    let model = Model { average: true, ..Model::default() };
    for (name, total, second) in [("flat, line", 50.0, 25.0), ("Adams 3", 225.0, 112.5)] {
        let truth = TRUTHS.iter().find(|truth| truth.name == name).unwrap();
        let covered = cover(truth, &model, 4, 0, &|_| ControlFlow::Continue(())).unwrap();
        assert!((covered.events - total).abs() < 4.0 * (total / 4.0f64).sqrt(), "{name}: {}", covered.events);
        assert!((covered.second_half.0 - second).abs() < 1e-9 * total, "{covered:?}");
        assert!((covered.second_half.1 - second).abs() < 3.0 * (second / 4.0f64).sqrt(), "{covered:?}");
        assert!((0.9..1.2).contains(&covered.deviation) && covered.band.value > 0.6, "{covered:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let settings = [
        Settings { dims: 3, ..SHORT.clone() },
        Settings { events: 0, ..SHORT.clone() },
        Settings { sets: 19, ..SHORT.clone() },
    ];
    for settings in settings {
        assert!(calibrate(&settings, &|_| ControlFlow::Continue(())).is_err(), "{settings:?}");
    }
}
