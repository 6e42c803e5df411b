// Draws what generate_chart returns with format "scene": bars, indicators in panes, and on them the levels that its
// "summary" has. Every number is the server's, and so is every colour, width, name and break of a line: they are
// those of its picture, in the field "look". The page of an MCP App and the console use it.
//
// Other modules draw on the chart and handle the pointer there as overlays: see View.addOverlay and
// overlay.mjs. View.series has the bars, View.theme the colours.

import { grouped, levelsOf, paintAccount, paintFills, pitch, spread } from './account.mjs'
import { alpha, dated, decimals, describe, number, percent, priceDigits, style, timesOf, write, zoneName } from './figures.mjs'
import { Legends, exchangeZone, left, rowsOf } from './legend.mjs'
import { Overlays, placeFor } from './overlay.mjs'
import { Painter, paintDrawing, paintLine } from './paint.mjs'
import { Plot, priceSpan } from './plot.mjs'

// maxPanes is how many indicators below the price are drawn at once, if there is room for them.
export const maxPanes = 8

const day = 86400 // seconds, between two sample bars
const leastPane = 60 // pixels

// View draws one chart into an element. library is the namespace of lightweight-charts.
// events.pick(pick) is called for a click on the price pane, events.describe(text) when the
// cursor is moved by keys.
export class View {
  constructor(element, library, theme = 'dark', events = {}) {
    this.element = element
    this.library = library
    this.themeName = theme
    this.events = events
    this.hidden = new Set() // layers that are off: fills, orders, alerts
    this.legends = new Legends(element)
    this.summary = {}
    this.levels = []
    this.plots = []
    this.overlays = new Overlays(this)
    this.cursor = null
    this.top = 0.1 // part of the pane above the prices
    this.pageZone = style.zone
    element.addEventListener('keydown', (e) => this.#key(e))
    this.observer = new ResizeObserver(() => this.#place())
    this.observer.observe(element)
    this.clock = setInterval(() => this.#tick(), 1000)
  }

  // setTheme draws again in the colours of a theme. override replaces background, up and down.
  setTheme(name, override = {}) {
    const key = name + JSON.stringify(override)
    if (key === this.themeKey) return
    this.themeKey = key
    this.themeName = name
    this.override = override
    if (this.series) this.#draw()
  }

  // setSeries draws a whole chart. The visible range stays if it is of the same instrument.
  setSeries(series) {
    const same = this.series?.symbol === series.symbol && this.series?.interval === series.interval
    if (!same) this.range = null
    else this.#keepRange()
    if (!same) this.scales = null
    this.series = series
    this.#draw()
  }

  // setLevels shows what a summary has: alerts, open orders, the position and fills. asks has
  // the ids of orders that need approval.
  setLevels(summary, asks) {
    this.summary = summary ?? {}
    this.asks = asks
    this.#drawLevels()
  }

  // setLayer shows or hides fills, orders or alerts.
  setLayer(name, shown) {
    if (shown) this.hidden.delete(name)
    else this.hidden.add(name)
    this.#drawLevels()
  }

  // ---- for overlays

  // place has the functions between what is drawn and pixels, see placeFor in overlay.mjs. It is null before a chart is
  // drawn. Ask for it again after each redraw.
  get place() { return placeFor(this) }

  // addOverlay puts something on the chart, see Overlays in overlay.mjs, and returns a function that takes it off again.
  addOverlay(overlay) { return this.overlays.add(overlay) }

  // redraw draws the overlays again in the next frame.
  redraw() { this.request?.() }

  // state returns what the chart shows, for tests.
  state() {
    return {
      theme: this.themeName, panes: this.chart?.panes().map((p) => p.getHeight()) ?? [], legend: rowsOf(this, this.series.bars.length - 1),
      plots: this.plots.map((p) => ({ pane: p.at, title: p.look.title, ...p.state() })),
      levels: this.groups?.map((g) => ({ title: g.title, color: g.color, low: g.low, high: g.high })) ?? [],
      tags: this.tags?.map((t) => ({ pane: t.pane, text: t.text, color: t.color })) ?? [],
      left: this.left, counted: this.counted,
    }
  }

  // ink returns the colour of an ink in the theme, read the same for text and on that of text upon it.
  ink(i) { return this.#colour(this.series.look.inks, i) }
  read(i) { return this.#colour(this.series.look.read, i) }
  on(i) { return this.series.look.on[i][this.themeName === 'light' ? 1 : 0] }

  #colour(list, i) {
    const light = this.themeName === 'light', plain = this.series.look.inks[i][light ? 1 : 0].slice(0, 7), own = this.series.look.themes[this.themeName]
    const color = list[i][light ? 1 : 0]
    for (const side of ['up', 'down']) if (plain === own[side] && this.theme[side] !== plain) return this.theme[side] + color.slice(7)
    return color
  }

  // toAxis returns where a price stands on the axis, which has percent where symbols are compared.
  toAxis(price) { return this.base ? (price / this.base - 1) * 100 : price }
  fromAxis(value) { return this.base ? (value / 100 + 1) * this.base : value }

  // update takes the newest bars, and reports whether that was possible: a series that does not overlap with the one
  // shown, begins a new bar or looks different needs the whole again. Values of an indicator are taken only if those
  // of the bars before the last agree with what is shown, because some depend on all bars of a chart.
  update(newer) {
    const bars = this.series?.bars
    if (!bars?.length || !newer.bars.length || newer.symbol !== this.series.symbol || newer.interval !== this.series.interval) return false
    const last = bars.length - 1, count = newer.bars.length
    if (bars[last].t === null || newer.bars[count - 1].t !== bars[last].t || newer.last_bar_closed !== this.series.last_bar_closed) return false
    if (newer.look.plots.length !== this.series.look.plots.length || newer.look.tints || this.series.look.tints) return false
    const same = (a, b) => newer.look.inks[a].join() === this.series.look.inks[b].join()
    const apply = []
    for (const [k, plot] of this.plots.entries()) {
      const look = newer.look.plots[k], of = new Plot({ series: newer }, look)
      if (look.key !== plot.look.key || look.title !== plot.look.title) return false
      if (!plot.follows(of, count, last, same, apply)) return false
    }
    for (const one of apply) one()
    bars[last] = newer.bars[count - 1]
    this.series.stale = newer.stale
    this.series.as_of = newer.as_of
    this.candles.update(this.#candle(last))
    this.volume.update(this.#volumeBar(last))
    this.#tick()
    this.#legend(this.cursor ?? last)
    return true
  }

  // reset shows the newest bars.
  reset() {
    const n = this.series.bars.length, width = this.element.clientWidth, ahead = this.series.look.ahead ?? 0
    const shown = Math.max(30, Math.min(n, Math.floor(width / 8)))
    this.chart.timeScale().setVisibleLogicalRange({ from: n - shown, to: n + Math.max(3 + ahead, shown * (width < 480 ? 0.2 : 0.1)) })
    this.chart.panes().forEach((p) => p.priceScale('right').applyOptions({ autoScale: true }))
  }

  // zoom shows fewer bars for a factor under 1, and more for one above.
  zoom(factor) {
    const range = this.chart.timeScale().getVisibleLogicalRange()
    if (!range) return
    const span = Math.max(5, (range.to - range.from) * factor)
    this.chart.timeScale().setVisibleLogicalRange({ from: range.to - span, to: range.to })
  }

  remove() {
    clearInterval(this.clock)
    this.observer.disconnect()
    this.chart?.remove()
    this.chart = null
    this.legends.remove()
  }

  #keepRange() {
    const range = this.chart?.timeScale().getVisibleLogicalRange()
    // Bars that came since move what was seen.
    if (range) this.range = { from: range.from - this.series.bars.length, to: range.to - this.series.bars.length }
  }

  // #keepScales keeps what a person did to the panes: their heights, and axes that were dragged.
  #keepScales() {
    const panes = this.chart?.panes() ?? []
    if (!panes.length) return
    const own = panes.map((p) => p.priceScale('right'))
    this.scales = { stretch: this.overlays.dragged ? panes.map((p) => p.getStretchFactor()) : null, ranges: own.map((s) => (s.options().autoScale ? null : s.getVisibleRange())) }
  }

  #draw() {
    if (this.chart && !this.range) this.#keepRange()
    if (this.chart && this.scales !== null) this.#keepScales()
    this.chart?.remove()
    this.exchange = exchangeZone(this.series)
    style.zone = this.exchange || this.pageZone
    this.theme = { ...this.series.look.themes[this.themeName], ...this.override }
    this.base = this.series.compare?.length ? this.series.bars[0].c : 0
    this.times = timesOf(this.series)
    this.digits = priceDigits(this.series.bars)
    this.chart = this.library.createChart(this.element, this.#options())
    this.#plotAll()
    this.#drawPrice()
    this.#drawPanes()
    this.#drawLevels()
    const n = this.series.bars.length
    if (this.range) this.chart.timeScale().setVisibleLogicalRange({ from: this.range.from + n, to: this.range.to + n })
    else this.reset()
    this.range = null
    this.#restoreScales()
    this.chart.subscribeCrosshairMove((m) => this.#legend(m.logical !== undefined && this.series.bars[m.logical] ? m.logical : this.series.bars.length - 1))
    this.chart.subscribeClick((m) => this.#click(m))
    this.chart.timeScale().subscribeVisibleLogicalRangeChange((r) => { if (r) this.element.dataset.range = `${r.from.toFixed(1)} ${r.to.toFixed(1)}` })
    this.#legend(n - 1)
    this.#place()
    this.#tick()
  }

  #restoreScales() {
    const kept = this.scales, panes = this.chart.panes()
    this.scales = undefined
    if (!kept) return
    if (kept.stretch?.length === panes.length) panes.forEach((p, i) => p.setStretchFactor(kept.stretch[i]))
    kept.ranges.forEach((range, i) => { if (range && panes[i]) panes[i].priceScale('right').setVisibleRange(range) })
  }

  #options() {
    const t = this.theme
    const sample = this.series.bars[0]?.t === null
    const options = {
      autoSize: true,
      layout: {
        background: { color: t.background }, textColor: t.text, fontFamily: 'Roboto, system-ui, sans-serif', fontSize: 12, attributionLogo: false,
        panes: { separatorColor: t.border, separatorHoverColor: alpha(t.drawing, 0.2), enableResize: true },
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

  // #plotAll makes the plots, those below the price as far as there is room.
  #plotAll() {
    const room = Math.min(maxPanes, Math.max(1, Math.floor(this.element.clientHeight * 0.65 / leastPane)))
    this.plots = []
    this.left = []
    for (const look of this.series.look.plots) {
      if (look.pane > room) {
        this.left.push(look.title)
        continue
      }
      const plot = new Plot(this, look)
      plot.at = look.pane
      this.plots.push(plot)
    }
    const replaced = this.plots.find((p) => p.look.candle)
    this.columns = replaced ? replaced.look.candle.map((k) => replaced.of.lines[k].values) : null
  }

  // #prices returns open, high, low and close of a bar as they are drawn.
  #prices(i) {
    const b = this.series.bars[i]
    return this.columns ? this.columns.map((c) => c[i]) : [b.o, b.h, b.l, b.c]
  }

  #candle(i) {
    const prices = this.#prices(i), [open, high, low, close] = prices.map((v) => this.toAxis(v)), last = i === this.series.bars.length - 1
    if (prices.includes(null)) return { time: this.times[i] }
    const tint = this.series.look.tints?.findLast(([from, to]) => from <= i && i < to)
    const tone = tint ? this.ink(tint[2]) : close >= open ? this.theme.up : this.theme.down
    const body = last && !this.series.last_bar_closed && this.series.bars[i].t !== null ? alpha(tone, this.theme.forming) : tone
    return { time: this.times[i], open, high, low, close, color: body, borderColor: tone, wickColor: tone }
  }

  #volumeBar(i) {
    const b = this.series.bars[i]
    return { time: this.times[i], value: b.v ?? 0, color: alpha(b.c >= b.o ? this.theme.up : this.theme.down, this.theme.volume) }
  }

  #drawPrice() {
    const t = this.theme, lib = this.library, n = this.series.bars.length
    this.volume = this.chart.addSeries(lib.HistogramSeries, { priceScaleId: 'volume', priceLineVisible: false, lastValueVisible: false, priceFormat: { type: 'volume' } })
    this.volume.priceScale().applyOptions({ scaleMargins: { top: 0.84, bottom: 0 } })
    this.volume.setData(Array.from({ length: n }, (_, i) => this.#volumeBar(i)))
    const digits = this.series.look.price
    this.candles = this.chart.addSeries(lib.CandlestickSeries, {
      upColor: t.up, borderUpColor: t.up, wickUpColor: t.up, downColor: t.down, borderDownColor: t.down, wickDownColor: t.down,
      priceLineStyle: lib.LineStyle.Dotted, priceLineWidth: 1, lastValueVisible: false,
      priceFormat: { type: 'custom', minMove: this.base ? 0.01 : digits.style === 'expo' ? 1e-12 : 10 ** -digits.decimals, formatter: (v) => this.#axisText(v) },
      autoscaleInfoProvider: () => this.#priceRange(),
    })
    this.candles.priceScale().applyOptions({ scaleMargins: { top: this.top, bottom: 0.18 } })
    this.candles.setData(Array.from({ length: n }, (_, i) => this.#candle(i)))
    const over = this.plots.filter((p) => p.at === 0), drawings = this.series.drawings ?? []
    const edges = (at) => (i) => {
      const [, high, low] = this.#prices(Math.min(Math.max(i, 0), n - 1))
      return [at.y(high), at.y(low)]
    }
    this.#paint(this.candles, 0, (ctx, at) => {
      this.#sessions(ctx, at)
      for (const p of over) p.back(ctx, at)
    }, 'bottom')
    this.#paint(this.candles, 0, (ctx, at) => {
      for (const p of over) p.front(ctx, at, edges(at))
      for (const d of drawings) paintDrawing(ctx, at, d, t)
      this.#account(ctx, at)
    }, 'normal', () => this.#labels(this.candles, 0, over))
    const top = new Painter((ctx) => this.overlays.draw(ctx), 'top')
    top.attached = (at) => { top.at = at; this.request = () => at.requestUpdate() }
    this.candles.attachPrimitive(top)
  }

  // #paint attaches a painter whose values are those of a pane.
  #paint(series, pane, draw, order, labels) {
    series.attachPrimitive(new Painter((ctx, at) => {
      const y = pane === 0 ? (v) => series.priceToCoordinate(this.toAxis(v)) : at.y
      draw(ctx, { ...at, y, top: this.legends.height(pane) })
    }, order, labels))
  }

  #axisText(v) { return this.base ? percent(v) : write(this.series.look.price, v) }

  // #sessions marks where sessions begin, if they are wide enough.
  #sessions(ctx, at) {
    const breaks = this.series.look.breaks ?? []
    if (!breaks.length || (this.series.bars.length / (breaks.length + 1)) * at.step < 48) return
    for (const bar of breaks) {
      const x = Math.round(at.x(bar - 0.5)) + 0.5
      paintLine(ctx, x, 0, x, at.height, this.theme.border, 1)
    }
  }

  // #seen returns the first and the last bar that are in sight.
  #seen() {
    const r = this.chart.timeScale().getVisibleLogicalRange(), last = this.series.bars.length - 1
    return r ? [Math.min(last, Math.max(0, Math.floor(r.from))), Math.max(0, Math.ceil(r.to))] : [0, last]
  }

  #priceRange() {
    const [from, to] = this.#seen()
    let low = Infinity, high = -Infinity
    for (let i = from; i <= Math.min(to, this.series.bars.length - 1); i++) {
      const [, h, l] = this.#prices(i)
      if (h === null || l === null) continue
      low = Math.min(low, l)
      high = Math.max(high, h)
    }
    if (low > high) return null
    const all = priceSpan([low, high], this.plots.filter((p) => p.at === 0), this.levels.map((l) => l.price), from, to)
    return { priceRange: { minValue: this.toAxis(all[0]), maxValue: this.toAxis(all[1]) } }
  }

