//! Cycles of clocks: the kernel that they write, their components apart, clocks of a time zone, and forecasts. As a real process.

use crate::common::Folder;
use std::f64::consts::TAU;

/// Numbers from 0 to 1 without structure (a linear congruential generator), the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Times from 0 to `end` (days) at a rate that is at most `most`.
    fn times(&mut self, end: f64, most: f64, rate: impl Fn(f64) -> f64) -> Vec<f64> {
        let (mut t, mut times) = (0.0, vec![]);
        loop {
            t -= (1.0 - self.next()).ln() / most;
            if t >= end {
                return times;
            }
            if self.next() * most < rate(t) {
                times.push(t);
            }
        }
    }
}

/// A date so many days after the beginning of March 2024 (UTC).
fn march(days: f64) -> String {
    let seconds = (days * 86_400.0).round() as u64;
    let (day, rest) = (seconds / 86_400, seconds % 86_400);
    let (month, day) = if day < 31 { (3, day + 1) } else { (4, day - 30) };
    format!("2024-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

fn dates(times: &[f64]) -> String {
    times.iter().fold("time\n".into(), |text, t| text + &march(*t) + "\n")
}

/// A narrow peak about an hour of the day, in events per day.
fn peak_at(hour: f64, t: f64) -> f64 {
    let off = (24.0 * t.fract() - hour).rem_euclid(24.0);
    let off = off.min(24.0 - off);
    4.0 + 60.0 * (-0.5 * (off / 2.0).powi(2)).exp()
}

/// The columns of a table, by their names.
fn table(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut lines = text.lines().map(|line| line.split(',').map(String::from).collect::<Vec<_>>());
    (lines.next().unwrap(), lines.collect())
}

fn column(text: &str, name: &str) -> Vec<f64> {
    let (names, rows) = table(text);
    let place = names.iter().position(|found| found == name).unwrap_or_else(|| panic!("no {name} in {names:?}"));
    rows.iter().map(|row| row[place].parse().unwrap()).collect()
}

const FAST: &str = "--average off --inducing 60";

#[test]
fn totals_and_parts_of_a_fit_with_cycles_add_up() {
    let folder = Folder::new();
    let times = Random(5).times(8.0, 70.0, |t| peak_at(15.0, t));
    folder.write("log.csv", dates(&times));
    let fit =
        folder.run(&format!("fit log.csv --window 2024-03-01,2024-03-09 --cycle day {FAST} -o m.json --json")).good();
    let integral = fit.json()["elbo_parts"]["integral"].as_f64().unwrap();
    // As in totals.rs: to scale f is open to any fit.
    assert!((integral / times.len() as f64 - 1.0).abs() < 0.03, "{integral} of {}", times.len());
    let whole = folder.run("count m.json --json").good().json()["mean"].as_f64().unwrap();
    let hours = folder.run("count m.json --every 1h --json").good().json();
    let hours = hours["regions"].as_array().unwrap().iter().map(|one| one["mean"].as_f64().unwrap());
    let sum: f64 = hours.sum();
    assert!((sum / whole - 1.0).abs() < 1e-6, "{sum} {whole}");

    // Components add up to f, and f squared with its variance to the rate.
    let text = folder.run("predict m.json --components").good().out;
    let (f, trend, day) = (column(&text, "f"), column(&text, "trend"), column(&text, "day"));
    assert!(f.iter().zip(trend.iter().zip(&day)).all(|(f, (trend, day))| (f - trend - day).abs() < 1e-9));
    assert!(day.iter().sum::<f64>().abs() < 0.05 * day.iter().map(|d| d.abs()).sum::<f64>(), "less its average");
    // So many points that a day is not taken for something slower.
    assert!(f.len() >= 8 * 16, "{}", f.len());
    assert!(folder.run("predict m.json").good().out.lines().count() > 8 * 16);
    let narrow = column(&text, "day_q0.05").iter().zip(&column(&text, "day_q0.95")).all(|(low, high)| low < high);
    assert!(narrow);
    folder.run("plot m.json --components -o c.png").good();
    folder.run("plot m.json --components -o c.svg").good();
    let svg = std::fs::read_to_string(folder.path("c.svg")).unwrap();
    assert!(["trend", "day", "06:00", "18:00"].iter().all(|word| svg.contains(word)), "{svg}");
    // It is no average over the days, and says so.
    assert!(svg.contains("trend: the rate if day stood at its average, not the average over it"), "{svg}");
}

/// A day without events among busy ones is named with its dates, and the windows in the sentence leave it out; without such a day nothing is said.
#[test]
fn a_fit_with_cycles_names_an_outage_and_the_windows_without_it() {
    let folder = Folder::new();
    let times = Random(21).times(30.0, 70.0, |t| peak_at(14.0, t));
    folder.write("whole.csv", dates(&times));
    let with_outage: Vec<f64> = times.iter().copied().filter(|t| !(12.0..13.0).contains(t)).collect();
    folder.write("outage.csv", dates(&with_outage));
    let fit = "--cycle day --average off -o m.json";
    let whole = folder.run(&format!("fit whole.csv --window 2024-03-01,2024-03-31 {fit}")).good();
    assert!(!whole.err.contains("there is no event"), "{}", whole.err);
    let said = folder.run(&format!("fit outage.csv --window 2024-03-01,2024-03-31 {fit}")).good().err;
    let said = said.lines().find(|line| line.contains("there is no event from 2024-03-12T")).expect("a warning");
    assert!(said.contains(" to 2024-03-14T"), "{said}");
    let windows = &said[said.find("--window").unwrap()..];
    assert_eq!(windows.matches("--window").count(), 2, "{windows}");
    let again = folder.run(&format!("fit outage.csv {windows} {fit}")).good();
    assert!(!again.err.contains("there is no event"), "{}", again.err);
}

/// Two outages are both named; weekends, which other weeks have too, are none: a week in the kernel is proposed.
#[test]
fn two_outages_are_named_and_weekends_are_none() {
    let folder = Folder::new();
    // March 2024 begins on a Friday.
    let times = Random(21).times(28.0, 70.0, |t| peak_at(14.0, t));
    let with = |keeps: &dyn Fn(f64) -> bool| dates(&times.iter().copied().filter(|t| keeps(*t)).collect::<Vec<_>>());
    folder.write("two.csv", with(&|t| !(8.0..9.0).contains(&t) && !(17.0..18.0).contains(&t)));
    folder.write("office.csv", with(&|t| !(1.0..3.0).contains(&(t % 7.0))));
    let fit = "--window 2024-03-01,2024-03-29 --cycle day --average off -o m.json";
    let said = folder.run(&format!("fit two.csv {fit}")).good().err;
    let said = said.lines().find(|line| line.contains("there is no event from 2024-03-08T")).expect("a warning");
    assert!(said.contains("nor from 2024-03-17T") && said.contains("leave them out"), "{said}");
    let windows = &said[said.find("--window").unwrap()..];
    assert_eq!(windows.matches("--window").count(), 3, "{windows}");
    let again = folder.run(&format!("fit two.csv {windows} --cycle day --average off -o m.json")).good();
    assert!(!again.err.contains("there is no event"), "{}", again.err);
    let office = folder.run(&format!("fit office.csv {fit}")).good().err;
    assert!(!office.contains("outage") && office.contains("--cycle day,week, and leave nothing out"), "{office}");
    // A Wednesday beside them is one.
    folder.write("gone.csv", with(&|t| !(1.0..3.0).contains(&(t % 7.0)) && !(19.0..20.0).contains(&t)));
    let said = folder.run(&format!("fit gone.csv {fit}")).good().err;
    let said = said.lines().find(|line| line.contains("(an outage), leave it out")).expect("a warning");
    assert!(said.contains("--cycle day,week. Nor is there one from 2024-03-19T"), "{said}");
    assert_eq!(said.matches("--window").count(), 2, "{said}");
}

/// Four weeks with the change to summer time in the middle: the peak stays at 8:00 by the clocks, which in UTC is 8:00 and then 7:00.
#[test]
fn a_daily_cycle_follows_the_clocks_of_a_time_zone() {
    let folder = Folder::new();
    // Lisbon changes on 31 March at 1:00 UTC, 30 days and an hour after the beginning of March.
    let change = 30.0 + 1.0 / 24.0;
    let rate = |t: f64| peak_at(if t < change { 8.0 } else { 7.0 }, t);
    let times: Vec<f64> = Random(9).times(44.0, 70.0, rate).into_iter().filter(|t| *t > 16.0).collect();
    folder.write("log.csv", dates(&times));
    let fit = "fit log.csv --window 2024-03-17,2024-04-13T23:00 --cycle day --time-zone Europe/Lisbon";
    folder.run(&format!("{fit} --average off --inducing 110 -o m.json")).good();
    let text = folder.run("predict m.json --grid 1345").good().out;
    let (names, rows) = table(&text);
    let (iso, mean) =
        (names.iter().position(|n| n == "time_iso").unwrap(), names.iter().position(|n| n == "mean").unwrap());
    let peak = |day: &str| {
        let rows = rows.iter().filter(|row| row[iso].starts_with(day));
        let best = rows.max_by(|a, b| a[mean].parse::<f64>().unwrap().total_cmp(&b[mean].parse().unwrap())).unwrap();
        best[iso].clone()
    };
    for (day, offset) in
        [("2024-03-24", "+00:00"), ("2024-03-29", "+00:00"), ("2024-04-02", "+01:00"), ("2024-04-08", "+01:00")]
    {
        let at = peak(day);
        let hour: f64 = at[11..13].parse::<f64>().unwrap() + at[14..16].parse::<f64>().unwrap() / 60.0;
        assert!((hour - 8.0).abs() <= 0.75 && at.ends_with(offset), "{at}");
    }
    // No time passes in the hour that the clocks leave out, so it is no part of the day.
    let day = folder.run("count m.json --in 2024-03-31,2024-04-01 --json").good().json()["mean"].as_f64().unwrap();
    let night = folder.run("count m.json --in 2024-03-31,2024-03-31T01:00 --json").good().json();
    let rest = folder.run("count m.json --in 2024-03-31T02:00,2024-04-01 --json").good().json();
    let parts = night["mean"].as_f64().unwrap() + rest["mean"].as_f64().unwrap();
    assert!((parts / day - 1.0).abs() < 1e-6, "{parts} {day}");
    // A point there stands for no time, which is said.
    folder.write("at.csv", "time\n2024-03-31T00:30\n2024-03-31T01:30\n2024-03-31T02:30\n");
    let odd = folder.run("predict m.json --at at.csv").good().err;
    assert!(odd.contains("1 of 3 points") && odd.contains("never show") && odd.contains("2024-03-31T01:30"), "{odd}");
    // Dates with an offset are instants: this is the same hour.
    let by = |ends: &str| folder.run(&format!("count m.json --in {ends} --json")).good().json()["mean"].clone();
    assert_eq!(by("2024-04-02T07:00Z,2024-04-02T08:00Z"), by("2024-04-02T08:00,2024-04-02T09:00"));
    // What comes out goes in.
    folder.write("at.csv", format!("time_iso\n{}\n", rows[5][iso]));
    let again = folder.run("predict m.json --at at.csv").good().out;
    assert!((column(&again, "mean")[0] - rows[5][mean].parse::<f64>().unwrap()).abs() < 1e-6, "{again}");
}

#[test]
fn forecasts_go_beyond_windows_in_pieces_and_ask_for_exposures() {
    let folder = Folder::new();
    let seen = |t: f64| !(4.25..4.75).contains(&t);
    let times: Vec<f64> = Random(21).times(8.0, 70.0, |t| peak_at(15.0, t)).into_iter().filter(|t| seen(*t)).collect();
    folder.write("log.csv", dates(&times));
    let pieces = "--window 2024-03-01,2024-03-05T06:00 --window 2024-03-05T18:00,2024-03-09";
    folder.run(&format!("fit log.csv {pieces} --cycle day {FAST} -o m.json")).good();
    let run = folder.run("count m.json --in 2024-03-09,2024-03-10 --json").good();
    let json = run.json();
    let next = json["mean"].as_f64().unwrap();
    let end = |p: &str| json["new_count"]["quantiles"][p].as_f64().unwrap();
    // 4 + 60 √(2π)/12 a day.
    assert!(end("0.05") < 16.5 && 16.5 < end("0.95") && end("0.95") < 80.0, "{json}");
    let inside = folder.run("count m.json --in 2024-03-08,2024-03-09 --json").good().json()["mean"].as_f64().unwrap();
    let both = folder.run("count m.json --in 2024-03-08,2024-03-10 --json").good().json()["mean"].as_f64().unwrap();
    assert!((both / (inside + next) - 1.0).abs() < 1e-6, "{both} {inside} {next}");

    folder.write("e.csv", "time,e\n2024-03-01,1\n2024-03-04,0.5\n2024-03-09,1\n");
    folder
        .run(&format!("fit log.csv --window 2024-03-01,2024-03-09 --exposure e.csv --cycle day {FAST} -o e.json"))
        .good();
    folder.run("count e.json --in 2024-03-09,2024-03-10").refused(&["exposure", "--exposure-beyond 1"]);
    let one = folder.run("count e.json --in 2024-03-09,2024-03-10 --exposure-beyond 1 --json").good().json();
    let half = folder.run("count e.json --in 2024-03-09,2024-03-10 --exposure-beyond 0.5 --json").good().json();
    let mean = |run: &serde_json::Value| run["mean"].as_f64().unwrap();
    assert!((mean(&one) / mean(&half) - 2.0).abs() < 1e-6);
    folder.run("count m.json --in 2024-03-09,2024-03-10 --exposure-beyond 1").refused(&["has an exposure"]);
    folder.run("count e.json --in 2024-03-09,2024-03-10 --exposure-beyond 0").refused(&["positive"]);
    folder.run("count e.json --in 2024-03-08,2024-03-10 --exposure-beyond 1").refused(&["ask for its parts"]);
    folder.run("count e.json --in 2024-03-02,2024-03-03 --exposure-beyond 1").refused(&["no region lies beyond"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = Folder::new();
    folder.write("log.csv", dates(&Random(2).times(4.0, 20.0, |_| 20.0)));
    folder.write("numbers.csv", "t\n0.5\n1.5\n2.5\n");
    let window = "--window 2024-03-01,2024-03-05";
    folder
        .run(&format!("fit log.csv {window} --time-zone Europe/Lisboa"))
        .refused(&["--time-zone Europe/Lisboa", "Europe/Lisbon"]);
    folder.run("fit numbers.csv --time-zone Europe/Lisbon").refused(&["--time-zone", "no coordinate is a date"]);
    folder.run("summarize log.csv --time-zone Europe/Lisbon -o s").refused(&["--time-zone", "UTC"]);
    folder.run("fit numbers.csv --cycle day").refused(&["no axis is known to be time"]);
    folder.run(&format!("fit log.csv {window} --cycle week")).refused(&["--cycle week", "longer than the window"]);
    folder.run(&format!("fit log.csv {window} --cycle day,day")).refused(&["--cycle day,day", "twice"]);
    for period in ["0", "-1", "nan"] {
        // The place of the mistake is shown on further lines.
        let run = folder.run(&format!("fit numbers.csv --kernel 'se(t) + periodic(t, period={period}!)'"));
        assert!(run.code == 2 && run.err.contains("period"), "{}", run.err);
    }
    folder.run(&format!("fit log.csv {window} -o plain.json")).good();
    folder.run("predict plain.json --components").refused(&[
        "no components",
        "factors of a product cannot be told apart",
        "--cycle day",
    ]);
    folder.run("plot plain.json --components").refused(&["no components", "--cycle day"]);
}

/// An event every five minutes over the night in which Lisbon's clocks go back, on 27 October 2024 at 1:00 UTC: three hours of the clocks are four real ones.
fn autumn(folder: &Folder) -> &'static str {
    let time = |minute: u32| {
        let (day, hour) = if minute < 60 { (26, 23) } else { (27, minute / 60 - 1) };
        format!("2024-10-{day}T{hour:02}:{:02}:30Z\n", minute % 60)
    };
    folder.write("f.csv", (0..48).fold("when\n".to_string(), |text, n| text + &time(5 * n)));
    "fit f.csv --time-zone Europe/Lisbon"
}

const NIGHT: &str = "2024-10-27T00:00,2024-10-27T03:00";

fn mean(folder: &Folder, count: &str) -> f64 {
    folder.run(&format!("count {count} --json")).good().json()["mean"].as_f64().unwrap()
}

#[test]
fn an_hour_that_clocks_show_twice_is_counted_twice_and_not_more() {
    let folder = Folder::new();
    let fit = autumn(&folder);
    folder.run(&format!("{fit} --window {NIGHT} -o f.json")).good();
    let (whole, asked) = (mean(&folder, "f.json"), mean(&folder, &format!("f.json --in {NIGHT}")));
    assert!((whole / asked - 1.0).abs() < 1e-9 && (whole / 48.0 - 1.0).abs() < 0.03, "{whole} {asked}");
    let bins = folder.run("count f.json --every 30min --json").good().json();
    let sum: f64 = bins["regions"].as_array().unwrap().iter().map(|bin| bin["mean"].as_f64().unwrap()).sum();
    assert!((sum / whole - 1.0).abs() < 1e-6, "{sum} {whole}");
    // Three looks have a third of the rate.
    folder.run(&format!("{fit} --window {NIGHT} --repeats 3 -o three.json")).good();
    let third = mean(&folder, "three.json");
    assert!((3.0 * third / whole - 1.0).abs() < 0.05, "{third} {whole}");
    let both = folder.run("contrast f.json three.json --json").good().json();
    assert!((both["a"]["mean"].as_f64().unwrap() / whole - 1.0).abs() < 1e-9, "{both}");

    // The same events by UTC, where the night is four plain hours, have the same score.
    folder.run("fit f.csv --window 2024-10-26T23:00,2024-10-27T03:00 -o utc.json").good();
    let score = |model: &str| folder.run(&format!("score {model} f.csv --json")).good().json();
    let (clocks, utc) = (score("f.json"), score("utc.json"));
    for name in ["l_p", "l_0"] {
        let [clocks, utc] = [&clocks, &utc].map(|score| score[name].as_f64().unwrap());
        assert!((clocks - utc).abs() < 0.05, "{name}: {clocks} {utc}");
    }
    assert_eq!(folder.run("score f.json f.csv --repeats 1 --json").good().json(), clocks);
    folder.write("trials.csv", "trial,start,end\n1,2024-10-27T00:00,2024-10-27T03:00\n");
    folder.write("g.csv", "trial,when\n1,2024-10-27T00:30:00\n");
    folder.run("score f.json g.csv --trials trials.csv").refused(&["--time-zone Europe/Lisbon", "--trials"]);
}

#[test]
fn ends_inside_an_hour_that_clocks_show_twice_are_refused() {
    let folder = Folder::new();
    let fit = autumn(&folder);
    for end in ["2024-10-27T01:30", "2024-10-27T00:30Z"] {
        let why = ["Europe/Lisbon", "2024-10-27T01:30:00 twice", "2024-10-27T02:00:00", "--time-zone"];
        folder.run(&format!("{fit} --clip --window 2024-10-27T00:00,{end}")).refused(&why);
    }
    for end in ["2024-10-27T01:30Z", "2024-10-27T01:00Z"] {
        folder.run(&format!("{fit} --clip --window 2024-10-27T00:00,{end}")).refused(&[
            end,
            "again",
            "without an offset",
        ]);
    }
    folder.run(&format!("{fit} --window {NIGHT} -o f.json")).good();
    folder.run("count f.json --in 2024-10-27T00:00Z,2024-10-27T01:00Z").refused(&[
        "2024-10-27T01:00Z",
        "Europe/Lisbon",
        "again",
    ]);
    folder.run("count f.json --in 2024-10-27T01:30,2024-10-27T03:00").refused(&["twice", "2024-10-27T01:00:00"]);
    folder.write("r.csv", "start,end\n2024-10-27T00:00Z,2024-10-27T02:00Z\n");
    folder.run("count f.json --in r.csv").refused(&["r.csv, line 2", "twice", "--in"]);
    folder.write("late.csv", "when\n2024-10-27T01:10Z\n2024-10-27T01:20Z\n2024-10-27T05:00Z\n");
    folder.run("fit late.csv --time-zone Europe/Lisbon").refused(&[
        "the window around the events",
        "twice",
        "--window",
    ]);
    // From its beginning to its end it is two hours.
    let hour = mean(&folder, "f.json --in 2024-10-27T00:00Z,2024-10-27T02:00Z");
    assert!((hour / 24.0 - 1.0).abs() < 0.1, "{hour}");
}

#[test]
fn clocks_changed_before_1970_too() {
    let folder = Folder::new();
    // Alaska had 18 October 1867 twice: so many events in six days of the clocks, which were seven.
    let times = (0..70).map(|n| format!("1867-10-{:02}T{:02}:00:00\n", 15 + n / 12, 2 * (n % 12)));
    folder.write("old.csv", times.fold("when\n".to_string(), |text, time| text + &time));
    let fit = "fit old.csv --time-zone America/Juneau --window 1867-10-15,1867-10-21 -o old.json --json";
    let window = folder.run(fit).good().json()["window"].clone();
    assert!((window["measure"].as_f64().unwrap() - 7.0).abs() < 1e-6, "{window}");
}

#[test]
fn models_of_different_clocks_do_not_stand_beside_each_other() {
    let folder = Folder::new();
    let fit = autumn(&folder);
    let window = "--window 2024-10-26T23:00,2024-10-27T04:00";
    folder.run(&format!("{fit} {window} -o lisbon.json")).good();
    folder.run(&format!("fit f.csv {window} -o utc.json")).good();
    folder.run("plot lisbon.json --with utc.json -o p.png").refused(&["--with utc.json", "UTC", "Europe/Lisbon"]);
    folder.run("fit f.csv --window 2024-10-26T23:00,2024-10-27T03:00 -o other.json").good();
    folder.run("contrast lisbon.json other.json").refused(&["UTC", "Europe/Lisbon", "--time-zone"]);
    folder.run(&format!("{fit} --window {NIGHT} -o night.json")).good();
    folder.run("contrast night.json other.json").refused(&["UTC", "Europe/Lisbon", "--time-zone"]);
    folder.run("contrast lisbon.json utc.json").refused(&["UTC", "Europe/Lisbon", "--time-zone"]);
    folder
        .run("contrast lisbon.json utc.json --in 2024-10-27T02:00,2024-10-27T03:00")
        .refused(&["UTC", "Europe/Lisbon"]);
    folder.run("report lisbon.json -o lisbon.html").good();
    let page = std::fs::read_to_string(folder.path("lisbon.html")).unwrap();
    assert!(page.contains("date (Europe/Lisbon)") && !page.contains("date (UTC)"));
}

#[test]
fn forecasts_and_events_know_the_hour_that_clocks_leave_out() {
    let folder = Folder::new();
    let hours = (0..120).map(|n| format!("2026-03-{:02}T{:02}:30:00\n", 24 + n / 24, n % 24));
    folder.write("spring.csv", hours.fold("when\n".to_string(), |text, hour| text + &hour));
    let fit = "fit spring.csv --time-zone Europe/Lisbon";
    folder.run(&format!("{fit} --window 2026-03-24,2026-03-29 -o m.json")).good();
    folder
        .run("count m.json --in 2026-03-29T01:00,2026-03-29T02:00")
        .refused(&["left out by the clocks of Europe/Lisbon"]);
    let day = mean(&folder, "m.json --in 2026-03-29,2026-03-30");
    let run = folder.run("count m.json --in 2026-03-29,2026-03-30 --every 1h --json");
    assert!(
        run.code == 0 && run.err.contains("1 of the 24 regions") && run.err.contains("Europe/Lisbon"),
        "{}",
        run.err
    );
    let json = run.json();
    let bins = json["regions"].as_array().unwrap();
    let sum: f64 = bins.iter().map(|bin| bin["mean"].as_f64().unwrap()).sum();
    assert!(bins.len() == 23 && (sum / day - 1.0).abs() < 1e-6, "{sum} {day}");

    folder.write("gap.csv", "when\n2026-03-28T12:00\n2026-03-29T01:30\n2026-03-29T12:00\n");
    let fit = "fit gap.csv --time-zone Europe/Lisbon --window 2026-03-28,2026-03-30";
    let run = folder.run(fit).refused(&["line 3", "the clocks of Europe/Lisbon leave out", "--clip"]);
    assert!(!run.err.contains("larger --window"), "{}", run.err);
    let run = folder.run(&format!("{fit} --clip"));
    assert!(run.code == 0 && run.err.contains("clocks of Europe/Lisbon leave out, dropped"), "{}", run.err);
    let fit = "fit spring.csv --clip --time-zone Europe/Lisbon --window 2026-03-29T01:00,2026-03-29T02:00";
    folder.run(fit).refused(&["--window", "never show"]);
}

/// Events of some days in a square, more about noon and in the east than else.
fn days_in_a_square(days: f64, most: f64) -> String {
    let mut random = Random(31);
    let times = random.times(days, most, |t| most / 70.0 * peak_at(12.0, t));
    let row = |t: &f64| {
        // The more of x there is, the more events.
        let (x, y) = (random.next().sqrt(), random.next());
        format!("{x:.4},{y:.4},{}\n", march(*t))
    };
    "x,y,time\n".to_string() + &times.iter().map(row).collect::<String>()
}

#[test]
fn a_cycle_on_a_map_goes_up_and_down_and_differs_from_place_to_place() {
    let folder = Folder::new();
    folder.write("log.csv", days_in_a_square(2.0, 200.0));
    let fit = "fit log.csv --columns x,y,time --window 0,1,0,1,2024-03-01,2024-03-03 --average off --cycle day";
    let fitted = folder.run(&format!("{fit} --inducing 3x3x14 -o m.json --json")).good();
    assert!(!fitted.err.contains("the kernel leaves"), "{}", fitted.err);
    let kernel = fitted.json()["kernel"].as_str().unwrap().to_string();
    assert_eq!(kernel.matches("se(x,y,time)").count(), 2, "{kernel}");
    folder
        .write("at.csv", "x,y,time\n0.1,0.5,2024-03-02T12:00Z\n0.9,0.5,2024-03-02T12:00Z\n0.9,0.5,2024-03-02T00:00Z\n");
    let rates = column(&folder.run("predict m.json --at at.csv").good().out, "mean");
    assert!(rates[1] > 2.0 * rates[0] && rates[1] > 2.0 * rates[2], "{rates:?}");
    let parts = folder.run("predict m.json --components --at at.csv").good().out;
    assert!(column(&parts, "day")[1] > column(&parts, "day")[2], "{parts}");
    // So many points as four weeks of days need on a map nobody has time for.
    let long = fit.replace("2024-03-03", "2024-03-29");
    let refused = folder.run(&format!("{long} -o n.json")).refused(&[
        "--cycle day is there 28 times",
        "shorter window",
        "--inducing",
    ]);
    let grid = refused.err.split("as in 3x3x").nth(1).unwrap();
    let count: usize = grid.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
    // Two in each cycle, and together no more than a fit takes.
    assert!((56..=64).contains(&count), "{}", refused.err);
    // Halves of the map add up, and so do days; tomorrow is a forecast.
    let count = |region: &str| mean(&folder, &format!("m.json --in {region}"));
    let whole = mean(&folder, "m.json");
    let halves = count("0,0.5,0,1,2024-03-01,2024-03-03") + count("0.5,1,0,1,2024-03-01,2024-03-03");
    let days = count("0,1,0,1,2024-03-01,2024-03-02") + count("0,1,0,1,2024-03-02,2024-03-03");
    assert!((halves / whole - 1.0).abs() < 1e-6 && (days / whole - 1.0).abs() < 1e-6, "{halves} {days} {whole}");
    let events = fitted.json()["events"].as_f64().unwrap();
    assert!((whole / events - 1.0).abs() < 0.05, "{whole} of {events}");
    let tomorrow = count("0,1,0,1,2024-03-03,2024-03-04");
    assert!((0.4..2.5).contains(&(2.0 * tomorrow / events)), "{tomorrow} of {events}");
    // A map of the trend, its course, and the day.
    folder.run("plot m.json --components -o parts.svg").good();
    let svg = std::fs::read_to_string(folder.path("parts.svg")).unwrap();
    let words = ["trend, the others at their average", "trend along time", "day", "06:00", "90 % credible band"];
    assert!(words.iter().all(|word| svg.contains(word)), "{svg}");
    folder.run("plot m.json --components --terminal").good();
    folder.run("plot m.json --components --times 4 -o parts.svg").refused(&["--times", "--components"]);
    // Six maps in two days are eight hours apart.
    let said = folder.run("plot m.json -o maps.svg").good().err;
    assert!(said.contains("on `time` what is shown lies 0.333333 days apart") && said.contains("--at-times"), "{said}");
    assert!(!folder.run("plot m.json --times 8 -o maps.svg").good().err.contains("apart"));
    // The slider of a page has so many times that a day is seen.
    assert!(!folder.run("report m.json --cells 10 -o page.html").good().err.contains("apart"));
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    assert!(page.contains("\"cells\":[10,10,16]") && !page.contains("lies 0."), "{}", &page[page.len() / 2..]);
}

#[test]
fn a_kernel_that_leaves_an_axis_out_says_so() {
    let folder = Folder::new();
    folder.write("log.csv", days_in_a_square(2.0, 70.0));
    let fit = "fit log.csv --columns x,y --window 0,1,0,1 --average off --inducing 4x4 -o m.json";
    let said = folder.run(&format!("{fit} --kernel 'se(x)'")).good().err;
    assert!(said.contains("the kernel leaves `y` out") && said.contains("multiply its terms by se(y)"), "{said}");
    for kernel in ["se", "se(x) + se(y)", "se(x)*constant(y)"] {
        let said = folder.run(&format!("{fit} --kernel '{kernel}'")).good().err;
        assert!(!said.contains("the kernel leaves"), "{kernel}: {said}");
    }
}

/// Points at every sixth hour do not show a peak between two of them: that is said twice.
#[test]
fn inducing_points_at_few_hours_are_told_of() {
    let folder = Folder::new();
    let mut random = Random(7);
    // A peak of some three hours.
    let narrow = |t: f64| 4.0 + 120.0 * ((peak_at(9.0, t) - 4.0) / 60.0).powf(16.0 / 9.0);
    let times = random.times(6.0, 130.0, narrow);
    let row = |t: &f64| format!("{:.4},{:.4},{}\n", random.next(), random.next(), march(*t));
    folder.write("log.csv", "x,y,time\n".to_string() + &times.iter().map(row).collect::<String>());
    let fit =
        "fit log.csv --columns x,y,time --window 0,1,0,1,2024-03-01,2024-03-07 --average off --cycle day -o m.json";
    let run = folder.run(&format!("{fit} --inducing 2x2x25")).good();
    let (out, few) = (run.out, run.err);
    assert!(few.contains("25 inducing points on `time`") && few.contains("25 % of it"), "{few}");
    assert!(few.contains("do not look like events of this rate"), "{few}");
    assert!(out.contains("more inducing points (--inducing)"), "{out}");
    let enough =
        few.split("take ").find_map(|rest| rest.split(" points on `time`").next()?.parse::<usize>().ok()).unwrap();
    let good = folder.run(&format!("{fit} --inducing 2x2x{enough}")).good().err;
    assert!(!good.contains("inducing points on") && !good.contains("do not look like"), "{good}");
}

#[test]
fn a_curve_goes_on_beyond_the_window() {
    let folder = Folder::new();
    folder.write("log.csv", dates(&Random(5).times(6.0, 70.0, |t| peak_at(15.0, t))));
    folder.run(&format!("fit log.csv --window 2024-03-01,2024-03-07 --cycle day {FAST} -o m.json")).good();
    folder.run("plot m.json -o inside.svg").good();
    folder.run("plot m.json --until 2024-03-09 --mark 2024-03-08=later -o beyond.svg").good();
    let [inside, beyond] = ["inside.svg", "beyond.svg"].map(|name| std::fs::read_to_string(folder.path(name)).unwrap());
    assert!(!inside.contains("class=\"gap\"") && beyond.contains("class=\"gap\"") && beyond.contains("forecast"));
    assert!(beyond.contains("later") && !inside.contains("forecast"));
    // What is drawn last is what `predict` says of that place: two panels of the same height show the same largest rate.
    let path =
        |svg: &str| svg.lines().filter(|line| line.contains("stroke-width=\"2.2\"")).map(str::len).sum::<usize>();
    assert!(path(&beyond) > path(&inside), "{} {}", path(&beyond), path(&inside));
    folder.run("plot m.json --until 2024-03-06 -o b.svg").refused(&["--until 2024-03-06", "2024-03-07", "later"]);
    folder.run("plot m.json --until soon -o b.svg").refused(&["--until soon", "no place of axis"]);
    folder.run("plot m.json --until 2030-01-01 -o b.svg").refused(&["--until 2030-01-01", "10 times", "2024-05-06"]);
    assert_eq!(folder.run("plot m.json --until 2024-03-08 --with m.json -o b.svg").code, 2);
    folder.run("plot m.json --until 2024-03-08 --components -o b.svg").refused(&["--until", "--components"]);
    folder.run("plot kenya --until 40 -o b.svg").refused(&["--until", "not a line"]);
}

/// Samoa left out 30 December 2011, which `--every` says.
#[test]
fn a_day_that_clocks_leave_out_is_named_among_bins() {
    let folder = Folder::new();
    let days = ["2011-12-28T00:00", "2011-12-29T11:00", "2011-12-29T12:00", "2011-12-31T12:00", "2012-01-01T12:00"];
    folder.write("s.csv", format!("when\n{}\n", days.join("\n")));
    folder.run("fit s.csv --time-zone Pacific/Apia --window 2011-12-28,2012-01-02 -o m.json").good();
    let run = folder.run("count m.json --every 1d --json").good();
    assert_eq!(run.json()["regions"].as_array().unwrap().len(), 4);
    assert!(
        run.err.contains("1 of the 5 regions") && run.err.contains("Pacific/Apia") && run.err.contains("2011-12-30"),
        "{}",
        run.err
    );
}

#[test]
fn means_that_a_few_high_rates_carry_are_told_of() {
    let folder = Folder::new();
    folder.write("few.csv", "t\n1\n2.2\n2.5\n9\n");
    folder.run("fit few.csv --window 0,10 --link log -o m.json").good();
    let far = folder.run("count m.json --in 50,60").good().err;
    assert!(far.contains("more than 3 times the mean") && far.contains("read the quantiles"), "{far}");
    assert!(!folder.run("count m.json --in 0,10").good().err.contains("3 times the mean"));
    folder.write("at.csv", "t\n5\n60\n");
    let far = folder.run("predict m.json --at at.csv").good().err;
    assert!(far.contains("at 1 of 2 points the standard deviation is more than 3 times the mean"), "{far}");
}

/// Weekends with three times the events of other days, for five weeks, and more in the mornings: a search that begins with weeks that change from day to day ends
/// 20 nats lower.
#[test]
fn a_week_beside_a_day_is_found() {
    let folder = Folder::new();
    let mut times = vec![];
    for day in 0..35 {
        for _ in 0..if day % 7 >= 5 { 24 } else { 7 } {
            let u = (0.5 + 0.754_877_666 * (times.len() + 1) as f64).fract();
            // Where 1 + 0.7 sin 2πt adds up to u.
            let below = |t: f64| t + 0.7 * (1.0 - (TAU * t).cos()) / TAU;
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..40 {
                let middle = 0.5 * (low + high);
                if below(middle) < u { low = middle } else { high = middle }
            }
            times.push(format!("{:.6}\n", f64::from(day) + low));
        }
    }
    folder.write("week.csv", format!("t\n{}", times.concat()));
    let bound = |how: &str| {
        let line = format!("fit week.csv --unit t=days --window 0,35 {how} --average off --json -q");
        folder.run(&line).good().json()["elbo"].as_f64().unwrap()
    };
    let slow = "se(t, lengthscale=100)";
    let other = format!(
        "--kernel 'se(t) + {slow}*periodic(t, period=1!, lengthscale=2) + {slow}*periodic(t, period=7!, lengthscale=0.3)'"
    );
    let (found, elsewhere) = (bound("--cycle day,week"), bound(&other));
    assert!(found > elsewhere - 2.0, "{found} {elsewhere}");
}
