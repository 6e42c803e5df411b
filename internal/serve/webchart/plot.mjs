// Draws one result by its look, which the server derives from its own picture: nothing here chooses a colour,
// a width, a name or where a line breaks.
import { resultOf } from './figures.mjs'
import { disc, paintArea, paintArrow, paintBars, paintDots, paintLevels, paintLine, paintRun, paintText } from './paint.mjs'
import { paintMark, paintShape, paintTints } from './script.mjs'

const far = 1 // heights of the prices that overlays widen their axis by
const near = 0.25 // and levels
const minorStep = 3 // pixels between bars, from which small signals are drawn over prices

// Plot is a result with its values and its look. scene has ink(i) and read(i) for the colours of inks, and theme.
export class Plot {
  constructor(scene, look) {
    this.scene = scene
    this.look = look
    this.pane = look.pane
    this.of = resultOf(scene.series, look)
    const whole = (values, ahead) => (ahead ? [...values, ...ahead] : values)
    this.lines = (look.lines ?? []).map((l, k) => ({ look: l, values: whole(l.values ?? this.of.lines?.[k]?.values ?? [], l.ahead) }))
    this.fills = (look.fills ?? []).map((f, k) => ({ look: f, y1: whole(this.of.fills[k].y1, f.ahead1), y2: whole(this.of.fills[k].y2, f.ahead2) }))
    this.hist = (look.hist ?? []).map((h, k) => ({ look: h, values: this.of.histogram[k].values }))
  }

  // back draws what lies behind the candles.
  back(ctx, at) {
    const { look, scene } = this, ink = (i) => scene.ink(i)
    paintTints(ctx, at, this.of.tints)
    if (look.bars) paintBars(ctx, at, look.bars, 0, at.width, ink)
    for (const part of look.parts ?? []) {
      const left = at.x(part.from - 0.5), right = at.x(part.to - 0.5)
      if (right - left >= 24) paintBars(ctx, at, part.bars, left, right, ink)
    }
    if (look.band) {
      ctx.fillStyle = ink(look.band.ink)
      ctx.fillRect(0, at.y(look.band.to), at.width, at.y(look.band.from) - at.y(look.band.to))
    }
    for (const f of this.fills) this.#area(ctx, at, f)
    for (const l of look.levels ?? []) {
      const y = at.y(l.y)
      if (y !== null) paintLine(ctx, 0, Math.round(y) + 0.5, at.width, Math.round(y) + 0.5, ink(l.ink), l.width, l.dash)
    }
    for (const h of this.hist) this.#columns(ctx, at, h)
  }

