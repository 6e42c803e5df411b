// Draws what generate_chart returns with format "series": bars, indicators in panes, and on
// them the levels that its "summary" has. Every number is the server's; nothing is computed
// here but where it stands on the screen. The page of an MCP App and the console use it.

import { alpha, decimals, describe, digitsFor, fixedRange, number, percent, priceDigits, themes, wall, withRange, zoneName } from './figures.mjs'
import { Painter, paintArea, paintDrawing, paintLine, paintProfile } from './paint.mjs'
import { barTone, marksOf, paintShape, paintTints, toneAt } from './script.mjs'

// maxPanes is how many indicators below the price are drawn at once.
export const maxPanes = 4

const day = 86400 // seconds
const upward = ['+DI', 'Long', 'Senkou A', 'S1', 'S2', 'S3', 'S4', 'S5']
const downward = ['-DI', 'Short', 'Senkou B', 'R1', 'R2', 'R3', 'R4', 'R5']

// The library has no time zones: a bar stands where the clocks of the zone stood. Bars of days
// and more have dates.
const dated = (series) => /[dwM]$/.test(series.interval)

// timesOf returns a time for each bar, ascending also where clocks are set back. Sample bars
// have none; they stand a day apart, and the axis shows their numbers.
function timesOf(series) {
  let last = -Infinity
  return series.bars.map((b, i) => {
    if (b.t === null) return i * day
    last = Math.max(last + 1, dated(series) ? b.t : wall(b.t))
    return last
  })
}

// near is how far outside the bars a level widens the price axis, as a part of their range.
const near = 0.3

// points pairs values with the times of the bars. Those without a value are holes.
function points(times, values) {
  return times.map((time, i) => (values[i] === null || values[i] === undefined ? { time } : { time, value: values[i] }))
}

