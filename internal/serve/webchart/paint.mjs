// Shapes that the library has no series for.
import { alpha } from './figures.mjs'

// Painter draws into a pane. draw gets a context in pixels of the screen's page, and functions from bars and
// values to them: at.x(bar), at.y(value), at.step between bars, at.width and at.height of the pane.
export class Painter {
  constructor(draw, order = 'normal', labels = null) {
    this.draw = draw
    this.order = order
    this.labels = labels
  }
  attached(at) { this.at = at }
  detached() { this.at = null }
  updateAllViews() {}
  priceAxisViews() { return this.labels?.() ?? [] }
  paneViews() {
    return [{
      zOrder: () => this.order,
      renderer: () => ({
        draw: (target) => target.useMediaCoordinateSpace((space) => {
          const place = this.at && placeOf(this.at.chart, this.at.series, space.mediaSize)
          if (!place) return
          space.context.save()
          this.draw(space.context, place)
          space.context.restore()
        }),
      }),
    }]
  }
}

// placeOf returns the functions of a Painter, nothing before the chart has its size.
export function placeOf(chart, series, size) {
  const scale = chart.timeScale(), zero = scale.logicalToCoordinate(0)
  if (zero === null) return null
  const step = scale.logicalToCoordinate(1) - zero
  return { step, x: (bar) => zero + bar * step, y: (value) => series.priceToCoordinate(value), width: size.width, height: size.height }
}

// paintRun strokes the values [from, to) as one line.
export function paintRun(ctx, at, values, from, to, look, color) {
  let n = 0, last = null
  const dense = at.step < 3 && look.form === 'line' ? 0.75 : 1
  ctx.strokeStyle = color
  ctx.lineWidth = look.width * dense
  ctx.lineJoin = 'round'
  ctx.setLineDash(look.dash[1] ? look.dash : [])
  ctx.beginPath()
  for (let i = from; i < to; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    const x = at.x(i + (look.shift ?? 0)), y = at.y(value)
    if (y === null) return
    if (look.form === 'stairs' && n) ctx.lineTo(x, last)
    if (n++) ctx.lineTo(x, y)
    else ctx.moveTo(x, y)
    last = y
    if (to - from === 1) return disc(ctx, x, y, look.width * dense, color)
  }
  ctx.stroke()
}

// disc fills a circle, with a ring of a ground around it if one is named.
export function disc(ctx, x, y, radius, color, halo, ground) {
  for (const [r, fill] of halo ? [[halo, ground], [radius, color]] : [[radius, color]]) {
    ctx.fillStyle = fill
    ctx.beginPath()
    ctx.arc(x, y, r, 0, 2 * Math.PI)
    ctx.fill()
  }
}

// paintDots draws a dot or a cross at each value.
export function paintDots(ctx, at, values, from, to, look, color) {
  const radius = Math.max(0.6, Math.min(look.width, at.step * 0.42))
  for (let i = from; i < to; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    const x = at.x(i + (look.shift ?? 0)), y = at.y(value)
    if (y === null) continue
    if (look.form === 'dots') disc(ctx, x, y, radius, color)
    else {
      paintLine(ctx, x - radius - 1, y, x + radius + 1, y, color, 1)
      paintLine(ctx, x, y - radius - 1, x, y + radius + 1, color, 1)
    }
  }
}

// paintLevels draws the runs of equal values as levels of whole pixels.
export function paintLevels(ctx, at, values, look, color) {
  for (let i = 0; i < values.length;) {
    const value = values[i], from = i
    for (i++; i < values.length && values[i] === value;) i++
    const y = value === null || value === undefined ? null : at.y(value)
    if (y !== null) paintLine(ctx, at.x(from - 0.5), Math.round(y) + 0.5, at.x(i - 0.5), Math.round(y) + 0.5, color, look.width, look.dash)
  }
}

