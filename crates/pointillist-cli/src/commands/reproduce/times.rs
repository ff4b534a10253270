//! Run times of all methods on the data in one dimension (the paper's Table 2): one fit at a time, nothing else running.

use super::*;
use pointillist::settings::Inducing;
use pointillist_rivals::sgcp::Settings;

/// Fits over which the median is taken; the sampler is run once.
const REPEATS: (usize, usize) = (11, 1);
/// The sets, and the most sweeps of the sampler, which otherwise goes on until R̂ < 1.01 and 400 effective draws.
const SETS: [(&str, usize); 2] = [("coal", 20_000), ("tweets", 1000)];
/// The paper's seconds: VBPP, KS+EC, KS−EC, SGCP.
const PAPER: [(&str, [f64; 4]); 2] = [("coal", [0.7, 0.0, 0.0, 417.6]), ("tweets", [0.5, 0.3, 0.2, 230.0])];

pub fn run(bench: &Bench) -> Result<Section, Failure> {
    let mut rows = Vec::new();
    let mut goals = Vec::new();
    for (name, most_sweeps) in SETS {
        let events = bundled(name)?;
        let paper = |method: usize| PAPER.iter().find(|row| row.0 == name).map(|row| row.1[method]);
        let times = timed(bench, &events, most_sweeps)?;
        let sampler = &times[times.len() - 1];
        for (i, time) in times.iter().enumerate() {
            let published = [Some(0), None, None, Some(1), Some(2), Some(3)][i].and_then(paper);
            rows.push(cells([
                name.into(),
                time.method.as_str().into(),
                time.seconds.into(),
                (sampler.seconds / time.seconds).into(),
                published.into(),
                time.note.as_str().into(),
            ]));
        }
        let ratio = sampler.seconds / times[0].seconds;
        goals.push(Goal {
            what: format!("{name}: VBPP in at most 1/1000 of SGCP's time, until R̂ < 1.01 and 400 effective draws"),
            measured: match sampler.note.as_str() {
                "" => format!("1/{ratio:.0}"),
                note => format!("less than 1/{ratio:.0}: SGCP {note}"),
            },
            reached: ratio >= 1000.0,
        });
    }
    Ok(Section {
        title: "Run times (Table 2)".into(),
        text: vec![
            "Seconds to fit all events, hyper-parameters included, one fit at a time: the median of several for all but SGCP. SGCP's four chains \
            share the cores."
                .into(),
        ],
        tables: vec![Table {
            name: "seconds".into(),
            caption: "Seconds; `as many times faster` is SGCP's time over the method's; `paper` are the paper's seconds on its own machine and data."
                .into(),
            columns: heads(["data", "method", "seconds", "as many times faster", "paper", "note"]),
            rows,
        }],
        pictures: vec![],
        goals,
    })
}

struct Time {
    method: String,
    seconds: f64,
    note: String,
}

fn timed(bench: &Bench, events: &Events, most_sweeps: usize) -> Result<Vec<Time>, Failure> {
    let points = Inducing::Grid(vec![31]);
    let grid = Model { family: InducingPoints { points, ..InducingPoints::as_in_the_paper() }.into(), ..paper() };
    let sampler = Settings { most_sweeps: bench.size(most_sweeps, 12), seed: bench.seed, ..Settings::default() };
    let sampler = bench.size(sampler.clone(), Settings { chains: 2, warm_up: 4, check_every: 12, ..sampler });
    let contenders = [
        ("VBPP, 31 points", Contender::Variational(grid)),
        ("VBPP, automatic", Contender::Variational(paper())),
        (DEFAULT, Contender::Variational(Model::default())),
        (TRUNCATED, Contender::Smoother(EdgeCorrection::Truncate)),
        (PLAIN, Contender::Smoother(EdgeCorrection::None)),
        (SGCP, Contender::Sgcp(sampler)),
    ];
    let repeats = bench.size(REPEATS.0, REPEATS.1);
    bench.foresee((contenders.len() - 1) * repeats + 1); // the sampler once
    let time = |(name, contender): (&str, Contender)| -> Result<Time, Failure> {
        let once = matches!(contender, Contender::Sgcp(_));
        let mut fits = Vec::new();
        for _ in 0..if once { 1 } else { repeats } {
            fits.push(contender.fit(events)?);
            bench.tick(name);
        }
        fits.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let middle = &fits[fits.len() / 2];
        let sampled = middle.diagnostics().filter(|d| !d.converged);
        let note = sampled.map(|d| {
            format!("after {} sweeps R̂ {:.3}, {:.0} effective", d.sweeps, d.worst_r_hat(), d.least_effective())
        });
        Ok(Time { method: name.into(), seconds: middle.seconds, note: note.unwrap_or_default() })
    };
    contenders.into_iter().map(time).collect()
}