// View draws one chart into an element. library is the namespace of lightweight-charts.
// events.pick(pick) is called for a click on the price pane, events.describe(text) when the
// cursor is moved by keys. With events.hollow rising bodies are hollow, so that colour is
// not all that distinguishes them from falling ones.
export class View {
  constructor(element, library, theme = 'dark', events = {}) {
    this.element = element
    this.library = library
    this.theme = themes[theme]
    this.events = events
    this.hidden = new Set() // layers that are off: fills, orders, alerts
    this.legends = []
    this.levels = {}
    this.cursor = null
    element.addEventListener('keydown', (e) => this.#key(e))
    this.observer = new ResizeObserver(() => this.#placed())
    this.observer.observe(element)
  }

  // setTheme draws again in the colours of a theme. override replaces some of them.
  setTheme(name, override = {}) {
    const key = name + JSON.stringify(override)
    if (key === this.themeKey) return
    this.themeKey = key
    this.theme = { ...themes[name], ...override }
    if (this.series) this.#draw()
  }

  // setSeries draws a whole chart. The visible range stays if it is of the same instrument.
  setSeries(series) {
    const same = this.series?.symbol === series.symbol && this.series?.interval === series.interval
    if (!same) this.range = null
    else this.#keepRange()
    this.series = series
    this.#draw()
  }

  // setLevels shows what a summary has: alerts, open orders, the position and fills. asks has
  // the ids of orders that need approval.
  setLevels(summary, asks) {
    this.levels = summary ?? {}
    this.asks = asks
    if (this.chart) this.#drawLevels()
  }

  // setLayer shows or hides fills, orders or alerts.
  setLayer(name, shown) {
    if (shown) this.hidden.delete(name)
    else this.hidden.add(name)
    if (this.chart) this.#drawLevels()
  }

  // update takes the newest bars, and reports whether that was possible: a series that does
  // not overlap with the one shown, or begins a new bar, needs the whole again. Values of an
  // indicator are taken only if those of the bars before the last agree with what is shown,
  // because some depend on all bars of a chart.
  update(newer) {
    const bars = this.series?.bars
    if (!bars?.length || !newer.bars.length || newer.symbol !== this.series.symbol || newer.interval !== this.series.interval) return false
    const last = bars.length - 1, count = newer.bars.length
    if (bars[last].t === null || newer.bars[count - 1].t !== bars[last].t) return false
    bars[last] = newer.bars[count - 1]
    this.series.stale = newer.stale
    this.series.as_of = newer.as_of
    this.candles.update(this.#candle(last))
    this.volume.update(this.#volumeBar(last))
    for (const [key, ind] of Object.entries(newer.indicators)) this.#updateIndicator(this.series.indicators[key], ind, count)
    this.#legend(this.cursor ?? last)
    return true
  }

  // reset shows the newest bars.
  reset() {
    const n = this.series.bars.length
    const shown = Math.max(30, Math.min(n, Math.floor(this.element.clientWidth / 8)))
    this.chart.timeScale().setVisibleLogicalRange({ from: n - shown, to: n + Math.max(3, shown * (this.element.clientWidth < 480 ? 0.2 : 0.14)) })
  }

  // zoom shows fewer bars for a factor under 1, and more for one above.
  zoom(factor) {
    const range = this.chart.timeScale().getVisibleLogicalRange()
    if (!range) return
    const span = Math.max(5, (range.to - range.from) * factor)
    this.chart.timeScale().setVisibleLogicalRange({ from: range.to - span, to: range.to })
  }

  remove() {
    this.observer.disconnect()
    this.chart?.remove()
    this.chart = null
    for (const l of this.legends) l.element.remove()
    this.legends = []
  }

  #keepRange() {
    const range = this.chart?.timeScale().getVisibleLogicalRange()
    // Bars that came since move what was seen.
    if (range) this.range = { from: range.from - this.series.bars.length, to: range.to - this.series.bars.length }
  }

  #draw() {
    if (this.chart && !this.range) this.#keepRange()
    this.chart?.remove()
    for (const l of this.legends) l.element.remove()
    this.legends = []
    this.priceLines = [] // those of the chart before are gone with it
    this.lines = {}
    this.times = timesOf(this.series)
    this.digits = priceDigits(this.series.bars)
    this.chart = this.library.createChart(this.element, this.#options())
    this.#drawPrice()
    this.#drawIndicators()
    this.#drawLevels()
    const n = this.series.bars.length
    if (this.range) this.chart.timeScale().setVisibleLogicalRange({ from: this.range.from + n, to: this.range.to + n })
    else this.reset()
    this.range = null
    this.chart.subscribeCrosshairMove((m) => this.#legend(m.logical !== undefined && this.series.bars[m.logical] ? m.logical : this.series.bars.length - 1))
    this.chart.subscribeClick((m) => this.#click(m))
    this.chart.timeScale().subscribeVisibleLogicalRangeChange((r) => {
      if (r) this.element.dataset.range = `${r.from.toFixed(1)} ${r.to.toFixed(1)}`
      this.#placeLevels()
    })
    this.#legend(n - 1)
    this.#placed()
  }

  #options() {
    const t = this.theme
    const sample = this.series.bars[0]?.t === null
    const options = {
      autoSize: true,
      layout: {
        background: { color: t.background }, textColor: t.text, fontFamily: 'Roboto, system-ui, sans-serif', fontSize: 12, attributionLogo: false,
        panes: { separatorColor: t.border, separatorHoverColor: alpha(t.cycle[2], 0.2), enableResize: true },
      },
      grid: { vertLines: { color: t.grid }, horzLines: { color: t.grid } },
      crosshair: { mode: 0, vertLine: { color: t.muted, labelBackgroundColor: t.border }, horzLine: { color: t.muted, labelBackgroundColor: t.border } },
      rightPriceScale: { borderColor: t.border, entireTextOnly: true },
      timeScale: { borderColor: t.border, timeVisible: !dated(this.series), secondsVisible: false },
      localization: { timeFormatter: (time) => this.#timeText(time) },
    }
    if (sample) {
      options.timeScale.tickMarkFormatter = (time) => '#' + time / day
      options.localization = { timeFormatter: (time) => '#' + time / day }
    }
    return options
  }

  // #timeText writes the time at the cursor with its zone.
  #timeText(time) {
    const text = new Date(time * 1000).toLocaleString('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric', ...(dated(this.series) ? {} : { hour: '2-digit', minute: '2-digit' }) }).replace(',', '')
    return dated(this.series) ? text : `${text} ${zoneName(this.series.bars[this.times.indexOf(time)]?.t ?? time)}`
  }

  #candle(i) {
    const b = this.series.bars[i], tone = barTone(this.series.indicators, i)
    const candle = { time: this.times[i], open: b.o, high: b.h, low: b.l, close: b.c }
    return tone ? { ...candle, color: tone, borderColor: tone, wickColor: tone } : candle
  }

  #volumeBar(i) {
    const b = this.series.bars[i]
    return { time: this.times[i], value: b.v ?? 0, color: alpha(b.c >= b.o ? this.theme.up : this.theme.down, this.theme.volume) }
  }

  #drawPrice() {
    const t = this.theme, lib = this.library, n = this.series.bars.length
    this.volume = this.chart.addSeries(lib.HistogramSeries, { priceScaleId: 'volume', priceLineVisible: false, lastValueVisible: false, priceFormat: { type: 'volume' } })
    this.volume.priceScale().applyOptions({ scaleMargins: { top: 0.86, bottom: 0 } })
    this.volume.setData(Array.from({ length: n }, (_, i) => this.#volumeBar(i)))
    this.candles = this.chart.addSeries(lib.CandlestickSeries, {
      upColor: this.events.hollow ? t.background : t.up, borderUpColor: t.up, wickUpColor: t.up, downColor: t.down, borderDownColor: t.down, wickDownColor: t.down,
      priceLineStyle: lib.LineStyle.Dotted, priceLineWidth: 1, priceLineColor: t.muted,
      priceFormat: { type: 'custom', minMove: 10 ** -this.digits, formatter: (v) => number(v, this.digits) },
      autoscaleInfoProvider: (own) => this.#withLevels(own()),
    })
    this.candles.priceScale().applyOptions({ scaleMargins: { top: 0.14, bottom: 0.16 } })
    this.candles.setData(Array.from({ length: n }, (_, i) => this.#candle(i)))
    const drawings = this.series.drawings ?? []
    if (drawings.length) this.candles.attachPrimitive(new Painter((ctx, x, y, space) => drawings.forEach((d) => paintDrawing(ctx, x, y, space, d, this.theme))))
    ;(this.series.compare ?? []).forEach((other, i) => {
      const line = this.#line(t.cycle[(i + 4) % 8], 0, { priceScaleId: 'compare', title: other.symbol, lastValueVisible: true, priceFormat: { type: 'percent' } })
      line.setData(points(this.times, other.values))
    })
  }

  #line(color, pane, options = {}) {
    return this.chart.addSeries(this.library.LineSeries, { color, lineWidth: 1.5, priceLineVisible: false, lastValueVisible: false, crosshairMarkerVisible: false, ...options }, pane)
  }

  #drawIndicators() {
    this.legends.push(this.#legendElement(0))
    let pane = 0, next = 0
    this.left = []
    for (const [key, ind] of Object.entries(this.series.indicators)) {
      if (!ind.is_overlay && pane >= maxPanes) {
        this.left.push(ind.label)
        continue
      }
      const at = ind.is_overlay ? 0 : ++pane
      if (at > 0) this.legends.push(this.#legendElement(at))
      next = this.#drawIndicator(key, ind, at, ind.is_overlay ? next : 0)
    }
    const panes = this.chart.panes()
    if (panes.length > 1) panes.forEach((p, i) => p.setStretchFactor(i ? 38 / (panes.length - 1) : 62))
  }

  // #drawIndicator draws the channels of one result, and returns the next colour of the cycle.
  #drawIndicator(key, ind, pane, color) {
    const t = this.theme, lib = this.library
    const drawn = { pane, ind, lines: [], bars: [], colors: [], digits: ind.is_overlay ? this.digits : digitsFor((ind.lines ?? []).concat(ind.histogram ?? []).flatMap((l) => l.values)) }
    const format = { priceFormat: { type: 'custom', minMove: 10 ** -drawn.digits, formatter: (v) => number(v, drawn.digits) } }
    this.lines[key] = drawn
    for (const h of ind.histogram ?? []) {
      const bars = this.chart.addSeries(lib.HistogramSeries, { priceLineVisible: false, lastValueVisible: false, ...format }, pane)
      bars.setData(this.times.map((_, i) => this.#histogramBar(h.values, i, ind.colors?.[h.label])))
      drawn.bars.push(bars)
    }
    for (const l of ind.lines ?? []) {
      const tones = ind.colors?.[l.label], last = this.times.length - 1
      const own = tones ? toneAt(tones, last) ?? t.muted : upward.includes(l.label) ? t.up : downward.includes(l.label) ? t.down : t.cycle[color++ % 8]
      // More labels than two would cover each other.
      const line = this.#line(own, pane, { lastValueVisible: !ind.is_overlay && ind.lines.length <= 2, ...format })
      line.setData(this.#linePoints(l.values, tones))
      drawn.lines.push(line)
      drawn.colors.push(own)
    }
    const base = ind.is_overlay ? this.candles : drawn.lines[0] ?? drawn.bars[0]
    if (base) this.#drawMarks(ind, base, drawn)
    for (const l of ind.over_price?.lines ?? []) this.#line(toneAt(ind.over_price.colors?.[l.label], this.times.length - 1) ?? t.cycle[color++ % 8], 0, format).setData(this.#linePoints(l.values, ind.over_price.colors?.[l.label]))
    return color
  }

  // #linePoints pairs values with times, and with the colours of a script where they change.
  #linePoints(values, tones) {
    const all = points(this.times, values)
    if (tones?.index) all.forEach((p, i) => { if (p.value !== undefined) p.color = toneAt(tones, i) ?? 'transparent' })
    return all
  }

  #histogramBar(values, i, tones) {
    const v = values[i]
    if (v === null || v === undefined) return { time: this.times[i] }
    if (tones) return { time: this.times[i], value: v, color: toneAt(tones, i) ?? 'transparent' }
    const weak = Math.abs(v) < Math.abs(values[i - 1] ?? 0)
    return { time: this.times[i], value: v, color: this.theme.histogram[(v >= 0 ? 0 : 2) + (weak ? 1 : 0)] }
  }

  #drawMarks(ind, base, drawn) {
    const t = this.theme
    for (const h of ind.hlines ?? []) base.createPriceLine({ price: h.y, color: t.muted, title: ind.is_overlay ? h.label ?? '' : '', lineStyle: this.library.LineStyle.Dashed, lineWidth: 1, axisLabelVisible: false })
    if (['fills', 'hbars', 'divlines', 'tints', 'shapes'].some((channel) => ind[channel]?.length)) {
      base.attachPrimitive(new Painter((ctx, x, y, space) => {
        paintTints(ctx, x, space, ind.tints)
        ;(ind.fills ?? []).forEach((f, i) => paintArea(ctx, x, y, f, f.colors ? (bar) => toneAt(f.colors, bar) : () => alpha((drawn.colors[i % Math.max(1, drawn.colors.length)] ?? this.theme.cycle[2]).slice(0, 7), 0.1)))
        for (const s of ind.shapes ?? []) paintShape(ctx, x, y, space, s, this.theme)
        if (ind.hbars?.length) paintProfile(ctx, y, space, ind.hbars, this.theme)
        for (const d of ind.divlines ?? []) paintLine(ctx, x(d.x1), y(d.y1), x(d.x2), y(d.y2), this.theme.strong, 1.5 * space.verticalPixelRatio, d.dashed ? [4, 4] : [])
      }))
    }
    const signals = ind.signals ?? []
    const marks = marksOf(ind.marks, this.times, t)
    if (marks.length) this.library.createSeriesMarkers(base, marks)
    if (signals.length) {
      const markers = signals.filter((s) => s.x >= 0 && s.x < this.times.length).sort((a, b) => a.x - b.x)
        .map((s) => ({ time: this.times[s.x], position: 'atPriceMiddle', price: s.y, shape: 'circle', color: t.warn, size: 0.6 }))
      this.library.createSeriesMarkers(base, markers)
    }
    if (ind.y_range && base !== this.candles && fixedRange(ind)) base.applyOptions({ autoscaleInfoProvider: (own) => withRange(own(), ind.y_range) })
  }

  // #drawLevels draws a line for each price that has an alert, an order or the position.
  #drawLevels() {
    const t = this.theme, style = this.library.LineStyle, narrow = this.element.clientWidth < 480
    for (const line of this.priceLines ?? []) this.candles.removePriceLine(line.line)
    this.priceLines = []
    const add = (price, color, title, lineStyle) => {
      if (!Number.isFinite(price)) return
      const same = this.priceLines.find((l) => l.price === price && l.color === color)
      if (same) {
        same.count++
        same.title = title === same.one ? `${title} \u00d7${same.count}` : `${same.count} orders`
        return
      }
      this.priceLines.push({ price, color, title, one: title, count: 1, lineStyle })
    }
    const l = this.levels, word = (side) => (side === 'sell' ? 'Sell' : 'Buy')
    if (l.position) add(l.position.entry_price, t.muted, narrow ? 'Avg' : `Average, ${number(l.position.quantity, decimals(l.position.quantity))} ${l.position.side === 'sell' ? 'short' : 'long'}`, style.Solid)
    for (const o of this.hidden.has('orders') ? [] : l.open_orders ?? []) {
      const asks = this.asks?.has(o.order_id), size = number(o.quantity, decimals(o.quantity))
      if (o.price) add(o.price, asks ? t.warn : o.side === 'sell' ? t.down : t.up, narrow ? (asks ? 'Asks' : word(o.side)) : asks ? `Asks: ${o.side} ${size}` : `${word(o.side)} ${size}`, style.Dashed)
    }
    for (const a of this.hidden.has('alerts') ? [] : l.alerts ?? []) add(a.price_above ?? a.price_below ?? a.price_crosses, t.warn, 'Alert', style.SparseDotted)
    for (const one of this.priceLines) {
      one.shown = true
      one.line = this.candles.createPriceLine({ price: one.price, color: one.color, title: one.title, lineStyle: one.lineStyle, lineWidth: 1, axisLabelVisible: true })
    }
    this.#drawFills()
    this.#placeLevels()
  }

  // #withLevels widens the range of the bars to levels that are near.
  #withLevels(own) {
    if (!own?.priceRange) return own
    const { minValue: low, maxValue: high } = own.priceRange, room = (high - low) * near
    const inside = (this.priceLines ?? []).map((l) => l.price).filter((p) => p >= low - room && p <= high + room)
    return { ...own, priceRange: { minValue: Math.min(low, ...inside), maxValue: Math.max(high, ...inside) } }
  }

  // #placeLevels hides the labels of levels outside the axis, which the library would show at
  // its edge, at another price.
  #placeLevels() {
    cancelAnimationFrame(this.placing)
    this.placing = requestAnimationFrame(() => {
      const height = this.chart?.panes()[0].getHeight()
      for (const one of height ? this.priceLines : []) {
        const y = this.candles.priceToCoordinate(one.price)
        const shown = y !== null && y >= 0 && y <= height
        if (shown !== one.shown) one.line.applyOptions({ axisLabelVisible: shown, title: shown ? one.title : '' })
        one.shown = shown
      }
    })
  }

