//! `check --fit`: misfit, anomalies and clusters are found where they are, and not where they are not.

mod common;

use common::Folder;

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
        text.contains("  bins ") && text.contains(" of 100 outside") && text.contains("an anomaly there"),
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
    for (name, more) in [("clusters", true), ("lone", false)] {
        let fit = format!(
            "fit {name}.csv --window 0,10,0,10 --average off --link log --smoothness 2 --fix lengthscale=10 -q -o {name}.json"
        );
        folder.run(&fit).good();
        let told = folder.run(&format!("check {name}.json --fit --json")).good().json();
        let pairs = &told["pairs"];
        // Families are too close; points that fill the plane evenly keep a distance.
        assert!(pairs["p"].as_f64().unwrap() < 0.05 && pairs["more"] == more, "{pairs}");
    }
    let text = folder.run("check clusters.json --fit").good().out;
    assert!(text.contains("clusters that the rate does not explain"), "{text}");
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
