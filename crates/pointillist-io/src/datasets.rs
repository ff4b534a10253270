//! The bundled sets: small enough to travel inside the program, each with its source and licence (`data/NAME/README.md`).

use super::geography::Geography;
use super::message::{Message, Setting};
use crate::message;

/// A column of a set, and what is known of its numbers.
#[derive(Debug)]
pub struct Column {
    /// Its name in the file.
    pub name: &'static str,
    /// Where events were looked for on this axis, as ends of a box.
    pub span: &'static str,
    /// The unit of its numbers.
    pub unit: &'static str,
    /// For a number that counts time: the date of its zero.
    pub origin: Option<&'static str>,
}

/// A bundled set.
#[derive(Debug)]
pub struct Dataset {
    /// What it is called where the name of a file may stand.
    pub name: &'static str,
    /// What it is, in a line.
    pub what: &'static str,
    /// The columns taken unless others are asked for.
    pub default_columns: &'static [&'static str],
    /// The columns of which the window is known.
    pub columns: &'static [Column],
    /// Number of events.
    pub events: usize,
    /// How many times the window was looked at (trials).
    pub repeats: usize,
    /// The border of the window on the default columns, as GeoJSON.
    pub border: Option<Border>,
    /// Whether its coordinates are degrees on the globe, if nothing else is said.
    pub geography: Geography,
    /// Where it comes from.
    pub source: &'static str,
    /// Under which terms.
    pub licence: &'static str,
    /// The file.
    pub csv: &'static [u8],
}

/// A border that travels with a set, and stands for a window under the set's name.
#[derive(Clone, Copy, Debug)]
pub struct Border {
    /// Where it comes from, and under which terms.
    pub source: &'static str,
    /// The file.
    pub geojson: &'static [u8],
}

const fn column(name: &'static str, span: &'static str, unit: &'static str) -> Column {
    Column { name, span, unit, origin: None }
}

/// All of them.
pub const DATASETS: [Dataset; 6] = [
    Dataset {
        name: "coal",
        what: "explosions in British coal mines with ten deaths or more",
        default_columns: &["year"],
        columns: &[
            column("year", "1851.2026009582,1962.2197125257", "years"),
            Column { origin: Some("1851-03-15"), ..column("t_days", "0,40549", "days") },
            column("date", "1851-03-15,1962-03-22", "days"),
        ],
        events: 191,
        repeats: 1,
        border: None,
        geography: Geography::Recognised,
        source: "Jarrett (1979), Biometrika 66; R package boot",
        licence: "unlimited distribution",
        csv: include_bytes!("../data/coal/coal.csv"),
    },
    Dataset {
        name: "tweets",
        what: "tweets of a politician, a week either side of Super Tuesday 2016",
        default_columns: &["t_days"],
        columns: &[
            Column { origin: Some("2016-02-23T17:00:00Z"), ..column("t_days", "0,14", "days") },
            column("utc", "2016-02-23T17:00:00Z,2016-03-08T17:00:00Z", "days"),
        ],
        events: 209,
        repeats: 1,
        border: None,
        geography: Geography::Recognised,
        source: "Trump Twitter Archive; R package dslabs",
        licence: "Artistic-2.0; times only",
        csv: include_bytes!("../data/tweets/tweets.csv"),
    },
    Dataset {
        name: "aftershocks",
        what: "earthquakes M ≥ 4.5 within 400 km and 7 days of the 2012 Sumatra earthquake",
        default_columns: &["t_days"],
        columns: &[Column { origin: Some("2012-04-04T08:38:36.720Z"), ..column("t_days", "0,14", "days") }],
        events: 208,
        repeats: 1,
        border: None,
        geography: Geography::Recognised,
        source: "USGS ANSS ComCat",
        licence: "public domain",
        csv: include_bytes!("../data/aftershocks/aftershocks.csv"),
    },
    Dataset {
        name: "kenya",
        what: "places of malaria (P. falciparum) parasite-rate surveys in Kenya",
        default_columns: &["lon", "lat"],
        columns: &[column("lon", "33.888939,41.884619", "degrees"), column("lat", "-4.676802,5.030829", "degrees")],
        events: 1230,
        repeats: 1,
        border: Some(Border {
            source: "Natural Earth 1:10m, public domain; npm package world-atlas",
            geojson: include_bytes!("../data/kenya/border.geojson"),
        }),
        geography: Geography::Recognised,
        source: "Malaria Atlas Project",
        licence: "CC BY, Malaria Atlas Project",
        csv: include_bytes!("../data/kenya/kenya.csv"),
    },
    Dataset {
        name: "quakes",
        what: "earthquakes M ≥ 6 of the world, 1979 to July 2019",
        default_columns: &["lon", "lat"],
        columns: &[
            column("lon", "-180,180", "degrees"),
            column("lat", "-90,90", "degrees"),
            Column { origin: Some("1979-01-01"), ..column("t_days", "0,14801.907366", "days") },
        ],
        events: 5945,
        repeats: 1,
        border: None,
        // The whole globe, of which there is no map without a cut.
        geography: Geography::Plane,
        source: "USGS ANSS ComCat",
        licence: "public domain",
        csv: include_bytes!("../data/quakes/quakes.csv"),
    },
    Dataset {
        name: "spikes",
        what: "simulated spikes of a neuron in 40 trials of 2 seconds, with a known rate",
        default_columns: &["t"],
        columns: &[column("t", "0,2", "seconds")],
        events: 1052,
        repeats: 40,
        border: None,
        geography: Geography::Recognised,
        source: "simulated for this project (data/spikes/README.md)",
        licence: "CC0 1.0",
        csv: include_bytes!("../data/spikes/spikes.csv"),
    },
];

/// The set called `name`. A path (`./coal`) or a file name (`coal.csv`) is never one.
pub fn find(name: &str) -> Option<&'static Dataset> {
    DATASETS.iter().find(|set| set.name == name)
}

/// Their names, for a sentence.
pub fn names() -> String {
    DATASETS.map(|set| set.name).join(", ")
}

/// The names of those with a border, for a sentence.
pub fn border_names() -> String {
    let with_border = DATASETS.iter().filter(|set| set.border.is_some());
    with_border.map(|set| set.name).collect::<Vec<_>>().join(", ")
}

impl Dataset {
    /// What is known of the column called `name`.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        let columns: &'static [Column] = self.columns;
        columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// The window of the default columns, as ends of a box.
    pub fn default_window(&self) -> String {
        let spans: Vec<&str> =
            self.default_columns.iter().filter_map(|name| self.column(name)).map(|c| c.span).collect();
        spans.join(",")
    }

    /// The settings that a fit of it takes by itself.
    pub fn default_settings(&self) -> Message {
        let columns = Setting::Columns.given(self.default_columns.join(","));
        let mut settings = message![columns, " ", Setting::Window.given(self.default_window())];
        if self.repeats > 1 {
            settings.add(" ");
            settings.add(Setting::Repeats.given(self.repeats));
        }
        if self.geography == Geography::Plane {
            settings.add(" ");
            settings.add(Setting::Geography.given("plane"));
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_what_it_says() {
        for set in &DATASETS {
            let text = std::str::from_utf8(set.csv).unwrap();
            let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
            assert_eq!(text.lines().count() - 1, set.events, "{}", set.name);
            assert!(set.columns.iter().all(|column| header.contains(&column.name)), "{}", set.name);
            assert!(set.default_columns.iter().all(|name| set.column(name).is_some()), "{}", set.name);
            assert!(set.csv.len() <= 300_000);
        }
        assert!(find("coal").is_some() && find("coal.csv").is_none() && find("./coal").is_none());
    }
}
