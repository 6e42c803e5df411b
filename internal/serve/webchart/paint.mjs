// Shapes that the library has no series for.
import { alpha } from './figures.mjs'

// Painter draws shapes that the library has no series for: areas between lines, profiles,
// divergences and drawings. paint gets a context in pixels and functions from bars and
// prices to it.
export class Painter {
  constructor(paint) { this.paint = paint }
  attached(at) { this.at = at }
  detached() { this.at = null }
  updateAllViews() {}
  paneViews() {
    return [{
      zOrder: () => 'bottom',
      renderer: () => ({
        draw: (target) => target.useBitmapCoordinateSpace((space) => {
          if (!this.at) return
          const scale = this.at.chart.timeScale()
          const step = scale.logicalToCoordinate(1) - scale.logicalToCoordinate(0)
          const zero = scale.logicalToCoordinate(0)
          if (zero === null) return
          const x = (bar) => (zero + bar * step) * space.horizontalPixelRatio
          const y = (price) => {
            const at = this.at.series.priceToCoordinate(price)
            return at === null ? null : at * space.verticalPixelRatio
          }
          space.context.save()
          this.paint(space.context, x, y, space)
          space.context.restore()
        }),
      }),
    }]
  }
}

// paintArea fills the area between two lines. colorAt names the colour at a bar, nothing for
// none.
export function paintArea(ctx, x, y, fill, colorAt) {
  let run = [], color
  const flush = () => {
    if (run.length > 1 && color) {
      ctx.fillStyle = color
      ctx.beginPath()
      run.forEach(([i, top], n) => (n ? ctx.lineTo(x(i), top) : ctx.moveTo(x(i), top)))
      for (const [i, , bottom] of run.toReversed()) ctx.lineTo(x(i), bottom)
      ctx.closePath()
      ctx.fill()
    }
    run = []
  }
  for (let i = 0; i < fill.y1.length; i++) {
    const a = fill.y1[i], b = fill.y2[i]
    const top = a === null ? null : y(a), bottom = b === null ? null : y(b)
    if (top === null || bottom === null) {
      flush()
      continue
    }
    if (colorAt(i) !== color) {
      const before = run.at(-1)
      flush()
      color = colorAt(i)
      if (before) run.push(before)
    }
    run.push([i, top, bottom])
  }
  flush()
}

// paintProfile draws the horizontal bars of a profile.
export function paintProfile(ctx, y, space, bars, theme) {
  const widest = Math.max(...bars.map((b) => b.offset + b.width), 1e-9)
  const room = space.bitmapSize.width * 0.25
  for (const b of bars) {
    const top = y(b.y + b.height / 2), bottom = y(b.y - b.height / 2)
    if (top === null || bottom === null) continue
    const from = (b.offset / widest) * room, width = (b.width / widest) * room
    ctx.fillStyle = alpha(theme.cycle[2], 0.3)
    const left = b.left ? from : space.bitmapSize.width - from - width
    ctx.fillRect(left, top, width, Math.max(1, bottom - top - 1))
  }
}

// paintLine draws a line between two points.
export function paintLine(ctx, x1, y1, x2, y2, color, width, dash) {
  if (y1 === null || y2 === null) return
  ctx.strokeStyle = color
  ctx.lineWidth = width
  ctx.setLineDash(dash ?? [])
  ctx.beginPath()
  ctx.moveTo(x1, y1)
  ctx.lineTo(x2, y2)
  ctx.stroke()
}

// paintDrawing draws what the model has asked for.
export function paintDrawing(ctx, x, y, space, d, theme) {
  const color = theme.cycle[2], width = 1.5 * space.verticalPixelRatio
  const right = space.bitmapSize.width
  const text = (label, at, price) => {
    const top = y(price)
    if (!label || top === null) return
    ctx.fillStyle = theme.text
    ctx.font = `${12 * space.verticalPixelRatio}px system-ui, sans-serif`
    ctx.fillText(label, at, top - 4 * space.verticalPixelRatio)
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
        paintLine(ctx, x(Math.min(d.x, d.x2)), y(level.y), right, y(level.y), color, width / 1.5)
        text(String(level.ratio), x(Math.min(d.x, d.x2)) + 4, level.y)
      }
      return
    case 'box': {
      const a = y(d.y), b = y(d.y2)
      if (a === null || b === null) return
      ctx.strokeStyle = color
      ctx.fillStyle = alpha(color, 0.1)
      ctx.lineWidth = width
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
