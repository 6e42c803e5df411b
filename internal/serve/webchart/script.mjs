// What a Pine script draws besides lines: its colours, marks, tints and shapes.
import { alpha } from './figures.mjs'
import { paintLine } from './paint.mjs'

// toneAt returns the colour that a script gave a line or histogram at a bar, or undefined. A
// list without an index has one colour for all bars.
export function toneAt(tones, i) {
  const tone = tones?.palette[tones.index?.[i] ?? 0]
  return !tone || tone.endsWith('00') ? undefined : tone
}

// barTone returns the colour that scripts gave to a bar itself, or undefined.
export function barTone(indicators, i) {
  let tone
  for (const ind of Object.values(indicators)) {
    for (const t of ind.tints ?? []) if (t.bars && t.x1 <= i && i <= t.x2) tone = t.color
  }
  return tone
}

const forms = { arrow_up: 'arrowUp', triangle_up: 'arrowUp', label_up: 'arrowUp', arrow_down: 'arrowDown', triangle_down: 'arrowDown', label_down: 'arrowDown', square: 'square', diamond: 'square', flag: 'square' }

// marksOf returns the marks of a script as markers of the library, in the order of time.
export function marksOf(marks, times, theme) {
  return (marks ?? []).filter((m) => m.x >= 0 && m.x < times.length).sort((a, b) => a.x - b.x).map((m) => {
    const mark = { time: times[m.x], shape: forms[m.shape] ?? 'circle', color: !m.color || m.color.endsWith('00') ? theme.warn : m.color, size: m.shape === 'text' ? 0 : 1, text: m.text }
    if (m.y !== undefined) return { ...mark, position: 'atPriceMiddle', price: m.y }
    return { ...mark, position: m.place === 'below' || m.place === 'bottom' ? 'belowBar' : 'aboveBar' }
  })
}

// paintTints colours the ground behind bars.
export function paintTints(ctx, x, space, tints) {
  for (const t of tints ?? []) {
    if (t.bars) continue
    ctx.fillStyle = t.color
    ctx.fillRect(x(t.x1 - 0.5), 0, x(t.x2 + 0.5) - x(t.x1 - 0.5), space.bitmapSize.height)
  }
}

// paintShape draws a line, box, label, path or area of a script.
export function paintShape(ctx, x, y, space, s, theme) {
  const at = s.points.map((p) => [x(p.x), y(p.y)])
  if (at.some(([, top]) => top === null)) return
  const ratio = space.verticalPixelRatio, width = 1.5 * ratio, right = space.bitmapSize.width
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
      ctx.lineWidth = ratio
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
  if (s.text) caption(ctx, s, at, ratio, theme)
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

function caption(ctx, s, at, ratio, theme) {
  const [left, top] = at[0]
  ctx.font = `${12 * ratio}px Roboto, system-ui, sans-serif`
  const lines = s.text.split('\n'), line = 15 * ratio
  if (s.type === 'label') {
    const wide = Math.max(...lines.map((text) => ctx.measureText(text).width))
    ctx.fillStyle = s.color
    ctx.fillRect(left - wide / 2 - 4 * ratio, top - lines.length * line - 6 * ratio, wide + 8 * ratio, lines.length * line + 4 * ratio)
  }
  ctx.fillStyle = theme.strong
  ctx.textAlign = s.type === 'label' ? 'center' : 'left'
  lines.forEach((text, i) => ctx.fillText(text, s.type === 'label' ? left : left + 4 * ratio, top - 6 * ratio - (lines.length - 1 - i) * line))
  ctx.textAlign = 'left'
}
