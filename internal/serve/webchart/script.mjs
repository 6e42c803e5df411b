// What a Pine script draws besides lines: marks, tints and shapes.
import { alpha } from './figures.mjs'
import { disc, paintArrow, paintLine, paintText } from './paint.mjs'

const radius = 4.5

// paintMark draws a mark of a script: over or under its bar, at an edge of the pane, or at its value. taken has how
// much room the marks of each bar have.
export function paintMark(ctx, at, m, edges, taken, theme) {
  const none = !m.color || m.color.endsWith('00'), color = none ? theme.warn : m.color
  const grounded = m.shape === 'label_up' || m.shape === 'label_down', text = m.text ?? ''
  const height = text && (grounded || m.shape === 'text') ? 15 : 2 * radius + (text ? 13 : 0)
  const over = m.place === 'above' || m.place === 'top', key = m.x + (over ? 'o' : 'u'), used = taken.get(key) ?? 0
  const x = at.x(m.x)
  let top
  if (m.place === 'value') top = at.y(m.y) - height / 2
  else {
    taken.set(key, used + height + 3)
    const [high, low] = edges(m.x)
    top = { above: high - 6 - used - height, below: low + 6 + used, top: at.top + used, bottom: at.height - 4 - used - height }[m.place]
  }
  ctx.font = '12px Roboto, system-ui, sans-serif'
  if (m.shape === 'text') return paintText(ctx, text, x, top + 12, color)
  if (grounded && text) {
    const wide = ctx.measureText(text).width
    ctx.fillStyle = color
    ctx.beginPath()
    ctx.roundRect(x - wide / 2 - 4, top, wide + 8, height, 2.5)
    ctx.fill()
    return paintText(ctx, text, x, top + 12, theme.background)
  }
  const above = m.place === 'above' || m.place === 'bottom'
  if (text) paintText(ctx, text, x, above ? top + 10 : top + height, color)
  paintForm(ctx, m.shape, x, text && above ? top + height - radius : top + radius, color)
}

function paintForm(ctx, form, x, y, color) {
  const r = radius
  ctx.fillStyle = color
  switch (form) {
    case 'triangle_up': case 'label_up': case 'arrow_up': return paintArrow(ctx, x, y - r, true, color)
    case 'triangle_down': case 'label_down': case 'arrow_down': return paintArrow(ctx, x, y + r, false, color)
    case 'square': case 'flag': return ctx.fillRect(x - r, y - r, 2 * r, 2 * r)
    case 'cross': paintLine(ctx, x - r, y, x + r, y, color, 2); return paintLine(ctx, x, y - r, x, y + r, color, 2)
    case 'xcross': paintLine(ctx, x - r, y - r, x + r, y + r, color, 2); return paintLine(ctx, x - r, y + r, x + r, y - r, color, 2)
    case 'diamond':
      ctx.beginPath()
      ctx.moveTo(x, y - r); ctx.lineTo(x + r, y); ctx.lineTo(x, y + r); ctx.lineTo(x - r, y)
      return ctx.fill()
    default: disc(ctx, x, y, r, color)
  }
}

// paintTints colours the ground behind bars.
export function paintTints(ctx, at, tints) {
  for (const t of tints ?? []) {
    if (t.bars) continue
    ctx.fillStyle = t.color
    ctx.fillRect(at.x(t.x1 - 0.5), 0, at.x(t.x2 + 0.5) - at.x(t.x1 - 0.5), at.height)
  }
}

// paintShape draws a line, box, label, path or area of a script.
export function paintShape(ctx, place, s, theme) {
  const at = s.points.map((p) => [place.x(p.x), place.y(p.y)])
  if (at.some(([, top]) => top === null)) return
  const width = 1.5, right = place.width
  ctx.setLineDash([])
  switch (s.type) {
    case 'line': {
      const [[x1, y1], [x2, y2]] = extended(at, s.extend, right)
      paintLine(ctx, x1, y1, x2, y2, s.color, width)
      break
    }
    case 'box': {
      let left = Math.min(at[0][0], at[1][0]), end = Math.max(at[0][0], at[1][0])
      if (s.extend === 'left' || s.extend === 'both') left = 0
      if (s.extend === 'right' || s.extend === 'both') end = right
      ctx.fillStyle = alpha(s.color.slice(0, 7), 0.12)
      ctx.strokeStyle = s.color
      ctx.lineWidth = 1
      ctx.fillRect(left, at[0][1], end - left, at[1][1] - at[0][1])
      ctx.strokeRect(left, at[0][1], end - left, at[1][1] - at[0][1])
      break
    }
    case 'label': break
    default: {
      ctx.beginPath()
      at.forEach(([left, top], i) => (i ? ctx.lineTo(left, top) : ctx.moveTo(left, top)))
      ctx.strokeStyle = s.color
      ctx.fillStyle = s.color
      ctx.lineWidth = width
      if (s.type === 'linefill') ctx.fill()
      else ctx.stroke()
    }
  }
  if (s.text) caption(ctx, s, at, theme)
}

// extended lengthens a line to the edges.
function extended([a, b], extend, right) {
  if (!extend || a[0] === b[0]) return [a, b]
  const [first, last] = a[0] <= b[0] ? [a, b] : [b, a]
  const slope = (last[1] - first[1]) / (last[0] - first[0])
  const toLeft = extend !== 'right' ? [0, first[1] - slope * first[0]] : first
  const toRight = extend !== 'left' ? [right, last[1] + slope * (right - last[0])] : last
  return [toLeft, toRight]
}

function caption(ctx, s, at, theme) {
  const [left, top] = at[0]
  ctx.font = '12px Roboto, system-ui, sans-serif'
  const lines = s.text.split('\n'), line = 15
  if (s.type === 'label') {
    const wide = Math.max(...lines.map((text) => ctx.measureText(text).width))
    ctx.fillStyle = s.color
    ctx.fillRect(left - wide / 2 - 4, top - lines.length * line - 6, wide + 8, lines.length * line + 4)
  }
  ctx.fillStyle = theme.strong
  ctx.textAlign = s.type === 'label' ? 'center' : 'left'
  lines.forEach((text, i) => ctx.fillText(text, s.type === 'label' ? left : left + 4, top - 6 - (lines.length - 1 - i) * line))
  ctx.textAlign = 'left'
}
