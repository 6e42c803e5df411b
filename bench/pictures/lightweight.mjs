// Draws a chart with lightweight-charts in Chromium for each line on stdin, which holds
// the bars, and prints the size of the screenshot.
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const script = fileURLToPath(new URL('node_modules/lightweight-charts/dist/lightweight-charts.standalone.production.js', import.meta.url));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1440, height: 810 } });

for await (const line of createInterface({ input: process.stdin })) {
  await page.setContent('<body style="margin:0"><div id="c" style="width:1440px;height:810px"></div>');
  await page.addScriptTag({ path: script });
  await page.evaluate(({ bars, lines, panel }) => {
    const L = window.LightweightCharts;
    const chart = L.createChart(document.getElementById('c'), { autoSize: false, width: 1440, height: 810 });
    chart.addSeries(L.CandlestickSeries).setData(bars);
    chart.addSeries(L.HistogramSeries, { priceScaleId: 'v' }).setData(bars.map((b) => ({ time: b.time, value: b.volume })));
    for (const data of lines) chart.addSeries(L.LineSeries, { lineWidth: 2 }).setData(data);
    for (const data of panel) chart.addSeries(L.LineSeries, { lineWidth: 2 }, 1).setData(data);
    chart.timeScale().fitContent();
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));
  }, JSON.parse(line));
  console.log((await page.screenshot()).length);
}
await browser.close();