  #area(ctx, at, { look, y1, y2 }) {
    const ink = (i) => this.scene.ink(i)
    for (const [from, to] of look.parts ?? []) paintArea(ctx, at, y1, y2, from, to, ink(look.above), ink(look.below))
    for (const [from, to, color] of look.runs ?? []) paintArea(ctx, at, y1, y2, from, to, ink(color), ink(color), look.shift)
    for (const [from, to, top, bottom] of look.blended ?? []) {
      const last = to - 1
      if (look.top[last] === null || look.bottom[last] === null) continue
      const blend = ctx.createLinearGradient(0, at.y(look.top[last]), 0, at.y(look.bottom[last]))
      blend.addColorStop(0, ink(top))
      blend.addColorStop(1, ink(bottom))
      paintArea(ctx, at, y1, y2, from, to, blend, blend, look.shift)
    }
  }

  #columns(ctx, at, { look, values }) {
    const zero = at.y(look.base)
    if (zero === null) return
    const body = Math.max(1, Math.floor(at.step * 0.78)), wide = look.width ? Math.min(look.width, body) : body
    for (let i = 0; i < values.length; i++) {
      const color = look.inks[i]
      if (color < 0 || values[i] === null) continue
      const x = at.x(i + (look.shift ?? 0))
      ctx.fillStyle = this.scene.ink(color)
      if (look.strip) {
        const foot = Math.min(Math.max(zero, 5), at.height - 1)
        ctx.fillRect(Math.floor(x - at.step / 2), foot - 5, Math.ceil(at.step), 5)
        continue
      }
      const y = at.y(values[i]), top = Math.round(Math.min(y, zero)), bottom = Math.round(Math.max(y, zero))
      ctx.fillRect(Math.round(x - wide / 2), top === bottom && values[i] >= look.base ? top - 1 : top, wide, Math.max(1, bottom - top))
    }
  }

  // front draws what lies over the candles. edges returns where the high and the low of a bar stand.
  front(ctx, at, edges) {
    const { look, scene } = this
    for (const l of this.lines) {
      if (l.look.form === 'levels') {
        paintLevels(ctx, at, l.values, l.look, scene.ink(l.look.runs?.[0]?.[2] ?? l.look.ink))
        continue
      }
      const paint = l.look.form === 'dots' || l.look.form === 'cross' ? paintDots : paintRun
      for (const [from, to, color] of l.look.runs ?? []) paint(ctx, at, l.values, from, to, l.look, scene.ink(color))
    }
    for (const d of look.divs ?? []) {
      const color = scene.ink(d.ink), x1 = at.x(d.x1), y1 = at.y(d.y1), x2 = at.x(d.x2), y2 = at.y(d.y2)
      paintLine(ctx, x1, y1, x2, y2, color, 1.8, d.dash ? [6, 4] : [])
      disc(ctx, x1, y1, 3.2, color, 4.5, scene.theme.background)
      disc(ctx, x2, y2, 3.2, color, 4.5, scene.theme.background)
    }
    this.#signals(ctx, at, edges)
    for (const s of this.of.shapes ?? []) paintShape(ctx, at, s, scene.theme)
    const taken = new Map()
    for (const m of this.of.marks ?? []) paintMark(ctx, at, m, edges, taken, scene.theme)
  }

  #signals(ctx, at, edges) {
    const { scene } = this, dense = at.step < minorStep, texts = new Texts(ctx, at)
    ctx.font = '500 12px Roboto, system-ui, sans-serif'
    for (const s of this.look.marks ?? []) {
      if (dense && s.small && this.pane === 0) continue
      const x = at.x(s.x)
      if (x < -20 || x > at.width + 20) continue
      const color = scene.ink(s.ink), value = at.y(s.y), text = dense ? '' : s.text ?? ''
      if (value === null) return
      const [high, low] = this.pane === 0 ? edges(s.x) : [value, value], end = s.under ? low : high, away = s.under ? 1 : -1
      const write = (from, clear) => {
        const baseline = s.under ? from + 10 : from
        if (text && texts.free(text, x, baseline, clear && ((i) => this.#bar(at, edges, i)))) paintText(ctx, text, x, baseline, scene.read(s.ink), scene.theme.background)
      }
      switch (s.form) {
        case 'up': case 'down':
          paintArrow(ctx, x, end + away * 7, s.under, color)
          write(end + away * (7 + 7.5 + 5))
          break
        case 'word': write(end + away * 5); break
        case 'candle':
          disc(ctx, x, end + away * 5, 2, color, 3, scene.theme.background)
          write(end + away * 10, true)
          break
        default: disc(ctx, x, value, s.small ? 2.4 : 3.2, color, s.small ? 3.4 : 4.5, scene.theme.background)
      }
    }
  }

  // #bar returns the rows of a bar, nothing where there is none.
  #bar(at, edges, i) { return i >= 0 && i < this.scene.series.bars.length ? edges(i) : null }

  // span returns the lowest and the highest value of the bars [from, to] that the axis must show, none if there is none.
  span(from, to) {
    let low = Infinity, high = -Infinity
    const add = (v) => { if (v !== null && v !== undefined) { low = Math.min(low, v); high = Math.max(high, v) } }
    const all = (values, shift = 0) => { for (let i = Math.max(0, from - shift); i <= Math.min(values.length - 1, to - shift); i++) add(values[i]) }
    for (const l of this.lines) if (l.look.form !== 'none' && (l.look.form !== 'levels' || this.pane)) all(l.values, l.look.shift)
    for (const h of this.hist) if (!h.look.strip) all(h.values, h.look.shift)
    for (const f of this.fills) if (f.look.fit) { all(f.y1, f.look.shift); all(f.y2, f.look.shift) }
    for (const b of this.look.bars ?? []) { add(b.top); add(b.bottom) }
    if (this.pane) {
      for (const v of this.look.extent ?? []) add(v)
      for (const d of this.look.divs ?? []) { add(d.y1); add(d.y2) }
      for (const s of this.look.marks ?? []) if (s.x >= from && s.x <= to) add(s.y)
      for (const m of this.of.marks ?? []) if (m.y !== undefined) add(m.y)
    }
    return low <= high ? [low, high] : null
  }

  // levels returns the values that widen the axis of the price only if they are near.
  levels(from, to) {
    const all = (this.look.levels ?? []).map((l) => l.y)
    for (const l of this.lines) if (l.look.form === 'levels') all.push(...l.values.slice(Math.max(0, from), to + 1).filter((v) => v !== null))
    return all
  }

  // tags returns the values that stand on the axis.
  tags(last) {
    if (this.look.blank) return []
    const tags = []
    for (const { look, values } of this.lines) {
      if (look.tag && values[last] !== null) tags.push({ value: values[last], ink: look.ink, rank: look.form === 'levels' && !this.pane ? 3 : 2, fixed: this.look.fixed })
    }
    for (const l of this.look.levels ?? []) {
      if (this.pane) tags.push({ value: l.y, rank: 4, guide: true })
      else if (l.name) tags.push({ value: l.y, ink: l.tag, rank: 3, name: l.name })
    }
    return tags
  }

  // follows reports whether the newest values of newer, which has count bars, go on as this plot looks at bar last.
  // What takes them is added to apply. same compares an ink of newer with one of this plot.
  follows(newer, count, last, same, apply) {
    const at = count - 1
    const goesOn = (from, to) => count < 2 || from[at - 1] === to[last - 1]
    const part = (look, i) => look.runs?.findLast(([from, to]) => from <= i && i < to)
    for (const [k, { look, values }] of this.lines.entries()) {
      const now = newer.lines[k]
      if (!now || !goesOn(now.values, values)) continue
      const a = part(now.look, at), b = part(look, last)
      if (!a !== !b || (a && (!same(a[2], b[2]) || (count > 1 && (a[0] === at) !== (b[0] === last))))) return false
      apply.push(() => { values[last] = now.values[at] })
    }
    for (const [k, { look, values }] of this.hist.entries()) {
      const now = newer.hist[k]
      if (!now || !goesOn(now.values, values)) continue
      if ((now.look.inks[at] < 0) !== (look.inks[last] < 0) || (look.inks[last] >= 0 && !same(now.look.inks[at], look.inks[last]))) return false
      apply.push(() => { values[last] = now.values[at] })
    }
    for (const [k, { y1, y2 }] of this.fills.entries()) {
      const now = newer.fills[k]
      if (now && goesOn(now.y1, y1) && goesOn(now.y2, y2)) apply.push(() => { y1[last] = now.y1[at]; y2[last] = now.y2[at] })
    }
    return true
  }

  // state returns what is drawn, for tests.
  state() {
    const { look } = this, ink = (i) => this.scene.ink(i)
    const tints = [...(look.bars ?? []), ...(look.parts ?? []).flatMap((p) => p.bars), ...(look.band ? [look.band] : [])].map((b) => ink(b.ink))
    return {
      lines: this.lines.map(({ look: l, values }) => ({ form: l.form, width: l.width, dash: l.dash, shift: l.shift ?? 0, runs: (l.runs ?? []).map(([from, to, i]) => [from, to, ink(i)]), values })),
      hist: this.hist.map(({ look: h, values }) => ({ strip: !!h.strip, colors: h.inks.map((i) => (i < 0 ? null : ink(i))), values })),
      fills: this.fills.map(({ look: f, y1, y2 }) => ({ above: ink(f.above), below: ink(f.below), parts: f.parts, runs: (f.runs ?? []).map(([from, to, i]) => [from, to, ink(i)]), blended: !!f.blended, y1, y2 })),
      levels: (look.levels ?? []).map((l) => ({ y: l.y, color: ink(l.ink), width: l.width, dash: l.dash })),
      marks: (look.marks ?? []).map((s) => ({ x: s.x, form: s.form, color: ink(s.ink), small: !!s.small, text: s.text ?? '' })),
      divs: (look.divs ?? []).map((d) => ({ x1: d.x1, x2: d.x2, color: ink(d.ink) })),
      tints: [...new Set(tints.concat((this.of.tints ?? []).filter((t) => !t.bars).map((t) => t.color)))],
    }
  }

  // inkAt returns the ink of a value of the legend at a bar.
  inkAt(e, i) {
    if (e.of === 'level') return e.ink
    if (e.of === 'hist') return this.hist[e.at].values[i] < this.hist[e.at].look.base ? this.scene.series.look.down : this.scene.series.look.up
    const { look } = this.lines[e.at]
    return look.runs?.findLast(([from, to]) => from <= i && i < to)?.[2] ?? e.ink
  }

  valueAt(e, i) {
    if (e.of === 'level') return this.look.levels[e.at].y
    return (e.of === 'hist' ? this.hist : this.lines)[e.at].values[i]
  }
}

// Texts keeps the texts of signals off each other, off bars where that is asked, and inside of the pane.
class Texts {
  constructor(ctx, at) {
    this.ctx = ctx
    this.at = at
    this.boxes = []
  }

  free(text, x, baseline, bar) {
    const half = this.ctx.measureText(text).width / 2 + 3, box = [x - half, baseline - 12, x + half, baseline + 4], { at } = this
    if (box[1] < at.top || box[3] > at.height || box[2] > at.width) return false
    if (this.boxes.some((b) => b[0] < box[2] && box[0] < b[2] && b[1] < box[3] && box[1] < b[3])) return false
    const first = Math.ceil((box[0] - at.x(0)) / at.step - 0.5), last = Math.floor((box[2] - at.x(0)) / at.step + 0.5)
    for (let i = first; bar && i <= last; i++) {
      const rows = bar(i)
      if (rows && rows[0] < box[3] && rows[1] > box[1]) return false
    }
    this.boxes.push(box)
    return true
  }
}

// priceSpan returns the range that the price pane shows: that of the prices, widened by overlays and by levels that
// are near.
export function priceSpan([low, high], plots, levels, from, to) {
  const height = high - low, reach = (v, by) => Math.max(low - by * height, Math.min(high + by * height, v))
  let all = [low, high]
  const close = []
  for (const p of plots) {
    const own = p.span(from, to)
    if (own) all.push(...(p.look.fixed ? own : own.map((v) => reach(v, far))))
    close.push(...p.levels(from, to))
  }
  all = [Math.min(...all), Math.max(...all)]
  const room = near * (all[1] - all[0])
  for (const v of [...close, ...levels]) if (v >= low - room && v <= high + room) all = [Math.min(all[0], v), Math.max(all[1], v)]
  return all
}
