// The legends of the panes: the names and values that the picture has, at the bar under the cursor.
import { percent, write, zoneName } from './figures.mjs'

const compact = { style: 'compact', decimals: 2 }

// Legends keeps one element for each pane inside of a parent.
export class Legends {
  constructor(parent) {
    this.parent = parent
    this.all = []
  }

  // resize makes elements for so many panes.
  resize(count) {
    while (this.all.length > count) this.all.pop().remove()
    while (this.all.length < count) {
      const element = document.createElement('div')
      element.className = 'legend'
      element.setAttribute('aria-hidden', 'true')
      this.parent.append(element)
      this.all.push(element)
    }
  }

  // place moves each to the top of its pane.
  place(panes) {
    let top = 0
    panes.forEach((p, i) => {
      if (this.all[i]) this.all[i].style.top = `${top + (i ? 2 : 6)}px`
      top += p.getHeight() + 1
    })
  }

  // height returns where the legend of a pane ends.
  height(pane) { return (this.all[pane]?.offsetHeight ?? 0) + 6 }

  remove() { this.resize(0) }

  // show writes the values at a bar. rows(view, i) are those of rowsOf.
  show(rows) {
    this.all.forEach((element, pane) => element.replaceChildren(...rows.filter((r) => r.pane === pane).map((r) => {
      const div = document.createElement('div'), name = document.createElement(r.strong ? 'b' : 'i')
      name.textContent = r.title
      div.append(name, ' ')
      for (const part of r.parts) {
        if (part.name) div.append(part.name + ' ')
        const span = document.createElement('span')
        span.textContent = part.text
        if (part.color) span.style.color = part.color
        div.append(span, ' ')
      }
      return div
    })))
  }
}

// rowsOf returns what the legends say at a bar: title and parts, each with a name, a text and a colour.
export function rowsOf(view, i) {
  const { series, theme } = view, look = series.look, b = series.bars[i], narrow = view.element.clientWidth < 480
  const side = (up) => view.read(up ? look.up : look.down), color = side(b.c >= b.o), before = i > 0 ? series.bars[i - 1].c : b.o
  const price = (v) => write(look.price, v)
  const parts = [['O', b.o], ['H', b.h], ['L', b.l], ['C', b.c]].slice(narrow ? 3 : 0).map(([name, v]) => ({ name, text: price(v), color }))
  const change = (b.c - before) / Math.abs(before) * 100
  if (Number.isFinite(change)) parts.push({ text: percent(change).replace('\u202f', ''), color: side(change >= 0) })
  if (b.v && !narrow) parts.push({ name: 'Vol', text: write(compact, b.v), color })
  if (view.exchange && b.t !== null && !narrow) parts.push({ text: zoneName(b.t), color: theme.muted })
  const rows = [{ pane: 0, strong: true, title: `${series.symbol} ${series.interval}`, parts }]
  for (const plot of view.plots) {
    const { look: own } = plot
    if (own.over && !own.lines?.length) continue
    const row = { pane: plot.at, title: own.title, parts: [] }
    if (own.fixed) row.parts.push({ text: own.fixed, color: view.read(own.ink) })
    let levels = 0
    for (const e of own.legend ?? []) {
      if (e.of === 'level' && ++levels > 6) continue
      const value = plot.valueAt(e, i), known = value !== null && value !== undefined
      row.parts.push({ name: e.name, text: write({ ...own.digits, zero: true }, value), color: known ? view.read(plot.inkAt(e, i)) : theme.muted })
    }
    if (levels > 6) row.parts.push({ text: `+${levels - 6}`, color: theme.muted })
    if (own.error) row.parts.push({ text: own.error, color: theme.warn })
    else if (own.words && !narrow) row.parts.push({ text: own.words, color: theme.muted })
    const signals = narrow ? [] : (plot.of.signals ?? []).filter((s) => s.x === i && i < series.bars.length - 1)
    for (const s of signals) row.parts.push({ text: s.label.replaceAll('_', ' '), color: theme.strong })
    rows.push(row)
  }
  return rows
}

// left returns how long the forming bar takes until its close, as 59:59, nothing where that is not known.
export function left(series, now) {
  const bar = series.bars.at(-1), [, count, unit] = /^(\d+)([mhdw])$/.exec(series.interval) ?? []
  if (bar.t === null || !unit || series.last_bar_closed || series.stale) return ''
  const seconds = Math.round(bar.t + count * { m: 60, h: 3600, d: 86400, w: 604800 }[unit] - now)
  if (seconds <= 0 || seconds > 604800) return ''
  const two = (v) => String(v).padStart(2, '0')
  if (seconds >= 86400) return `${Math.floor(seconds / 86400)}d ${Math.floor(seconds % 86400 / 3600)}h`
  return (seconds >= 3600 ? `${Math.floor(seconds / 3600)}:` : '') + `${two(Math.floor(seconds % 3600 / 60))}:${two(seconds % 60)}`
}

// exchangeZone returns the time zone of a market with sessions, as a calendar names it: "Mon-Fri 09:30-16:00
// America/New_York".
export function exchangeZone(series) {
  const zone = series.calendar?.split(' ').at(-1) ?? ''
  return zone.includes('/') && /^[A-Za-z_]+\/[A-Za-z_/+-]+$/.test(zone) ? zone : ''
}
