// Compares what the browser chart has with the scene of the server's picture, for random requests:
// colours, names, values, breaks of lines, areas, columns, levels and signals, and some pixels.
//
// usage: node scenes.mjs BASE COUNT [FIRST]
import { launch } from "../console/browser.mjs";

const [base, count, first = "0"] = process.argv.slice(2);
const missing = (want, have) => {
  const rest = [...have];
  return want.filter((one) => { const at = rest.indexOf(one); if (at >= 0) rest.splice(at, 1); return at < 0; });
};
const known = (v) => v !== null && v !== undefined;
const flat = (color) => color.toLowerCase();

// ends returns the first and the last bar of a run that have a value.
const ends = (values, from, to) => {
  const at = [];
  for (let i = from; i < to; i++) if (known(values[i])) at.push(i);
  return at;
};

// drawn is what the state of the chart says, in the words of the server's expectation.
function drawn(state, look) {
  const all = { lines: [], dots: [], fills: [], columns: [], rules: [], marks: [], tints: [], legend: {}, series: new Map() };
  const bars = state.bars;
  for (const p of state.plots) {
    for (const l of p.lines) {
      const dash = `${l.dash[0]}/${l.dash[1]}`;
      if (l.form === "levels") {
        for (let i = 0; i < l.values.length;) {
          const v = l.values[i];
          for (i++; i < l.values.length && l.values[i] === v;) i++;
          if (known(v)) all.rules.push(`${p.pane} ${flat(l.runs[0][2])} ${dash}`);
        }
        continue;
      }
      for (const [from, to, color] of l.runs) {
        const at = ends(l.values, from, to).filter((i) => i + l.shift < bars + (look.ahead ?? 0));
        if (!at.length) continue;
        if (l.form === "dots") for (const i of at) all.dots.push(`${p.pane} ${flat(color)} ${i + l.shift}`);
        else if (l.form === "cross") continue;
        else if (at.length === 1) all.dots.push(`${p.pane} ${flat(color)} ${at[0] + l.shift}`);
        else {
          const line = `${p.pane} ${flat(color)} ${l.width.toFixed(2)} ${dash} ${at[0] + l.shift}-${at.at(-1) + l.shift}`;
          all.lines.push(line);
          if (!all.series.has(line)) all.series.set(line, []);
          all.series.get(line).push((bar) => l.values[bar - l.shift]);
        }
      }
    }
    for (const f of p.fills) {
      for (const [from, to] of f.parts ?? []) if (to - from > 1) all.fills.push(`${p.pane} ${flat(f.above)} ${flat(f.below)} ${from}-${to - 1}`);
      for (const [from, to, color] of f.runs ?? []) if (to - from > 1) all.fills.push(`${p.pane} ${flat(color)} ${flat(color)} ${from}-${to - 1}`);
    }
    if (p.pane > 0) for (const h of p.hist) h.colors.forEach((c, i) => { if (c) all.columns.push(`${p.pane} ${flat(c)} ${i}`); });
    for (const l of p.levels) all.rules.push(`${p.pane} ${flat(l.color)} ${l.dash[0]}/${l.dash[1]}`);
    for (const m of p.marks) if (m.form !== "word") all.marks.push(`${p.pane} ${m.form === "candle" ? "dot" : m.form} ${flat(m.color)} ${m.x}`);
    for (const d of p.divs) for (const x of [d.x1, d.x2]) all.marks.push(`${p.pane} dot ${flat(d.color)} ${x}`);
    for (const t of p.tints) all.tints.push(`${p.pane} ${flat(t)}`);
    all.gradient ||= p.fills.some((f) => f.blended);
  }
  for (const row of state.legend.slice(1)) {
    const texts = all.legend[row.pane] ??= [];
    texts.push(row.title);
    for (const part of row.parts) {
      if (part.name) texts.push(part.name);
      texts.push(`${part.text} ${flat(part.color)}`);
    }
  }
  return all;
}

