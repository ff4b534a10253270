//! `check --fit`: misfit, anomalies and clusters are found where they are, and not where they are not.

use crate::common::Folder;

/// Places that fill a line evenly, without a pattern.
fn even(count: u32) -> impl Iterator<Item = f64> {
    (0..count).map(|i| 100.0 * (f64::from(i) * 0.618_033_988_75 + 0.003 * f64::from(i * i % 17)).fract())
}

fn table(times: impl Iterator<Item = f64>) -> String {
    "t\n".to_string() + &times.map(|t| format!("{t:.6}\n")).collect::<String>()
}

#[test]
fn an_anomaly_is_listed_and_a_fit_without_one_is_not_blamed() {
    let folder = Folder::new();
    // A week in which nobody looked, which the model knows nothing of.
    folder.write("all.csv", table(even(2000)));
    folder.write("gap.csv", table(even(2000).filter(|t| !(41.0..47.0).contains(t))));
    folder.run("fit all.csv --window 0,100 -q -o m.json").good();
    let text = folder.run("check m.json gap.csv --fit --every 1").good().out;
    assert!(
        text.contains("  bins ") && text.contains(" of 100 outside") && text.contains("bins are empty beyond chance"),
        "{text}"
    );
    let told = folder.run("check m.json gap.csv --fit --every 1 --json").good().json();
    for bin in told["bins"].as_array().unwrap() {
        let (lo, p, seen) =
            (bin["region"][0][0].as_f64().unwrap(), bin["p"].as_f64().unwrap(), bin["seen"].as_u64().unwrap());
        if (41.0..46.5).contains(&lo) {
            assert!(seen == 0 && p < 0.01 && bin["lower"].as_f64().unwrap() > 0.0, "{bin}");
        }
        assert!(bin["lower"].as_f64().unwrap() <= bin["expected"].as_f64().unwrap() + 1.0, "{bin}");
    }
    assert!(told["goodness"]["p"].as_f64().unwrap() < 0.01);
    folder.run("check m.json gap.csv --fit --every 1 -q -o bins.csv").good();
    let lines = String::from_utf8(folder.read("bins.csv")).unwrap();
    assert!(lines.starts_with("region,t_lo,t_hi,seen,expected,new_q0.025,new_q0.975,p,outside\n"), "{lines}");
    let columns = |line: &str| line.split(',').map(str::to_string).collect::<Vec<_>>();
    let seen: u64 =
        lines.lines().skip(1).map(|line| columns(line).iter().rev().nth(5).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(seen, told["events"].as_u64().unwrap());
    let good = folder.run("fit coal -q -o coal.json").good();
    assert_eq!(good.code, 0);
    let text = folder.run("check coal.json --fit").good().out;
    assert!(text.contains("nothing speaks against the model") && text.contains("inside the band of 95 %"), "{text}");
}

#[test]
fn clusters_that_no_rate_explains_are_seen_in_pairs() {
    let folder = Folder::new();
    let place = |i: u32, of: f64| (f64::from(i) * of).fract();
    // Sixty families of five within a tenth, under a rate that must be flat.
    let family = |i: u32| {
        let [x, y] = [10.0 * place(i, 0.754_877_666), 10.0 * place(i, 0.569_840_291)];
        (0..5).map(move |k| {
            format!("{:.4},{:.4}\n", (x + 0.04 * f64::from(k % 3)).min(10.0), (y + 0.05 * f64::from(k / 2)).min(10.0))
        })
    };
    folder.write("clusters.csv", "x,y\n".to_string() + &(0..60).flat_map(family).collect::<String>());
    let lone = |i: u32| format!("{:.4},{:.4}\n", 10.0 * place(i, 0.754_877_666), 10.0 * place(i, 0.569_840_291));
    folder.write("lone.csv", "x,y\n".to_string() + &(0..300).map(lone).collect::<String>());
    for (name, nearness) in [("clusters", "closer"), ("lone", "apart")] {
        let fit = format!(
            "fit {name}.csv --window 0,10,0,10 --average off --link log --smoothness 2 --fix lengthscale=10 -q -o {name}.json"
        );
        folder.run(&fit).good();
        let told = folder.run(&format!("check {name}.json --fit --json")).good().json();
        let pairs = &told["pairs"];
        // Families are too close; points that fill the plane evenly keep a distance.
        let p = if nearness == "closer" { &pairs["p"] } else { &pairs["p_fewer"] };
        assert!(p.as_f64().unwrap() < 0.05 && pairs["nearness"] == nearness, "{pairs}");
    }
    let text = folder.run("check clusters.json --fit").good().out;
    assert!(text.contains("that the rate does not explain") && text.contains("has no memory"), "{text}");
    let text = folder.run("check lone.json --fit").good().out;
    assert!(text.contains("events keep a distance") && text.contains("less than half as many"), "{text}");
    // The page says the same of the same events.
    for (name, is_said) in [("clusters", true), ("lone", false)] {
        folder.run(&format!("report {name}.json -o {name}.html")).good();
        let page = String::from_utf8(folder.read(&format!("{name}.html"))).unwrap();
        assert_eq!(page.contains("has no memory: in it no event brings about another"), is_said, "{name}");
    }
}

/// Bursts on a line, which the rate follows: whatever is said of their pairs, it is not that they keep a distance.
#[test]
fn bursts_are_not_said_to_keep_a_distance() {
    let folder = Folder::new();
    let burst = |i: u32| {
        let at = 239.0 * (f64::from(i) * 0.618_033_988_75 + 0.01 * f64::from(i * i % 23)).fract();
        // Places in a burst are not a pattern: what is left of a sine that was made large.
        (0..4u32).map(move |k| at + 0.3 * (43_758.545_3 * (12.9898 * f64::from(4 * i + k)).sin()).rem_euclid(1.0))
    };
    folder.write("bursts.csv", table((0..120).flat_map(burst)));
    folder.run("fit bursts.csv --window 0,240 --unit hours -q -o m.json").good();
    let text = folder.run("check m.json --fit").good().out;
    assert!(
        text.contains("  pairs ") && !text.contains("keep a distance") && !text.contains("less than half"),
        "{text}"
    );
}

/// One hour that no rate explains among many, which the verdict must name; distances have their unit.
#[test]
fn one_bin_beyond_chance_is_named_in_the_verdict() {
    let folder = Folder::new();
    folder.write("all.csv", table(even(600)));
    let burst = (0..40).map(|k| 50.0 + 0.02 * f64::from(k));
    folder.write("burst.csv", table(even(600).chain(burst)));
    folder.run("fit all.csv --window 0,100 --unit hours --average off -q -o m.json").good();
    let text = folder.run("check m.json burst.csv --fit --every 1").good().out;
    let verdict = text.lines().find(|line| line.contains("beyond chance even among 100")).unwrap_or_default();
    assert!(verdict.contains("50,51") && verdict.contains("--every") && verdict.contains("shorter window"), "{text}");
    assert!(!text.contains("nothing speaks against") && text.contains("at most about 5 are by chance"), "{text}");
    let within = text.lines().filter(|line| line.contains("within ") && line.contains("pairs "));
    assert!(within.clone().count() > 0 && within.clone().all(|line| line.contains(" hours")), "{text}");
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let folder = Folder::new();
    folder.run("fit coal --average off -q -o m.json").good();
    folder.run("check m.json").refused(&["events", "--fit"]);
    folder.run("check m.json coal --every 10").refused(&["--every", "--fit"]);
    folder.run("check m.json --fit --draws 500").refused(&["--draws"]);
    folder.run("check m.json --fit -o bins.pdf").refused(&["bins.pdf"]);
    folder.run("check m.json --fit --every 0").refused(&["0"]);
}

#[test]
fn trials_have_bins_of_all_trials_together() {
    let folder = Folder::new();
    folder.run("fit spikes --average off -q -o m.json").good();
    let told = folder.run("check m.json --fit --json").good().json();
    let bins = told["bins"].as_array().unwrap();
    let sum = |name: &str| bins.iter().map(|bin| bin[name].as_f64().unwrap()).sum::<f64>();
    assert_eq!(sum("seen"), told["events"].as_f64().unwrap());
    // What is expected is that of all trials, not of one.
    assert!((sum("expected") / sum("seen") - 1.0).abs() < 0.05, "{} {}", sum("expected"), sum("seen"));
    let outside = bins.iter().filter(|bin| bin["outside"] == true).count();
    assert!(bins.len() > 30 && outside <= bins.len() / 8, "{outside} of {}", bins.len());
    let same = folder.run("check m.json --fit --every 0.5 --json").good().json();
    assert_eq!(same["bins"].as_array().unwrap().len(), 4);
}

#[test]
fn an_outage_is_told_apart_and_twins_are_asked_about() {
    let folder = Folder::new();
    folder.write("gap.csv", table(even(2000).filter(|t| !(41.0..47.0).contains(t))));
    folder.write("all.csv", table(even(2000)));
    folder.run("fit all.csv --window 0,100 --average off -q -o m.json").good();
    let text = folder.run("check m.json gap.csv --fit --every 1").good().out;
    assert!(text.contains("an outage") && text.contains("--window") && text.contains("--exposure"), "{text}");
    let twins = even(300).enumerate().flat_map(|(n, t)| [Some(t), (n % 12 == 0).then_some(t + 0.0005)]).flatten();
    folder.write("twins.csv", table(twins.filter(|t| *t < 100.0)));
    folder.run("fit twins.csv --window 0,100 --average off -q -o twins.json").good();
    let text = folder.run("check twins.json --fit").good().out;
    assert!(text.contains("closest pairs") && text.contains("duplicates?"), "{text}");
}

/// The figure marks just the bins that are listed, and says how many they are.
#[test]
fn anomalies_are_marked_in_figures() {
    let folder = Folder::new();
    folder.write("all.csv", table(even(600)));
    folder.write("gap.csv", table(even(600).filter(|t| !(41.0..47.0).contains(t))));
    folder.run("fit all.csv --window 0,100 --average off -q -o m.json").good();
    let told = folder.run("check m.json gap.csv --fit --json").good().json();
    let listed = told["bins"].as_array().unwrap().iter().filter(|bin| bin["outside"] == true).count();
    let said = folder.run("plot m.json --events gap.csv --mark-anomalies -o m.svg").good().err;
    assert!(listed > 2 && said.contains(&format!("{listed} of 64 bins outside")), "{listed} {said}");
    let svg = String::from_utf8(folder.read("m.svg")).unwrap();
    assert_eq!(svg.matches("class=\"anomaly\"").count(), listed);
    folder.run("plot m.json -o plain.svg").good();
    assert!(!String::from_utf8(folder.read("plain.svg")).unwrap().contains("anomaly"));
    // On a map, a box where nobody looked.
    let place = |i: u32, of: f64| 10.0 * (f64::from(i) * of).fract();
    let rows = |is_kept: fn(f64, f64) -> bool| {
        let row = |i: u32| (place(i, 0.754_877_666), place(i, 0.569_840_291));
        let kept = (0..900).map(row).filter(move |(x, y)| is_kept(*x, *y));
        "x,y\n".to_string() + &kept.map(|(x, y)| format!("{x:.4},{y:.4}\n")).collect::<String>()
    };
    folder.write("plane.csv", rows(|_, _| true));
    folder.write("hole.csv", rows(|x, y| !(2.5..5.0).contains(&x) || !(2.5..5.0).contains(&y)));
    folder
        .run("fit plane.csv --window 0,10,0,10 --average off --link log --smoothness 2 --nodes 20x20 -q -o p.json")
        .good();
    folder.run("plot p.json --events hole.csv --mark-anomalies -o p.svg").good();
    let svg = String::from_utf8(folder.read("p.svg")).unwrap();
    assert!((4..9).contains(&svg.matches("class=\"anomaly\"").count()), "{}", svg.matches("class=\"anomaly\"").count());
}

#[test]
fn two_models_of_the_same_events_are_not_taken_for_independent() {
    let folder = Folder::new();
    folder.run("fit coal --average off -q -o a.json").good();
    folder.run("fit coal --average off --link log -q -o b.json").good();
    folder.run("fit coal --average off --where 'year<1900' --clip -q -o c.json").good();
    folder.run("fit tweets --average off -q -o d.json").good();
    assert!(folder.run("contrast a.json b.json").good().err.contains("the same 191 events"));
    let part = folder.run("contrast a.json c.json --in 1860,1880").good().err;
    assert!(part.contains("events that are the same"), "{part}");
    folder.run("fit tweets --average off --window 0,7 --clip -q -o e.json").good();
    folder.run("fit tweets --average off --window 7,14 --clip -q -o f.json").good();
    let apart = folder.run("contrast e.json f.json --in 1,6").good().err;
    assert!(!apart.contains("learned from"), "{apart}");
}

#[test]
fn a_rate_that_jumps_is_warned_of() {
    let folder = Folder::new();
    let said = folder.run("fit aftershocks -o a.json").good().err;
    assert!(said.contains("the rate jumps") && said.contains("aftershocks, bursts, replies"), "{said}");
    for quiet in ["coal", "spikes"] {
        let said = folder.run(&format!("fit {quiet} -o q.json")).good().err;
        assert!(!said.contains("bursts"), "{quiet}: {said}");
    }
}

/// Numbers from 0 to 1 without structure (a linear congruential generator), the same each time.
fn random(seed: u64) -> impl Iterator<Item = f64> {
    let step = |state: &u64| Some(state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
    std::iter::successors(Some(seed), step).skip(1).map(|state| (state >> 11) as f64 / (1u64 << 53) as f64)
}

/// A bin that is far out, but not beyond chance among so many, is pointed at by a line of its own; one that is beyond chance, or none, by none.
#[test]
fn a_bin_that_may_be_chance_is_worth_a_look() {
    let folder = Folder::new();
    let events = || random(5).skip(3).take(400).map(|u| 100.0 * u);
    folder.write("all.csv", table(events()));
    folder.run("fit all.csv --window 0,100 -q -o m.json").good();
    let (mut pointed, mut quiet, mut beyond) = (0, 0, 0);
    for more in [0, 14, 15, 16, 20, 24] {
        folder.write("more.csv", table(events().chain(random(9).skip(1).take(more).map(|u| 40.0 + 10.0 * u))));
        let text = folder.run("check m.json more.csv --fit --every 10").good().out;
        let told = folder.run("check m.json more.csv --fit --every 10 --json").good().json();
        let bins = told["bins"].as_array().unwrap();
        let least = bins.iter().map(|bin| bin["p"].as_f64().unwrap()).fold(1.0, f64::min);
        // So many sets have such a bin at most (Bonferroni).
        let chance = least * bins.len() as f64;
        let line = text.lines().find(|line| line.contains("worth a look"));
        assert_eq!(line.is_some(), (0.05..0.2).contains(&chance), "{chance}: {text}");
        assert_eq!(text.contains("beyond chance"), chance < 0.05, "{chance}: {text}");
        if let Some(line) = line {
            let percent = format!("at most {} %", (100.0 * chance).ceil());
            assert!(line.contains("one of 10 bins") && line.contains("40,50") && line.contains(&percent), "{line}");
            assert!(text.contains("nothing speaks against the model"), "{text}");
        }
        pointed += usize::from(line.is_some());
        quiet += usize::from(chance >= 0.2);
        beyond += usize::from(chance < 0.05);
    }
    assert!(pointed > 0 && quiet > 0 && beyond > 0, "{pointed} {quiet} {beyond}");
}
