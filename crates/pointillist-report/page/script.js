"use strict";
// The pictures of the page: a curve with bands, or a map with layers. Everything is drawn on canvases from the numbers in #data.
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const colour = name => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const element = (tag, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...children);
    return made;
  };

  // ---- Numbers

  const inflate = async text => {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  // Numbers lie there as planes: all highest bytes, then all next ones.
  const words = (bytes, shift) => {
    const count = bytes.length / 3, all = new Uint32Array(count);
    for (let i = 0; i < count; i++) all[i] = (((bytes[i] << 16) | (bytes[count + i] << 8) | bytes[2 * count + i]) << shift) >>> 0;
    return all;
  };
  const floats = async text => new Float32Array(words(await inflate(text), 8).buffer);
  const between = async (text, lo, hi) => Float64Array.from(words(await inflate(text), 0), v => lo + (hi - lo) * v / 0xffffff);
  const short = v => {
    if (!Number.isFinite(v)) return "–";
    const size = Math.abs(v);
    if (size !== 0 && (size >= 1e6 || size < 1e-4)) return v.toExponential(3);
    return String(Number(v.toPrecision(4)));
  };

  // ---- Axes

  const iso = (axis, v, length = 19) => new Date((axis.time.origin + v * axis.time.unit) * 1000).toISOString().slice(0, length).replace("T", " ");
  // Km on the globe stand for degrees, which are known at even places.
  const degrees = (axis, v) => {
    if (!axis.degrees) return v;
    const { lo, hi, values } = axis.degrees, at = Math.min(Math.max((v - lo) / (hi - lo), 0), 1) * (values.length - 1);
    const low = Math.min(Math.floor(at), values.length - 2);
    return values[low] + (at - low) * (values[low + 1] - values[low]);
  };
  // And back: where on the axis so many degrees are.
  const kilometres = (axis, wanted) => {
    let { lo, hi } = axis.degrees;
    for (let i = 0; i < 40; i++) { const middle = 0.5 * (lo + hi); if (degrees(axis, middle) < wanted) lo = middle; else hi = middle; }
    return 0.5 * (lo + hi);
  };
  const place = (axis, v) => axis.time ? iso(axis, v) : String(Number(degrees(axis, v).toPrecision(7)));
  const named = (axis, v) => axis.name + " " + place(axis, v) + (axis.time || !axis.unit || axis.label === axis.name ? "" : " " + axis.unit);
  const niceStep = (span, count) => {
    const raw = span / count, power = 10 ** Math.floor(Math.log10(raw));
    return power * [1, 2, 5, 10].find(m => m * power >= raw * 0.999);
  };
  const numberTicks = (lo, hi, count) => {
    const step = niceStep(hi - lo, count), ticks = [];
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + 1e-9 * step; i++) {
      const v = i * step;
      ticks.push([v, Math.abs(v) >= 1e6 || (v !== 0 && Math.abs(v) < 1e-4) ? v.toExponential(1) : v.toFixed(Math.min(digits, 12))]);
    }
    return ticks;
  };
  const dateTicks = (axis, lo, hi, count) => {
    const unix = v => axis.time.origin + v * axis.time.unit, back = s => (s - axis.time.origin) / axis.time.unit;
    const [from, to] = [unix(lo), unix(hi)], wanted = (to - from) / count;
    const fixed = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 345600, 604800].find(s => s >= wanted);
    const ticks = [];
    if (fixed) {
      const length = fixed >= 86400 ? 10 : fixed >= 60 ? 16 : 19;
      for (let s = Math.ceil(from / fixed) * fixed; s <= to; s += fixed) {
        const text = iso(axis, back(s), length);
        ticks.push([back(s), length === 10 ? text : text.slice(11)]);
      }
      return ticks;
    }
    const months = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000].find(m => m * 2629746 >= wanted) || 12000;
    const first = new Date(from * 1000);
    let month = Math.floor((first.getUTCFullYear() * 12 + first.getUTCMonth()) / months) * months;
    for (; ; month += months) {
      const date = new Date(0);
      date.setUTCFullYear(Math.floor(month / 12), month % 12, 1);
      const s = date.getTime() / 1000;
      if (s > to) return ticks;
      if (s >= from) ticks.push([back(s), date.toISOString().slice(0, months % 12 ? 7 : 4)]);
    }
  };
  const degreeTicks = (axis, lo, hi, count) => numberTicks(degrees(axis, lo), degrees(axis, hi), count).map(([v, text]) => [kilometres(axis, v), text]);
  const ticksOf = (axis, lo, hi, count) => (axis.time ? dateTicks : axis.degrees ? degreeTicks : (_, ...rest) => numberTicks(...rest))(axis, lo, hi, count);

  // ---- Canvases

  // A canvas as sharp as the screen; `draw` gets its context and its size in CSS pixels.
  const drawings = [];
  const canvasIn = (parent, label, height, draw) => {
    const canvas = element("canvas", { tabIndex: 0 });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    parent.append(canvas);
    const redraw = () => {
      const width = canvas.clientWidth, tall = height(width), ratio = window.devicePixelRatio || 1;
      canvas.style.height = tall + "px";
      [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(tall * ratio)];
      const context = canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, tall);
      context.font = "13px system-ui, sans-serif";
      draw(context, width, tall);
    };
    drawings.push(redraw);
    return { canvas, redraw };
  };
  const redrawAll = () => drawings.forEach(redraw => redraw());

  // How many ticks there is room for: texts of dates are wide.
  const ticksAcross = (axis, width) => Math.max(3, width / (axis && axis.time ? 100 : 70));

  // Both axes around a plot: ticks, labels, frame.
  const axesAround = (c, box, [xTicks, xLabel, toX], [yTicks, yLabel, toY]) => {
    c.strokeStyle = colour("line");
    c.fillStyle = colour("faint");
    c.lineWidth = 1;
    c.textAlign = "center";
    c.textBaseline = "top";
    let last = -Infinity;
    const width = c.canvas.clientWidth;
    for (const [v, text] of xTicks) {
      // A wide text at an end stays on the canvas.
      const x = toX(v), half = c.measureText(text).width / 2, middle = clamp(x, half + 1, width - half - 1);
      c.beginPath(); c.moveTo(x, box.bottom); c.lineTo(x, box.bottom + 5); c.stroke();
      if (middle - half > last) { c.fillText(text, middle, box.bottom + 7); last = middle + half + 8; }
    }
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const [v, text] of yTicks) {
      const y = toY(v);
      c.beginPath(); c.moveTo(box.left - 5, y); c.lineTo(box.left, y); c.stroke();
      c.fillText(text, box.left - 7, y);
    }
    c.strokeRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    c.textAlign = "right";
    c.textBaseline = "bottom";
    c.fillText(xLabel, box.right, box.bottom + 40);
    c.textAlign = "left";
    c.fillText(yLabel, 4, box.top - 8);
  };
  const widest = (c, ticks) => Math.max(0, ...ticks.map(([, text]) => c.measureText(text).width));
  const button = (text, label, act) => {
    const made = element("button", { type: "button", textContent: text, onclick: act, title: label });
    made.setAttribute("aria-label", label);
    return made;
  };
  const readout = parent => {
    const values = element("p", { className: "values" });
    values.setAttribute("aria-live", "polite");
    parent.append(values);
    return values;
  };
  const clamp = (v, lo, hi) => Math.min(Math.max(v, lo), hi);

  // ---- Bins whose counts are outside of their bands

  const bins = data.bins || [], outside = bins.filter(bin => bin.outside).sort((a, b) => a.p - b.p);
  // Of Okabe and Ito; shape says the same as colour.
  const MORE = "#d55e00", FEWER = "#0072b2";
  const triangle = (c, x, y, half, more) => {
    const up = more ? -half : half;
    c.beginPath(); c.moveTo(x - half, y - 0.9 * up); c.lineTo(x + half, y - 0.9 * up); c.lineTo(x, y + 0.9 * up); c.closePath();
    c.fillStyle = more ? MORE : FEWER; c.strokeStyle = "#ffffff"; c.lineWidth = 1.5;
    c.stroke(); c.fill();
  };
  let chosen = null;
  const anomalies = { box: null, redraw: () => {} };
  const markSwitch = redraw => {
    anomalies.redraw = redraw;
    anomalies.box = element("input", { type: "checkbox", id: "anomalies", checked: true, onchange: redraw });
    return element("label", {}, anomalies.box, "Anomalies");
  };
  const areMarked = () => outside.length > 0 && anomalies.box && anomalies.box.checked;
  const near = (axis, v) => axis.time ? iso(axis, v, 16) : String(Number(degrees(axis, v).toPrecision(5)));
  const whereIs = bin => bin.at.map(([lo, hi], r) => `${data.axes[r].name} ${near(data.axes[r], lo)} to ${near(data.axes[r], hi)}`).join(", ");
  const told = bin => `${bin.seen} seen, ${short(bin.expected)} expected, 95 % band ${bin.lower} to ${bin.upper}`;
  // The list of them; each row leads to its place in the picture.
  const listAnomalies = (section, goTo) => {
    const by_chance = short(0.05 * bins.length);
    const words = `${outside.length} of ${bins.length} parts have a count outside of their band of 95 %; about ${by_chance} would by chance`;
    if (!outside.length) {
      section.append(element("p", { id: "outside", className: "hint", textContent: words }));
      return;
    }
    const holder = element("details", { id: "outside", open: outside.length <= 12 }, element("summary", { textContent: words }));
    const body = element("tbody");
    for (const bin of outside.slice(0, 50)) {
      const go = button(whereIs(bin), "Show it in the picture: " + whereIs(bin), () => { chosen = bin; if (!anomalies.box.checked) anomalies.box.checked = true; goTo(bin); });
      go.className = "where";
      body.append(element("tr", {}, element("td", {}, go), ...[`${bin.more ? "▲" : "▼"} ${bin.seen}`, short(bin.expected), `${bin.lower} to ${bin.upper}`, short(bin.p)].map(text => element("td", { textContent: text }))));
    }
    const head = element("tr", {}, ...["where", "seen", "expected", "95 % band", "p"].map(text => element("th", { textContent: text, scope: "col" })));
    holder.append(element("div", { className: "wide" }, element("table", {}, element("thead", {}, head), body)));
    if (outside.length > 50) holder.append(element("p", { className: "hint", textContent: `… and ${outside.length - 50} more` }));
    section.append(holder);
  };

  // ---- Small panels: do the events look like events of this rate?

  const panels = element("div", { className: "panels" });
  const panel = (id, label, hint, draw) => {
    const section = document.getElementById("residuals");
    if (section.hidden) {
      section.hidden = false;
      section.append(element("h2", { textContent: "Do the events look like events of this rate?" }), panels);
    }
    const holder = element("figure", { id });
    panels.append(holder);
    canvasIn(holder, label, width => clamp(0.8 * width, 230, 330), draw);
    holder.append(element("figcaption", { className: "hint", textContent: hint }));
  };
  const inside = (c, box, draw) => {
    c.save();
    c.beginPath(); c.rect(box.left, box.top, box.right - box.left, box.bottom - box.top); c.clip();
    draw();
    c.restore();
  };

  // Counts less what is expected, with the bands of new counts: along a line, else from the fewest expected to the most.
  const residuals = () => {
    if (!bins.length) return;
    const isLine = data.axes.length === 1;
    const shown = isLine ? bins : [...bins].sort((a, b) => a.expected - b.expected);
    const ends = isLine ? shown.map(bin => bin.at[0]) : shown.map((_, i) => [i, i + 1]);
    const [x0, x1] = [ends[0][0], ends[ends.length - 1][1]];
    const low = Math.min(-1, ...shown.map(bin => Math.min(bin.lower, bin.seen) - bin.expected)), high = Math.max(1, ...shown.map(bin => Math.max(bin.upper, bin.seen) - bin.expected));
    const order = isLine ? "" : " Parts stand in the order of what is expected.";
    panel("bins", `Events seen less events expected in ${bins.length} parts, with bands of 95 %: ${outside.length} outside`, `Events seen less events expected in each part; bars: 95 % of new counts. ${outside.length} of ${bins.length} are outside, where at most about ${short(0.05 * bins.length)} are by chance (counts are whole, and the fit has followed the events).${order}`, (c, width, height) => {
      const yTicks = numberTicks(1.06 * low, 1.06 * high, 5);
      const box = { left: widest(c, yTicks) + 14, right: width - 12, top: 28, bottom: height - 46 };
      const toX = v => box.left + (box.right - box.left) * (v - x0) / (x1 - x0), toY = v => box.bottom - (box.bottom - box.top) * (v - 1.06 * low) / (1.06 * (high - low));
      inside(c, box, () => {
        c.strokeStyle = colour("faint"); c.lineWidth = 1;
        c.beginPath(); c.moveTo(box.left, toY(0)); c.lineTo(box.right, toY(0)); c.stroke();
        shown.forEach((bin, i) => {
          const [a, b] = ends[i].map(toX), gap = Math.min(1, 0.1 * (b - a));
          c.fillStyle = colour("band"); c.globalAlpha = 0.25;
          c.fillRect(a + gap, toY(bin.upper - bin.expected), b - a - 2 * gap, toY(bin.lower - bin.expected) - toY(bin.upper - bin.expected));
          c.globalAlpha = 1;
        });
        shown.forEach((bin, i) => {
          const x = 0.5 * (toX(ends[i][0]) + toX(ends[i][1])), y = toY(bin.seen - bin.expected);
          if (bin.outside) { triangle(c, x, y, 5, bin.more); return; }
          c.fillStyle = colour("accent");
          c.beginPath(); c.arc(x, y, 2.5, 0, 7); c.fill();
        });
      });
      axesAround(c, box, [isLine ? ticksOf(data.axes[0], x0, x1, ticksAcross(data.axes[0], width)) : [], isLine ? data.axes[0].label : "parts, fewest expected first", toX], [yTicks, "events seen − expected", toY]);
    });
  };

  // K of the events over that of drawn sets, with the envelope.
  const pairs = () => {
    if (!data.pairs) return;
    const { distances, seen, lower, upper, p, p_fewer, nearness, most_within, fewest_within, closest } = data.pairs;
    const name = data.axes[0].degrees ? "km" : data.axes[0].unit, unit = name ? " (" + name + ")" : "", apart = r => short(r) + (name ? " " + name : "");
    const low = Math.min(...lower, ...seen), high = Math.max(...upper, ...seen), pad = 0.06 * (high - low);
    const words = {
      usual: `There are no more pairs than such events have, p = ${short(p)}`,
      closer: `There are more pairs within ${apart(most_within)} than the rate explains, p = ${short(p)}`,
      apart: `Events keep a distance: less than half of the pairs within ${apart(fewest_within)} are there, p = ${short(p_fewer)}`,
      followed: "There are fewer pairs than such events have, since the rate follows the events closely: they tell little",
    }[nearness];
    const close = closest.amiss ? ` ${closest.seen} pairs are within ${apart(closest.distance)} of each other, where ${short(closest.expected)} are usual: duplicates?` : "";
    const memory = data.pairs.memory ? " " + data.pairs.memory : "";
    panel("pairs", `Pairs of events within a distance, over what is expected, with an envelope of 95 %. ${words}`, `Pairs of events within a distance (K function), over the mean of sets of independent events at the mean rate; shaded: 95 % of the sets. ${words}.${memory}${close}`, (c, width, height) => {
      const yTicks = numberTicks(low - pad, high + pad, 5), x1 = distances[distances.length - 1], x0 = distances[0];
      const box = { left: widest(c, yTicks) + 14, right: width - 12, top: 28, bottom: height - 46 };
      const toX = v => box.left + (box.right - box.left) * (v - x0) / (x1 - x0), toY = v => box.bottom - (box.bottom - box.top) * (v - low + pad) / (high - low + 2 * pad);
      inside(c, box, () => {
        c.fillStyle = colour("band"); c.globalAlpha = 0.22;
        c.beginPath();
        distances.forEach((r, i) => c.lineTo(toX(r), toY(upper[i])));
        for (let i = distances.length - 1; i >= 0; i--) c.lineTo(toX(distances[i]), toY(lower[i]));
        c.fill();
        c.globalAlpha = 1; c.strokeStyle = colour("faint"); c.lineWidth = 1; c.setLineDash([4, 3]);
        c.beginPath(); c.moveTo(box.left, toY(1)); c.lineTo(box.right, toY(1)); c.stroke();
        c.setLineDash([]); c.strokeStyle = colour("accent"); c.lineWidth = 2;
        c.beginPath();
        distances.forEach((r, i) => c.lineTo(toX(r), toY(seen[i])));
        c.stroke();
      });
      axesAround(c, box, [numberTicks(x0, x1, ticksAcross(null, width)), "distance" + unit, toX], [yTicks, "pairs seen / expected", toY]);
    });
  };

  // ---- A line

  const line = async () => {
    const section = document.getElementById("picture"), axis = data.axes[0];
    const layers = {};
    for (const [name, blob] of Object.entries(data.layers)) layers[name] = await floats(blob);
    const x = new Float64Array(layers.mean.length);
    let at = 0;
    for (const [lo, hi, count] of data.stretches) {
      for (let i = 0; i < count; i++) x[at++] = lo + (hi - lo) * i / Math.max(count - 1, 1);
    }
    const [lo, hi] = [x[0], x[x.length - 1]];
    const events = data.events ? await between(data.events.at, lo, hi) : [];
    const trials = data.events && data.events.trials ? Int32Array.from(words(await inflate(data.events.trials), 0)) : null;
    const rows = trials ? trials.reduce((most, t) => Math.max(most, t), 0) + 1 : 0;
    const rug = rows ? clamp(rows * 5, 24, 160) : events.length ? 18 : 0;
    let view = [lo, hi], cursor = null, dragged = null;

    const controls = element("div", { className: "controls" });
    const values = readout(section);
    let box, toX, fromX;
    const paths = (c, lower, upper, toY) => {
      let start = 0;
      for (const [, , count] of data.stretches) {
        c.beginPath();
        for (let i = start; i < start + count; i++) c.lineTo(toX(x[i]), toY(upper[i]));
        for (let i = start + count - 1; lower && i >= start; i--) c.lineTo(toX(x[i]), toY(lower[i]));
        if (lower) c.fill(); else c.stroke();
        start += count;
      }
    };
    const { canvas, redraw } = canvasIn(section, `The ${data.quantity} with its bands of 50 and 90 %${data.events ? ", and the events below" : ""}. Arrow keys move the reading, plus and minus zoom, 0 shows all.`, width => clamp(width * 0.5, 260, 440) + rug, (c, width, height) => {
      let top = 0;
      for (let i = 0; i < x.length; i++) if (x[i] >= view[0] && x[i] <= view[1]) top = Math.max(top, layers.q95[i], layers.mean[i]);
      top = top > 0 ? 1.05 * top : 1;
      const yTicks = numberTicks(0, top, 5);
      box = { left: widest(c, yTicks) + 14, right: width - 12, top: 28, bottom: height - 46 - rug };
      toX = v => box.left + (box.right - box.left) * (v - view[0]) / (view[1] - view[0]);
      fromX = p => view[0] + (view[1] - view[0]) * (p - box.left) / (box.right - box.left);
      const toY = v => box.bottom - (box.bottom - box.top) * v / top;
      c.save();
      c.beginPath(); c.rect(box.left, box.top, box.right - box.left, height - box.top); c.clip();
      c.fillStyle = colour("gap");
      for (const [from, to] of data.gaps) c.fillRect(toX(from), box.top, toX(to) - toX(from), box.bottom - box.top);
      if (areMarked()) for (const bin of outside) {
        const [a, b] = bin.at[0].map(toX);
        c.fillStyle = bin.more ? MORE : FEWER; c.globalAlpha = bin === chosen ? 0.35 : 0.16;
        c.fillRect(a, box.top, b - a, box.bottom - box.top);
        c.globalAlpha = 1;
      }
      c.fillStyle = colour("band");
      c.globalAlpha = 0.22; paths(c, layers.q05, layers.q95, toY);
      c.globalAlpha = 0.34; paths(c, layers.q25, layers.q75, toY);
      c.globalAlpha = 1;
      c.strokeStyle = colour("accent"); c.lineWidth = 2;
      paths(c, null, layers.mean, toY);
      if (areMarked()) for (const bin of outside) triangle(c, 0.5 * (toX(bin.at[0][0]) + toX(bin.at[0][1])), box.top + 9, bin === chosen ? 8 : 6, bin.more);
      c.strokeStyle = colour("ink"); c.lineWidth = 1; c.globalAlpha = events.length > 2000 ? 0.35 : 0.8;
      const foot = height - rug - 2, tall = rows ? rug / rows : rug;
      c.beginPath();
      for (let i = 0; i < events.length; i++) {
        const px = toX(events[i]), row = trials ? trials[i] : 0;
        if (px >= box.left && px <= box.right) { c.moveTo(px, foot + row * tall); c.lineTo(px, foot + row * tall + Math.max(tall - 1, 1)); }
      }
      c.stroke();
      c.globalAlpha = 1;
      if (dragged) {
        c.fillStyle = colour("accent"); c.globalAlpha = 0.2;
        c.fillRect(Math.min(...dragged), box.top, Math.abs(dragged[1] - dragged[0]), box.bottom - box.top);
        c.globalAlpha = 1;
      }
      if (cursor !== null) {
        c.strokeStyle = colour("faint"); c.setLineDash([4, 3]);
        c.beginPath(); c.moveTo(toX(x[cursor]), box.top); c.lineTo(toX(x[cursor]), box.bottom); c.stroke();
        c.setLineDash([]);
        c.fillStyle = colour("accent");
        c.beginPath(); c.arc(toX(x[cursor]), toY(layers.mean[cursor]), 4, 0, 7); c.fill();
      }
      c.restore();
      axesAround(c, box, [ticksOf(axis, view[0], view[1], ticksAcross(axis, width)), axis.label, toX], [yTicks, data.rate_unit, toY]);
    });
    section.insertBefore(canvas, values);
    const say = () => {
      const v = name => short(layers[name][cursor]);
      const here = cursor === null ? null : outside.find(bin => x[cursor] >= bin.at[0][0] && x[cursor] < bin.at[0][1]);
      values.textContent = cursor === null ? "Point at the curve, or move along it with the arrow keys, to read its values." : `${named(axis, x[cursor])}: mean ${v("mean")}, sd ${v("sd")}, 50 % from ${v("q25")} to ${v("q75")}, 90 % from ${v("q05")} to ${v("q95")} ${data.rate_unit}` + (here && areMarked() ? `; anomaly: ${told(here)}` : "");
    };
    const nearest = v => {
      let low = 0, high = x.length - 1;
      while (high - low > 1) { const middle = (low + high) >> 1; if (x[middle] > v) high = middle; else low = middle; }
      return v - x[low] < x[high] - v ? low : high;
    };
    const look = index => { cursor = clamp(index, 0, x.length - 1); say(); redraw(); };
    say();
    const show = (from, to) => {
      const span = clamp(to - from, (hi - lo) / 5000, hi - lo), start = clamp(from, lo, hi - span);
      view = [start, start + span];
      redraw();
    };
    const zoom = (factor, about = 0.5 * (view[0] + view[1])) => show(about - (about - view[0]) * factor, about + (view[1] - about) * factor);
    const pixel = event => clamp(event.clientX - canvas.getBoundingClientRect().left, box.left, box.right);
    canvas.addEventListener("pointermove", event => {
      if (dragged) dragged[1] = pixel(event);
      look(nearest(fromX(pixel(event))));
    });
    canvas.addEventListener("pointerdown", event => { if (event.pointerType === "mouse") dragged = [pixel(event), pixel(event)]; });
    window.addEventListener("pointerup", () => {
      if (!dragged) return;
      const [a, b] = dragged.map(fromX);
      const is_wide = Math.abs(dragged[1] - dragged[0]) > 6;
      dragged = null;
      if (is_wide) show(Math.min(a, b), Math.max(a, b)); else redraw();
    });
    canvas.addEventListener("dblclick", () => show(lo, hi));
    canvas.addEventListener("keydown", event => {
      const step = Math.max(1, Math.round(x.length * (view[1] - view[0]) / (hi - lo) / 100));
      const here = cursor === null ? nearest(0.5 * (view[0] + view[1])) : cursor;
      const keys = { ArrowLeft: () => look(here - step), ArrowRight: () => look(here + step), Home: () => look(0), End: () => look(x.length - 1), "+": () => zoom(0.5, x[here]), "=": () => zoom(0.5, x[here]), "-": () => zoom(2, x[here]), 0: () => show(lo, hi) };
      if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
    });
    const move = part => show(view[0] + part * (view[1] - view[0]), view[1] + part * (view[1] - view[0]));
    controls.append(button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)), button("←", "Earlier", () => move(-0.3)), button("→", "Later", () => move(0.3)), button("All", "Show all", () => show(lo, hi)));
    if (outside.length) controls.append(markSwitch(() => { say(); redraw(); }));
    section.append(controls, element("p", { className: "hint", textContent: "Line: mean. Dark band: 50 %, light band: 90 %, at each place by itself. Drag over a part to see it larger." + (data.events_note ? " " + data.events_note : "") }));
    if (bins.length) listAnomalies(section, bin => { show(lo, hi); look(nearest(0.5 * (bin.at[0][0] + bin.at[0][1]))); canvas.scrollIntoView({ block: "nearest" }); });
    if (data.rescaled) rescaled(await floats(data.rescaled.expected), await floats(data.rescaled.seen));
    residuals();
    pairs();
  };

  // Rescaled times beside even ones.
  const rescaled = (expected, seen) => {
    const band = data.rescaled.band;
    let largest = 0;
    for (let i = 0; i < expected.length; i++) largest = Math.max(largest, Math.abs(expected[i] - seen[i]));
    panel("qq", `Parts of the events that were seen beside parts that are expected; largest distance ${short(largest)}, band ${short(band)}`, `Times rescaled by the mean rate: even if the rate is right. The largest distance is ${short(largest)}; the band of 95 % for a rate that is known is ±${short(band)}, and a fitted rate, which has followed its events, should stay well inside.`, (c, width, height) => {
      const ticks = numberTicks(0, 1, 5);
      const box = { left: widest(c, ticks) + 14, right: width - 12, top: 28, bottom: height - 46 };
      const toX = v => box.left + (box.right - box.left) * v, toY = v => box.bottom - (box.bottom - box.top) * v;
      inside(c, box, () => {
        c.fillStyle = colour("band"); c.globalAlpha = 0.22;
        c.beginPath(); c.moveTo(toX(0), toY(-band)); c.lineTo(toX(1), toY(1 - band)); c.lineTo(toX(1), toY(1 + band)); c.lineTo(toX(0), toY(band)); c.fill();
        c.globalAlpha = 1; c.strokeStyle = colour("accent"); c.lineWidth = 2;
        c.beginPath(); c.moveTo(toX(0), toY(0));
        for (let i = 0; i < expected.length; i++) c.lineTo(toX(expected[i]), toY(seen[i]));
        c.stroke();
      });
      axesAround(c, box, [ticks, "part of the events expected", toX], [ticks, "part of the events seen", toY]);
    });
  };

  // ---- A map

  const VIRIDIS = ["440154", "482475", "414487", "355f8d", "2a788e", "21918c", "22a884", "44bf70", "7ad151", "bddf26", "fde725"].map(hex => [0, 2, 4].map(i => parseInt(hex.slice(i, i + 2), 16)));
  const shade = t => {
    const at = clamp(t, 0, 1) * (VIRIDIS.length - 1), low = Math.min(Math.floor(at), VIRIDIS.length - 2), part = at - low;
    return VIRIDIS[low].map((v, i) => Math.round(v + part * (VIRIDIS[low + 1][i] - v)));
  };

  const map = async () => {
    const section = document.getElementById("picture"), [nx, ny] = data.cells, nt = data.cells[2] || 1;
    const [[x0, x1], [y0, y1]] = data.box, area = nx * ny;
    const layers = {};
    for (const [name, blob] of Object.entries(data.layers)) layers[name] = await floats(blob);
    const exceed = data.exceed ? await inflate(data.exceed.shares) : null;
    const points = data.events ? [await between(data.events.at[0], x0, x1), await between(data.events.at[1], y0, y1)] : null;
    const times = data.events && data.events.at[2] ? await between(data.events.at[2], ...data.box[2]) : null;
    const names = { mean: "mean", sd: "standard deviation", q05: "5 % quantile", q50: "median", q95: "95 % quantile", exceed: `probability that the ${data.quantity} exceeds a threshold` };
    let layer = "mean", slice = 0, threshold = data.exceed ? data.exceed.thresholds.length >> 1 : 0, log = false, cursor = null, view = { x: x0, y: y0, w: x1 - x0, h: y1 - y0 };

    // Over time the page opens where the rate is highest: the first slice may be a night.
    let highest = -Infinity;
    layers.mean.forEach((v, cell) => { if (v > highest) { highest = v; slice = Math.floor(cell / area); } });

    const valueAt = (name, cell) => {
      if (name !== "exceed") return layers[name][slice * area + cell];
      return Number.isFinite(layers.mean[slice * area + cell]) ? exceed[(threshold * nt + slice) * area + cell] / 200 : NaN;
    };
    const limits = () => {
      if (layer === "exceed") return [0, 1];
      let lo = Infinity, hi = -Infinity;
      for (const v of layers[layer]) if (v === v) { if (v > hi) hi = v; if (v < lo && (v > 0 || !log)) lo = v; }
      return log ? [Math.max(lo, hi * 1e-6), hi] : [layer === "sd" ? 0 : Math.min(lo, hi), hi];
    };
    const scaled = () => {
      const [lo, hi] = limits();
      return log && layer !== "exceed" ? v => Math.log(Math.max(v, lo) / lo) / (Math.log(hi / lo) || 1) : v => (v - lo) / ((hi - lo) || 1);
    };

    const controls = element("div", { className: "controls" });
    const choice = element("select", { id: "layer", onchange: () => { layer = choice.value; update(); } });
    for (const name of [...Object.keys(layers), ...(exceed ? ["exceed"] : [])]) choice.append(element("option", { value: name, textContent: names[name] }));
    controls.append(element("label", {}, "Layer", choice));
    const bar = element("input", { type: "range", id: "threshold", min: 0, max: exceed ? data.exceed.thresholds.length - 1 : 0, step: 1, value: threshold, oninput: () => { threshold = Number(bar.value); update(); } });
    const bar_text = element("output", { htmlFor: "threshold" });
    const of_threshold = element("label", { hidden: true }, "Threshold", bar, bar_text);
    const clock = element("input", { type: "range", id: "time", min: 0, max: nt - 1, step: 1, value: slice, oninput: () => { slice = Number(clock.value); update(); } });
    const clock_text = element("output", { htmlFor: "time" });
    if (nt > 1) controls.append(element("label", {}, data.axes[2].time ? "Time" : data.axes[2].name, clock, clock_text));
    const dots = element("input", { type: "checkbox", id: "events", checked: true, onchange: () => redraw() });
    if (points) controls.append(element("label", {}, dots, "Events"));
    const logs = element("input", { type: "checkbox", id: "log", onchange: () => { log = logs.checked; update(); } });
    if (outside.length) controls.append(markSwitch(() => { say(); redraw(); }));
    controls.append(element("label", {}, logs, "Logarithmic"), of_threshold);
    section.append(controls);

    const picture = element("canvas");
    [picture.width, picture.height] = [nx, ny];
    const paint = () => {
      const c = picture.getContext("2d"), image = c.createImageData(nx, ny), of = scaled();
      for (let cell = 0; cell < area; cell++) {
        const v = valueAt(layer, cell);
        if (v !== v) continue;
        const [r, g, b] = shade(of(v)), at = 4 * ((ny - 1 - Math.floor(cell / nx)) * nx + cell % nx);
        image.data.set([r, g, b, 255], at);
      }
      c.putImageData(image, 0, 0);
    };
    let box, toX, toY;
    // A slice stands for what is nearer to it than to the others. Over time a part is shown in the slices that it holds.
    const ends = i => [i > 0 ? 0.5 * (data.times[i - 1] + data.times[i]) : data.box[2][0], i + 1 < nt ? 0.5 * (data.times[i] + data.times[i + 1]) : data.box[2][1]];
    const isShown = bin => nt === 1 || (centre(2, slice) >= bin.at[2][0] && centre(2, slice) < bin.at[2][1]);
    const { canvas, redraw } = canvasIn(section, `A map of the ${data.quantity}. Arrow keys move the reading, plus and minus zoom, 0 shows all.`, width => clamp((width - 46) * data.aspect + 70, 220, 900), (c, width, height) => {
      const yTicks = ticksOf(data.axes[1], view.y, view.y + view.h, height / 70);
      const left = widest(c, yTicks) + 14;
      // As large as fits, with the right proportions.
      const scale = Math.min((width - 12 - left) / view.w, (height - 70) / (view.h * data.stretch));
      const [w, h] = [view.w * scale, view.h * data.stretch * scale];
      box = { left, right: left + w, top: 28, bottom: 28 + h };
      toX = v => box.left + w * (v - view.x) / view.w;
      toY = v => box.bottom - h * (v - view.y) / view.h;
      c.save();
      c.beginPath(); c.rect(box.left, box.top, w, h); c.clip();
      c.imageSmoothingEnabled = false;
      c.drawImage(picture, toX(x0), toY(y1), toX(x1) - toX(x0), toY(y0) - toY(y1));
      c.strokeStyle = colour("ink"); c.lineWidth = 1;
      for (const ring of data.border) {
        c.beginPath();
        for (const [x, y] of ring) c.lineTo(toX(x), toY(y));
        c.closePath(); c.stroke();
      }
      if (points && dots.checked) {
        const [from, to] = times ? ends(slice) : [];
        c.fillStyle = "#ffffff"; c.strokeStyle = "#000000"; c.lineWidth = 0.75;
        const size = (points[0].length > 2000 ? 1.2 : 2) * clamp(w / 600, 0.6, 1);
        for (let i = 0; i < points[0].length; i++) {
          if (times && (times[i] < from || times[i] > to)) continue;
          c.beginPath(); c.arc(toX(points[0][i]), toY(points[1][i]), size, 0, 7); c.fill(); c.stroke();
        }
      }
      if (areMarked()) for (const bin of outside.filter(isShown)) {
        const [[a, b], [d, e]] = bin.at, place = [toX(a), toY(e), toX(b) - toX(a), toY(d) - toY(e)];
        c.strokeStyle = "#ffffff"; c.lineWidth = bin === chosen ? 6 : 4; c.strokeRect(...place);
        c.strokeStyle = "#000000"; c.lineWidth = bin === chosen ? 3 : 1.5; c.setLineDash(bin.more ? [] : [5, 3]); c.strokeRect(...place);
        c.setLineDash([]);
        triangle(c, place[0] + 11, place[1] + 11, bin === chosen ? 8 : 6, bin.more);
      }
      if (cursor !== null) {
        const [i, j] = [cursor % nx, Math.floor(cursor / nx)], [cw, ch] = [(x1 - x0) / nx, (y1 - y0) / ny];
        c.strokeStyle = "#ffffff"; c.lineWidth = 3;
        c.strokeRect(toX(x0 + i * cw), toY(y0 + (j + 1) * ch), toX(cw) - toX(0), toY(0) - toY(ch));
        c.strokeStyle = "#000000"; c.lineWidth = 1;
        c.strokeRect(toX(x0 + i * cw), toY(y0 + (j + 1) * ch), toX(cw) - toX(0), toY(0) - toY(ch));
      }
      c.restore();
      axesAround(c, box, [ticksOf(data.axes[0], view.x, view.x + view.w, ticksAcross(data.axes[0], w)), data.axes[0].label, toX], [yTicks, data.axes[1].label, toY]);
    });
    const legend = canvasIn(section, "The colours of the map", () => 44, (c, width) => {
      const [lo, hi] = limits(), w = Math.min(width, 420);
      for (let i = 0; i < w; i++) { c.fillStyle = `rgb(${shade(i / (w - 1)).join(",")})`; c.fillRect(i, 0, 1.5, 14); }
      c.fillStyle = colour("faint"); c.textBaseline = "top";
      c.textAlign = "left"; c.fillText(short(lo), 0, 18);
      c.textAlign = "right"; c.fillText(short(hi), w, 18);
      c.textAlign = "center"; c.fillText(log && layer !== "exceed" ? short(Math.sqrt(lo * hi)) : short(0.5 * (lo + hi)), w / 2, 18);
    });
    legend.canvas.tabIndex = -1;
    const legend_text = element("p", { className: "hint" });
    section.append(legend_text);
    const values = readout(section);
    section.insertBefore(values, controls.nextSibling);

    const centre = (r, i) => r === 2 ? data.times[i] : data.box[r][0] + (data.box[r][1] - data.box[r][0]) * (i + 0.5) / data.cells[r];
    const say = () => {
      if (cursor === null) { values.textContent = "Point at the map, or move over it with the arrow keys, to read its values."; return; }
      const v = name => short(valueAt(name, cursor)), x = centre(0, cursor % nx), y = centre(1, Math.floor(cursor / nx));
      const where = [named(data.axes[0], x), named(data.axes[1], y), ...(nt > 1 ? [named(data.axes[2], centre(2, slice))] : [])].join(", ");
      const here = outside.find(bin => isShown(bin) && x >= bin.at[0][0] && x < bin.at[0][1] && y >= bin.at[1][0] && y < bin.at[1][1]);
      const odd = here && areMarked() ? `; anomaly: ${told(here)}` : "";
      const chance = exceed ? `, probability of more than ${short(data.exceed.thresholds[threshold])}: ${v("exceed")}` : "";
      values.textContent = Number.isFinite(layers.mean[slice * area + cursor]) ? `${where}: mean ${v("mean")}, sd ${v("sd")}, median ${v("q50")}, 90 % from ${v("q05")} to ${v("q95")}${chance} (${data.rate_unit})${odd}` : `${where}: outside the window`;
    };
    const update = () => {
      of_threshold.hidden = layer !== "exceed";
      logs.parentElement.hidden = layer === "exceed";
      if (exceed) bar_text.textContent = short(data.exceed.thresholds[threshold]) + " " + data.rate_unit;
      if (nt > 1) clock_text.textContent = place(data.axes[2], centre(2, slice));
      legend_text.textContent = layer === "exceed" ? `${names.exceed}: ${bar_text.textContent}` : `${names[layer]} of the ${data.quantity}, ${data.rate_unit}` + (data.events_note ? ". " + data.events_note : "");
      paint(); redraw(); legend.redraw(); say();
    };
    const look = (i, j) => { cursor = clamp(j, 0, ny - 1) * nx + clamp(i, 0, nx - 1); say(); redraw(); };
    const show = (x, y, part) => {
      const size = clamp(part, 1 / 60, 1), w = (x1 - x0) * size, h = (y1 - y0) * size;
      view = { x: clamp(x, x0, x1 - w), y: clamp(y, y0, y1 - h), w, h };
      redraw();
    };
    const zoom = (factor, x = view.x + view.w / 2, y = view.y + view.h / 2) => show(x - (x - view.x) * factor, y - (y - view.y) * factor, view.w / (x1 - x0) * factor);
    const under = event => {
      const at = canvas.getBoundingClientRect(), [px, py] = [event.clientX - at.left, event.clientY - at.top];
      return [view.x + view.w * (px - box.left) / (box.right - box.left), view.y + view.h * (box.bottom - py) / (box.bottom - box.top)];
    };
    let held = null;
    canvas.addEventListener("pointerdown", event => { held = under(event); });
    window.addEventListener("pointerup", () => { held = null; });
    canvas.addEventListener("pointermove", event => {
      const [x, y] = under(event);
      if (held && event.pointerType === "mouse") show(view.x + held[0] - x, view.y + held[1] - y, view.w / (x1 - x0));
      else look(Math.floor((x - x0) / (x1 - x0) * nx), Math.floor((y - y0) / (y1 - y0) * ny));
    });
    canvas.addEventListener("wheel", event => {
      if (!(event.ctrlKey || document.activeElement === canvas)) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, ...under(event));
    }, { passive: false });
    canvas.addEventListener("dblclick", () => show(x0, y0, 1));
    canvas.addEventListener("keydown", event => {
      const [i, j] = cursor === null ? [nx >> 1, ny >> 1] : [cursor % nx, Math.floor(cursor / nx)];
      const [x, y] = [centre(0, i), centre(1, j)];
      const keys = { ArrowLeft: () => look(i - 1, j), ArrowRight: () => look(i + 1, j), ArrowUp: () => look(i, j + 1), ArrowDown: () => look(i, j - 1), "+": () => zoom(0.5, x, y), "=": () => zoom(0.5, x, y), "-": () => zoom(2, x, y), 0: () => show(x0, y0, 1) };
      if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
    });
    controls.append(button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)), button("All", "Show all", () => show(x0, y0, 1)));
    // Where one place outshines all others, the rest can be seen by its logarithm alone.
    const sorted = Float32Array.from(layers.mean.filter(v => v > 0)).sort();
    log = logs.checked = sorted.length > 0 && sorted[sorted.length - 1] > 30 * sorted[sorted.length >> 1];
    update();
    const cellOf = (r, v) => clamp(Math.floor((v - data.box[r][0]) / (data.box[r][1] - data.box[r][0]) * data.cells[r]), 0, data.cells[r] - 1);
    const sliceOf = v => data.times.reduce((best, t, i) => Math.abs(t - v) < Math.abs(data.times[best] - v) ? i : best, 0);
    const middle = ([lo, hi]) => 0.5 * (lo + hi);
    if (bins.length) listAnomalies(section, bin => {
      if (nt > 1) { slice = sliceOf(middle(bin.at[2])); clock.value = slice; }
      show(x0, y0, 1); update(); look(cellOf(0, middle(bin.at[0])), cellOf(1, middle(bin.at[1]))); canvas.scrollIntoView({ block: "nearest" });
    });
    residuals();
    pairs();
  };

  // ---- Light and dark

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  document.getElementById("theme").addEventListener("click", () => {
    const is_dark = (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
    root.dataset.theme = is_dark ? "light" : "dark";
    redrawAll();
  });
  dark.addEventListener("change", redrawAll);

  if (data.kind === "line") await line();
  else if (data.kind === "map") await map();
  redrawAll();
  window.addEventListener("resize", redrawAll);
  root.dataset.ready = "yes";
})();