// paintArea fills the space between two lines over the bars [from, to): above where the first is above the
// second, below elsewhere.
export function paintArea(ctx, at, y1, y2, from, to, above, below, shift = 0) {
  const fill = (points, color) => {
    if (points.length < 2 || !color) return
    ctx.fillStyle = color
    ctx.beginPath()
    points.forEach(([x, top], n) => (n ? ctx.lineTo(x, top) : ctx.moveTo(x, top)))
    for (const [x, , bottom] of points.toReversed()) ctx.lineTo(x, bottom)
    ctx.closePath()
    ctx.fill()
  }
  let run = [], over = null
  const flush = () => { fill(run, over === false ? below : above); run = []; over = null }
  for (let i = from; i < to; i++) {
    const a = y1[i] ?? null, b = y2[i] ?? null
    if (a === null || b === null) { flush(); continue }
    const x = at.x(i + shift), top = at.y(a), bottom = at.y(b)
    if (top === null || bottom === null) return
    const before = run.at(-1)
    if (before && a !== b && over !== null && a > b !== over) {
      const d0 = before[2] - before[1], d1 = bottom - top, part = d0 / (d0 - d1)
      const middle = [before[0] + part * (x - before[0]), before[1] + part * (top - before[1])]
      const cross = [middle[0], middle[1], middle[1]]
      run.push(cross)
      flush()
      run = [cross]
    }
    if (a !== b) over ??= a > b
    run.push([x, top, bottom])
  }
  flush()
}

// paintBars draws the bars of a profile between two edges.
export function paintBars(ctx, at, bars, left, right, ink) {
  for (const b of bars) {
    let top = Math.round(at.y(b.top)), bottom = Math.round(at.y(b.bottom))
    if (bottom - top > 2) top++
    const near = Math.round(b.near * (right - left)), far = Math.round(b.far * (right - left))
    ctx.fillStyle = ink(b.ink)
    ctx.fillRect(b.left ? left + near : right - far, top, far - near, Math.max(1, bottom - top))
  }
}

// paintArrow draws the arrow of a signal with its tip at y.
export function paintArrow(ctx, x, y, up, color) {
  const foot = up ? y + 7.5 : y - 7.5
  ctx.fillStyle = color
  ctx.beginPath()
  ctx.moveTo(x, y)
  ctx.lineTo(x - 5.5, foot)
  ctx.lineTo(x + 5.5, foot)
  ctx.closePath()
  ctx.fill()
}

// paintText writes a text whose middle is at x, on a ground if one is named.
export function paintText(ctx, text, x, baseline, color, ground) {
  ctx.textAlign = 'center'
  if (ground) {
    const wide = ctx.measureText(text).width
    ctx.fillStyle = ground
    ctx.fillRect(x - wide / 2 - 3, baseline - 12, wide + 6, 16)
  }
  ctx.fillStyle = color
  ctx.fillText(text, x, baseline)
  ctx.textAlign = 'left'
}

// paintLine draws a line between two points.
export function paintLine(ctx, x1, y1, x2, y2, color, width, dash) {
  if (y1 === null || y2 === null) return
  ctx.strokeStyle = color
  ctx.lineWidth = width
  ctx.setLineDash(dash?.[1] ? dash : [])
  ctx.beginPath()
  ctx.moveTo(x1, y1)
  ctx.lineTo(x2, y2)
  ctx.stroke()
}

// paintDrawing draws what the model has asked for.
export function paintDrawing(ctx, at, d, theme) {
  const { x, y } = at, color = theme.drawing, width = 1.5, right = at.width
  const text = (label, left, price) => {
    const top = y(price)
    if (!label || top === null) return
    ctx.fillStyle = theme.text
    ctx.font = '12px Roboto, system-ui, sans-serif'
    ctx.fillText(label, left, top - 4)
  }
  switch (d.type) {
    case 'level':
      paintLine(ctx, 0, y(d.y), right, y(d.y), color, width)
      text(d.text, 8, d.y)
      return
    case 'text':
      text(d.text, x(d.x), d.y)
      return
    case 'fib':
      for (const level of d.levels ?? []) {
        paintLine(ctx, x(Math.min(d.x, d.x2)), y(level.y), right, y(level.y), color, 1)
        text(String(level.ratio), x(Math.min(d.x, d.x2)) + 4, level.y)
      }
      return
    case 'box': {
      const a = y(d.y), b = y(d.y2)
      if (a === null || b === null) return
      ctx.strokeStyle = color
      ctx.fillStyle = alpha(color, 0.1)
      ctx.lineWidth = width
      ctx.setLineDash([])
      ctx.fillRect(x(d.x), a, x(d.x2) - x(d.x), b - a)
      ctx.strokeRect(x(d.x), a, x(d.x2) - x(d.x), b - a)
      return
    }
    default: {
      let x2 = d.x2, y2 = d.y2
      if (d.type === 'ray' && d.x2 !== d.x) {
        const far = d.x + (d.x2 - d.x) * 1000
        y2 = d.y + ((d.y2 - d.y) / (d.x2 - d.x)) * (far - d.x)
        x2 = far
      }
      paintLine(ctx, x(d.x), y(d.y), x(x2), y(y2), color, width)
      text(d.text, x(d.x), d.y)
    }
  }
}