function compare(expect, have, header) {
  const wrong = [];
  const both = (name, want, got) => {
    const less = missing(want, got), more = missing(got, want);
    if (less.length || more.length) wrong.push(`${name}: not drawn ${less.slice(0, 3).join(" | ") || "none"}; too many ${more.slice(0, 3).join(" | ") || "none"} (${less.length}, ${more.length})`);
  };
  both("lines", expect.lines ?? [], have.lines);
  both("dots", expect.dots ?? [], have.dots);
  if (!have.gradient) both("fills", expect.fills ?? [], have.fills);
  both("columns", expect.columns ?? [], have.columns);
  both("marks", expect.marks ?? [], have.marks);
  // Levels over the price that are out of sight, and ends of profiles narrower than a pixel, are not in the picture.
  const rules = missing(expect.rules ?? [], have.rules), below = (all) => all.filter((r) => !r.startsWith("0 "));
  if (rules.length) wrong.push(`levels: not drawn ${rules.slice(0, 3).join(" | ")}`);
  both("levels", below(expect.rules ?? []), below(have.rules));
  const tints = missing(expect.tints ?? [], have.tints);
  if (tints.length) wrong.push(`tints: not drawn ${tints.join(" | ")}`);
  for (const [pane, want] of Object.entries(expect.legend)) {
    // The picture has names in a colour of their own; the browser's style sheet has that.
    const got = have.legend[pane] ?? [];
    const plain = want.map((t) => (got.includes(t) ? t : t.replace(/ #[0-9a-f]{6}$/, "")));
    if (plain.join("|") !== got.join("|")) wrong.push(`legend of pane ${pane}: picture ${plain.join("|")}; browser ${got.join("|")}`);
  }
  const texts = header.map((p) => `${p.text} ${flat(p.color)}`), less = missing(texts, expect.header);
  if (less.length) wrong.push(`header: ${less.join(" | ")} not in ${expect.header.join(" | ")}`);
  let values = 0;
  for (const v of expect.values ?? []) {
    const candidates = have.series.get(v.line) ?? [];
    values++;
    if (candidates.length && !candidates.some((at) => Math.abs(at(v.bar) - v.value) <= v.near)) wrong.push(`value of ${v.line} at bar ${v.bar}: picture ${v.value} within ${v.near}, browser ${candidates[0](v.bar)}`);
  }
  return { wrong, values };
}

// unseen returns those colours that no pixel has, after the next frame. It runs in the page.
const unseen = async (colors) => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const seen = new Set();
  for (const canvas of document.querySelectorAll("canvas")) {
    if (!canvas.width || !canvas.height) continue;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  }
  return colors.filter((c) => !seen.has(parseInt(c.slice(1), 16)));
};

const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1000, height: 1200 }, deviceScaleFactor: 2 });
page.on("pageerror", (e) => { console.error(e.message); process.exitCode = 1; });
await page.goto(base);
await page.waitForFunction("window.ready");
let good = 0, refused = 0, values = 0, pixels = 0;
const sum = {};
for (let n = Number(first); good < Number(count) && n < Number(first) + 3 * Number(count); n++) {
  const answer = await fetch(`${base}/scene?n=${n}`);
  if (!answer.ok) { // an indicator whose series a file does not have
    refused++;
    continue;
  }
  const { about, theme, scene, expect } = await answer.json();
  const state = await page.evaluate(([scene, theme]) => {
    window.draw(scene, theme);
    return { ...view.state(), bars: scene.bars.length };
  }, [scene, theme]);
  const have = drawn(state, scene.look);
  const result = compare(expect, have, state.legend[0].parts.slice(0, 6));
  values += result.values;
  for (const key of ["lines", "dots", "fills", "columns", "marks", "rules"]) sum[key] = (sum[key] ?? 0) + (expect[key]?.length ?? 0);
  // What is opaque and wide enough has the same pixels in both media.
  if (n % 4 === 0) {
    const long = (expect.lines ?? []).filter((l) => { const [from, to] = l.split(" ")[4].split("-"); return Number(l.split(" ")[2]) >= 1.6 && to - from > 5; });
    const solid = [...new Set([...(expect.columns ?? []), ...long].map((c) => c.split(" ")[1]).filter((c) => c.length === 7))];
    let lost = solid;
    for (const end = Date.now() + 20_000; lost.length && Date.now() < end;) lost = await page.evaluate(unseen, lost); // until it is painted
    pixels += solid.length - lost.length;
    if (lost.length) result.wrong.push(`no pixel of ${lost.join(" ")}`);
  }
  good++;
  if (result.wrong.length) {
    console.error(`${n} ${about}\n  ${result.wrong.join("\n  ")}`);
    process.exitCode = 1;
  }
}
await browser.close();
if (good < Number(count)) process.exitCode = 1;
console.log(`scenes: ${good} compared, ${refused} without data; ${Object.entries(sum).map(([k, v]) => `${v} ${k}`).join(", ")}, ${values} values, ${pixels} colours of pixels`);