  #drawFills() {
    this.fillMarks ??= null
    const shown = this.hidden.has('fills') ? [] : this.levels.fills ?? []
    const markers = []
    for (const f of shown) {
      const at = Date.parse(f.date) / 1000
      const i = this.series.bars.findLastIndex((b) => b.t !== null && b.t <= at)
      if (i < 0) continue
      const sell = f.side === 'sell'
      markers.push({ time: this.times[i], position: sell ? 'aboveBar' : 'belowBar', shape: sell ? 'arrowDown' : 'arrowUp', color: sell ? this.theme.down : this.theme.up, size: 1.4 })
    }
    markers.sort((a, b) => a.time - b.time)
    if (this.fillMarks?.of === this.candles) this.fillMarks.marks.setMarkers(markers)
    else this.fillMarks = { of: this.candles, marks: this.library.createSeriesMarkers(this.candles, markers) }
  }

  #updateIndicator(shown, newer, count) {
    if (!shown) return
    const last = this.series.bars.length - 1
    const drawn = Object.values(this.lines).find((d) => d.ind === shown)
    const columns = (from, to, apply) => {
      for (let i = 0; i < Math.min(from?.length ?? 0, to?.length ?? 0); i++) {
        const old = to[i].values, values = from[i].values
        if (count > 1 && values[count - 2] !== old[last - 1]) continue
        old[last] = values[count - 1]
        apply(i, old)
      }
    }
    columns(newer.lines, shown.lines, (i, values) => { if (values[last] !== null) drawn?.lines[i].update(this.#linePoints(values, shown.colors?.[shown.lines[i].label])[last]) })
    columns(newer.histogram, shown.histogram, (i, values) => { if (values[last] !== null) drawn?.bars[i].update(this.#histogramBar(values, last, shown.colors?.[shown.histogram[i].label])) })
    ;(newer.fills ?? []).forEach((f, i) => {
      const old = shown.fills?.[i]
      if (!old || (count > 1 && (f.y1[count - 2] !== old.y1[last - 1] || f.y2[count - 2] !== old.y2[last - 1]))) return
      old.y1[last] = f.y1[count - 1]
      old.y2[last] = f.y2[count - 1]
    })
  }

  #legendElement(pane) {
    const element = document.createElement('div')
    element.className = 'legend'
    element.setAttribute('aria-hidden', 'true')
    this.element.append(element)
    return { pane, element }
  }

  #legend(i) {
    const b = this.series.bars[i], t = this.theme
    if (!b) return
    const color = b.c >= b.o ? t.up : t.down
    const row = (title, parts) => {
      const div = document.createElement('div')
      div.append(title, ' ')
      for (const [label, text, own] of parts) {
        if (label) div.append(label + ' ')
        const span = document.createElement('span')
        span.textContent = text
        if (own) span.style.color = own
        div.append(span, ' ')
      }
      return div
    }
    const before = this.series.bars[i - 1]
    const narrow = this.element.clientWidth < 480
    const figure = (v, digits) => number(v, narrow && Math.abs(v) >= 1000 ? 0 : digits)
    const prices = [['O', b.o], ['H', b.h], ['L', b.l], ['C', b.c]].slice(narrow ? 3 : 0).map(([k, v]) => [k, number(v, this.digits), color])
    if (before) prices.push(['', percent((b.c / before.c - 1) * 100), color])
    if (b.v && !narrow) prices.push(['Vol', number(b.v, b.v < 100 ? 2 : 0)])
    const rows = this.legends.map(() => [])
    const name = document.createElement('b')
    name.textContent = this.series.symbol
    rows[0].push(row(name, [['', this.series.interval], ...prices]))
    for (const d of Object.values(this.lines)) {
      const parts = (d.ind.lines ?? []).map((l, k) => ['', figure(l.values[i], d.digits), toneAt(d.ind.colors?.[l.label], i) ?? d.colors[k]])
      for (const h of d.ind.histogram ?? []) parts.push(['', figure(h.values[i], d.digits), toneAt(d.ind.colors?.[h.label], i) ?? (h.values[i] >= 0 ? t.up : t.down)])
      const signals = narrow ? [] : (d.ind.signals ?? []).filter((s) => s.x === i).map((s) => ['', s.label.replaceAll('_', ' '), t.warn])
      rows[d.pane]?.push(row(d.ind.label, parts.concat(signals)))
    }
    this.legends.forEach((l, k) => l.element.replaceChildren(...rows[k]))
  }

  // The library gives its panes their heights in the next frame.
  #placed() { requestAnimationFrame(() => requestAnimationFrame(() => this.#place())) }

  #place() {
    if (!this.chart) return
    let top = 0
    this.chart.panes().forEach((p, i) => {
      const legend = this.legends[i]
      if (legend) legend.element.style.top = `${top + 6}px`
      top += p.getHeight() + 1
    })
    this.#placeLevels()
  }

  #click(m) {
    if (!m.point || (m.paneIndex ?? 0) !== 0 || !this.events.pick) return
    const price = this.candles.coordinateToPrice(m.point.y)
    if (price === null || !(price > 0)) return
    const bar = m.logical === undefined ? undefined : this.series.bars[m.logical]
    this.events.pick({ price: price.toFixed(this.digits), time: bar?.t ?? null })
  }

  // #key moves a cursor over the bars, which is announced, zooms, and picks the price of
  // the bar under the cursor.
  #key(e) {
    if (!this.chart || e.altKey || e.ctrlKey || e.metaKey) return
    const last = this.series.bars.length - 1
    const at = this.cursor ?? last
    switch (e.key) {
      case 'ArrowLeft': return this.#moveTo(e, Math.max(0, at - 1))
      case 'ArrowRight': return this.#moveTo(e, Math.min(last, at + 1))
      case 'Home': return this.#moveTo(e, 0)
      case 'End': return this.#moveTo(e, last)
      case '+': case '=': this.zoom(0.8); break
      case '-': this.zoom(1.25); break
      case 'Enter': this.events.pick?.({ price: this.series.bars[at].c.toFixed(this.digits), time: this.series.bars[at].t }); break
      default: return
    }
    e.preventDefault()
  }

  #moveTo(e, i) {
    e.preventDefault()
    this.cursor = i
    this.chart.setCrosshairPosition(this.series.bars[i].c, this.times[i], this.candles)
    this.#legend(i)
    this.events.describe?.(describe(this.series, i, this.digits))
  }
}
