"""Events that come in later, functions as intensities, and what else a fit is asked after it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pointillist as pt

TIMES = np.sort(np.random.default_rng(5).uniform(0, 10, 200) ** 1.2 % 10)


def test_updates_are_near_the_fit_of_everything() -> None:
    first, second = pt.Summary.of(TIMES[::2], window=(0, 10)), pt.Summary.of(TIMES[1::2], window=(0, 10))
    early = pt.IntensityModel().fit(first).posterior_
    both = early.update(second)
    everything = pt.IntensityModel().fit([first, second])
    assert (early.event_count, both.event_count) == (100, 200)
    at = np.linspace(0.1, 9.9, 21)
    np.testing.assert_allclose(both.rate(at).mean, everything.rate(at).mean, rtol=0.05)
    assert float(both.count().mean[0]) == pytest.approx(200, rel=0.02)
    # Events of any form are put into the cells of the model.
    np.testing.assert_array_equal(early.update(TIMES[1::2]).rate(at).mean, both.rate(at).mean)


def test_an_estimator_goes_on_with_its_settings() -> None:
    model = pt.IntensityModel(link="log", average=False).fit(pt.Summary.of(TIMES[:120], window=(0, 10)))
    assert model.update(TIMES[120:]) is model
    assert model.posterior_.event_count == 200
    assert model.posterior_.summary["averaged"] is False


def test_what_cannot_be_updated_says_why() -> None:
    with pytest.raises(pt.InputError, match="Summary.of"):
        pt.IntensityModel(average=False).fit(TIMES, window=(0, 10)).update([1.0])
    with pytest.raises(pt.NotFittedError):
        pt.IntensityModel().update([1.0])
    summed = pt.IntensityModel(average=False).fit(pt.Summary.of(TIMES, window=(0, 10))).posterior_
    with pytest.raises(pt.OutsideWindowError, match="clip=True"):
        summed.update([1.0, 11.0])
    with pytest.raises(pt.ModelFileError):
        summed.update(pt.Summary.of([1.0], window=(0, 5)))


def test_events_outside_have_their_own_exception() -> None:
    with pytest.raises(pt.OutsideWindowError, match=r"1 of 3 events lies outside .* clip=True"):
        pt.IntensityModel().fit([1.0, 2.0, 30.0], window=(0, 10))


def test_a_function_draws_what_its_text_draws() -> None:
    text = pt.simulate("5 + 3*sin(t)", window=(0, 20), names=["t"], seed=4)
    function = pt.simulate(lambda t: 5 + 3 * np.sin(t), window=(0, 20), seed=4)
    np.testing.assert_allclose(function, text)
    drawn = pt.simulate(lambda x, y: 40 * x * (y > 0.5), window=[(0, 1), (0, 1)], draws=200, seed=1)
    assert np.mean([len(points) for points in drawn]) == pytest.approx(10, abs=0.8)
    assert all((points[:, 1] > 0.5).all() for points in drawn)
    assert len(pt.simulate(lambda t: 3.0, window=(0, 100), seed=2)) == pytest.approx(300, abs=60)


def test_functions_that_are_none() -> None:
    def raises(t: object) -> object:
        raise ZeroDivisionError("of the caller")

    with pytest.raises(ZeroDivisionError, match="of the caller"):
        pt.simulate(raises, window=(0, 1))
    with pytest.raises(pt.SettingError, match="whole arrays"):
        pt.simulate(lambda t: t[:3], window=(0, 1))
    with pytest.raises(pt.SettingError, match="whole arrays"):
        pt.simulate(lambda t: "much", window=(0, 1))
    with pytest.raises(pt.PointillistError):
        pt.simulate(lambda t: -1.0 + 0 * t, window=(0, 1))
    with pytest.raises(pt.PointillistError):
        pt.simulate(lambda t: np.nan * t, window=(0, 1))


def test_dates_come_back_as_dates() -> None:
    days = pd.date_range("2024-03-01", periods=40, freq="12h", tz="Europe/Berlin")
    model = pt.IntensityModel(average=False).fit(days, window=("2024-02-29", "2024-03-25"))
    drawn = model.sample_events(2)
    assert all(isinstance(one, pd.DatetimeIndex) and str(one.tz) == "Europe/Berlin" for one in drawn)
    assert drawn[0].min() >= pd.Timestamp("2024-02-29", tz="UTC")
    again = pt.Posterior.from_json(model.to_json())
    assert (again.sample_events(2)[1] == drawn[1]).all()
    model.posterior_.time_zone = None
    plain = model.sample_events(2)[1]
    assert plain.dtype.kind == "M" and len(plain) == len(drawn[1])


def test_no_events_have_a_score() -> None:
    model = pt.IntensityModel(average=False).fit(TIMES, window=(0, 10))
    found = model.posterior_.score([])
    assert found["events"] == 0 and found["m_p"] < -100