  #drawPanes() {
    const below = this.plots.filter((p) => p.at > 0).sort((a, b) => a.at - b.at)
    this.legends.resize(below.length + 1)
    for (const plot of below) {
      const format = (v) => write({ ...plot.look.digits, zero: true }, v), guides = (plot.look.levels ?? []).map((l) => l.y)
      const series = this.chart.addSeries(this.library.LineSeries, {
        lineVisible: false, priceLineVisible: false, lastValueVisible: false, crosshairMarkerVisible: false, color: this.theme.muted,
        // The guides have labels of their own.
        priceFormat: { type: 'custom', minMove: 10 ** -Math.min(8, plot.look.digits.style === 'fixed' ? plot.look.digits.decimals : 2), formatter: format, tickmarksFormatter: (all) => all.map((v) => (this.#crowded(series, v, guides) ? '' : format(v))) },
        autoscaleInfoProvider: () => {
          const span = plot.span(...this.#seen())
          return span && { priceRange: { minValue: span[0], maxValue: span[1] } }
        },
      }, plot.at)
      series.setData(this.times.map((time) => ({ time, value: 0 })))
      series.priceScale().applyOptions({ scaleMargins: { top: 0.2, bottom: 0.08 }, minimumWidth: 60 })
      const edges = (at) => () => [at.top, at.height - 8]
      this.#paint(series, plot.at, (ctx, at) => { this.#sessions(ctx, at); plot.back(ctx, at) }, 'bottom')
      this.#paint(series, plot.at, (ctx, at) => plot.front(ctx, at, edges(at)), 'normal', () => this.#labels(series, plot.at, [plot]))
    }
    const panes = this.chart.panes()
    if (panes.length < 2) return
    const each = Math.min(20, 65 / below.length)
    panes.forEach((p, i) => p.setStretchFactor(i ? (below[i - 1].look.blank ? 4 : each) : 100 - each * below.length))
    this.panes?.disconnect()
    this.panes = new ResizeObserver(() => this.#place())
    panes.forEach((p) => { const e = p.getHTMLElement?.(); if (e) this.panes.observe(e) })
  }

  // #crowded reports whether a tick would stand on the label of a guide.
  #crowded(series, value, guides) {
    const y = series.priceToCoordinate(value)
    return guides.some((g) => Math.abs(series.priceToCoordinate(g) - y) < 13)
  }

  // #labels returns the labels of the axis of a pane.
  #labels(series, pane, plots) {
    if (!this.chart || !this.series) return []
    const last = this.series.bars.length - 1, height = this.chart.panes()[pane]?.getHeight() ?? 0, t = this.theme
    const y = (v) => series.priceToCoordinate(pane ? v : this.toAxis(v))
    const tags = plots.flatMap((p) => p.tags(last).map((tag) => ({
      ...tag, text: tag.fixed ?? (tag.guide ? number(tag.value, decimals(tag.value)) : this.base && !pane ? percent(this.toAxis(tag.value)) : write({ ...p.look.digits, zero: true }, tag.value)),
      color: tag.guide ? t.background : this.ink(tag.ink).slice(0, 7), ground: tag.guide ? t.text : this.on(tag.ink),
    })))
    if (pane === 0) {
      const b = this.series.bars[last], up = b.c >= b.o, ink = up ? this.series.look.up : this.series.look.down
      const mine = { value: b.c, rank: 0, text: this.#axisText(this.toAxis(b.c)), color: this.ink(ink), ground: this.on(ink) }
      tags.push(mine)
      if (this.counted && y(b.c) !== null) tags.push({ ...mine, at: Math.min(y(b.c) + pitch, height - 9), rank: 1.5, below: true, text: this.counted })
      for (const g of this.groups ?? []) {
        tags.push({ at: g.at, value: g.low, rank: 1, text: this.#axisText(this.toAxis(g.levels.length === 1 ? g.low : (g.low + g.high) / 2)) + (g.levels.length > 1 ? ` \u00d7${g.levels.length}` : ''), color: g.color, ground: t.background })
      }
    }
    const placed = spread(tags, y, height)
    this.tags = (this.tags ?? []).filter((k) => k.pane !== pane).concat(placed.map((p) => ({ pane, text: p.text(), color: p.backColor() })))
    return placed
  }

  #drawLevels() {
    if (!this.chart) return
    this.levels = levelsOf(this.summary, this.hidden, this.asks, this.theme)
    this.candles.applyOptions({}) // asks for the range again
    this.redraw()
  }

  #account(ctx, at) {
    this.groups = grouped(this.levels, at.y, at.height)
    paintAccount(ctx, at, this.levels, this.groups, this.theme, (v) => write(this.series.look.price, v))
    const bar = (time) => this.series.bars.findLastIndex((b) => b.t !== null && b.t <= time)
    paintFills(ctx, at, this.hidden.has('fills') ? [] : this.summary.fills ?? [], bar, this.theme)
  }

  // #tick counts down to the close of the bar.
  #tick() {
    if (!this.chart || document.hidden) return
    const text = left(this.series, (this.events.now?.() ?? Date.now()) / 1000)
    if (text === this.counted) return
    this.counted = text
    this.redraw()
  }

  #legend(i) {
    if (this.series.bars[i]) this.legends.show(rowsOf(this, i))
  }

  // #place puts the legends where the panes are; the library gives them their heights in the next frame.
  #place() {
    cancelAnimationFrame(this.placing)
    this.placing = requestAnimationFrame(() => requestAnimationFrame(() => {
      if (!this.chart) return
      this.legends.place(this.chart.panes())
      this.#room()
      this.overlays.redrawn()
    }))
  }

  // #room keeps the prices below the legend.
  #room() {
    const height = this.chart.panes()[0].getHeight(), top = Math.min(0.4, Math.max(0.06, (this.legends.height(0) + 16) / height))
    if (Math.abs(top - this.top) < 0.005) return
    this.top = top
    this.candles.priceScale().applyOptions({ scaleMargins: { top, bottom: 0.18 } })
  }

  #click(m) {
    if (this.overlays.took()) return
    if (!m.point || (m.paneIndex ?? 0) !== 0 || !this.events.pick) return
    const value = this.candles.coordinateToPrice(m.point.y), price = value === null ? null : this.fromAxis(value)
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
    this.chart.setCrosshairPosition(this.toAxis(this.series.bars[i].c), this.times[i], this.candles)
    this.#legend(i)
    this.events.describe?.(describe(this.series, i, this.digits))
  }
}
