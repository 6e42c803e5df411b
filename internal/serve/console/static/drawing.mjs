// Drawings on a chart: where their points stand, how they look and how a person draws, moves and changes them. It keeps
// nothing: what changes is handed to events.changed(drawing) and events.removed(id). A drawing has the fields of
// /console/drawings.json.
import { alpha, number } from './figures.mjs'

const two = new Set(['line', 'ray', 'box', 'fib', 'measure'])
const ratios = [0, 0.236, 0.382, 0.5, 0.618, 0.786, 1]
const reach = 8 // pixels around a line in which it is meant
const dot = 4.5 // radius of an end

export class Drawings {
  constructor(view, events) {
    Object.assign(this, { view, events, all: [], tool: '', selected: null, hidden: false, drag: null, draft: null })
    view.addOverlay(this)
  }

  // show draws these, and keeps the selection if it is still there.
  show(all) {
    this.all = all.map((d) => ({ ...d, price: Number(d.price), price2: Number(d.price2 ?? 0) }))
    if (!this.find(this.selected)) this.select(null)
    this.view.redraw()
  }

  find(id) { return this.all.find((d) => d.id === id) }

  choose(tool) {
    this.tool = tool
    this.draft = null
    if (tool) this.select(null)
    this.view.redraw()
  }

  select(id) {
    if (id === this.selected) return
    this.selected = id
    this.events.selected?.(this.find(id) ?? null)
    this.view.redraw()
  }

  hide(on) {
    this.hidden = on
    if (on) this.select(null)
    this.view.redraw()
  }

  // escape ends what was begun: a drawing, a tool or a selection. It returns whether there was something.
  escape() {
    if (this.drag) { this.all = this.all.map((d) => (d.id === this.drag.was.id ? this.drag.was : d)); this.drag = null }
    else if (this.draft) this.draft = null
    else if (this.tool) { this.choose(''); this.events.done?.() }
    else if (this.selected) this.select(null)
    else return false
    this.view.redraw()
    return true
  }

  // nudge moves the selected drawing by bars and by pixels of price, as arrow keys do.
  nudge(bars, pixels) {
    const d = this.find(this.selected), place = this.view.place
    if (!d || !place) return false
    this.#moveBy(d, { ...d }, bars * place.step, pixels, place)
    this.events.changed(plain(d))
    this.view.redraw()
    return true
  }

  // place draws with the keyboard: a drawing of this type in the middle of what is seen.
  begin(type) {
    const place = this.view.place
    if (!place) return null
    const at = (x, y) => ({ time: Math.round(place.timeAt(place.width * x)), price: place.priceAt(place.height * y) })
    const a = at(0.45, 0.55), b = at(0.7, 0.4)
    return this.#rounded(two.has(type) ? { type, ...a, time2: b.time, price2: b.price } : type === 'level' ? { type, price: at(0.5, 0.5).price } : { type, ...a })
  }

  #rounded(d) {
    const digits = this.view.digits ?? 2
    for (const key of ['price', 'price2']) if (d[key]) d[key] = Number(d[key].toFixed(digits))
    for (const key of ['time', 'time2']) if (d[key]) d[key] = Math.round(d[key])
    return d
  }

  // ---- pointer, see Overlays

  down(event, point) {
    if (this.hidden && !this.tool) return false
    if (!Number.isFinite(point.time) || point.price === null) return false
    if (this.tool) return this.#drawFrom(point)
    const place = this.view.place, hit = this.#hit(point, place, event.pointerType === 'touch' ? 3 * reach : reach)
    this.select(hit?.d.id ?? null)
    if (!hit) return false
    this.drag = { was: { ...hit.d }, end: hit.end, x: point.x, y: point.y, moved: false }
    return true
  }

  move(event, point) {
    const place = this.view.place
    if (this.draft && this.draft.held !== undefined) {
      Object.assign(this.draft.d, { time2: Math.round(point.time), price2: point.price })
      this.draft.moved ||= Math.hypot(point.x - this.draft.x, point.y - this.draft.y) > 4
      this.view.redraw()
      return
    }
    if (!this.drag) {
      const over = !this.hidden && place && this.#hit(point, place, reach)
      this.view.element.classList.toggle('on-drawing', !!over || !!this.tool)
      return
    }
    const d = this.find(this.drag.was.id)
    if (!d) return
    this.drag.moved ||= Math.hypot(point.x - this.drag.x, point.y - this.drag.y) > 3
    if (!this.drag.moved) return
    if (this.drag.end === 1) Object.assign(d, this.#rounded({ time: d.time && point.time, price: point.price }))
    else if (this.drag.end === 2) Object.assign(d, this.#rounded({ time2: point.time, price2: point.price }))
    else this.#moveBy(d, this.drag.was, point.x - this.drag.x, point.y - this.drag.y, place)
    this.view.redraw()
  }

  up(event, point) {
    if (this.draft) {
      const first = this.draft.held === 'first'
      // A click sets one end, and the next click the other; a drag sets both.
      if (this.draft.moved || !first) this.#finish()
      else this.draft.held = 'between'
      return
    }
    const drag = this.drag
    this.drag = null
    if (drag?.moved && valid(this.find(drag.was.id))) this.events.changed(plain(this.find(drag.was.id)))
    else if (drag) this.all = this.all.map((d) => (d.id === drag.was.id ? drag.was : d))
    this.view.redraw()
  }

  cancel() { this.escape() }

  #drawFrom(point) {
    const at = this.#rounded({ time: point.time, price: point.price })
    if (this.draft?.held === 'between') {
      Object.assign(this.draft.d, { time2: at.time, price2: at.price })
      this.draft.held = 'second'
      return true
    }
    if (!two.has(this.tool)) {
      const d = this.tool === 'level' ? { type: 'level', price: at.price } : { type: this.tool, ...at }
      this.choose('')
      this.events.done?.()
      this.events.changed(d, point)
      return true
    }
    this.draft = { d: { type: this.tool, ...at, time2: at.time, price2: at.price }, held: 'first', x: point.x, y: point.y, moved: false }
    return true
  }

  #finish() {
    const d = this.#rounded({ ...this.draft.d })
    this.choose('')
    this.events.done?.()
    if (valid(d)) this.events.changed(d)
  }

  #moveBy(d, was, dx, dy, place) {
    const to = (time, price) => {
      const x = time ? place.xOf(time) + dx : 0, y = place.yOf(price) + dy
      return { time: time && place.timeAt(x), price: place.priceAt(y) }
    }
    const a = to(was.time, was.price)
    Object.assign(d, this.#rounded({ ...(was.time ? { time: a.time } : {}), price: a.price }))
    if (!two.has(d.type)) return
    const b = to(was.time2, was.price2)
    Object.assign(d, this.#rounded({ time2: b.time, price2: b.price }))
  }

  // #hit returns the drawing at a point, the newest first, with the end that is meant, 0 for none.
  #hit(point, place, near) {
    const selected = this.find(this.selected)
    for (const d of [...(selected ? [selected] : []), ...this.all.toReversed()]) {
      const [x1, y1, x2, y2] = ends(d, place)
      if (y1 === null || y2 === null) continue
      if (two.has(d.type) && Math.hypot(point.x - x2, point.y - y2) <= near) return { d, end: 2 }
      if (d.time && Math.hypot(point.x - x1, point.y - y1) <= near) return { d, end: two.has(d.type) ? 1 : 0 }
      if (this.#on(d, point, near, x1, y1, x2, y2, place)) return { d, end: 0 }
    }
    return null
  }

  #on(d, { x, y }, near, x1, y1, x2, y2, place) {
    switch (d.type) {
      case 'level': return Math.abs(y - y1) <= near
      case 'text': return x >= x1 - near && x <= x1 + 8 + 7 * (d.text?.length ?? 0) && Math.abs(y - y1) <= near + 4
      case 'fib': return x >= Math.min(x1, x2) && ratios.some((r) => Math.abs(y - (y2 + r * (y1 - y2))) <= near / 2)
      case 'box': case 'measure': {
        const inX = x >= Math.min(x1, x2) - near && x <= Math.max(x1, x2) + near, inY = y >= Math.min(y1, y2) - near && y <= Math.max(y1, y2) + near
        return inX && inY && (Math.min(Math.abs(x - x1), Math.abs(x - x2), Math.abs(y - y1), Math.abs(y - y2)) <= near || d.id === this.selected)
      }
    }
    const along = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / Math.max(1, (x2 - x1) ** 2 + (y2 - y1) ** 2)
    const part = Math.max(0, d.type === 'ray' ? along : Math.min(1, along))
    return x <= place.width && Math.hypot(x - x1 - part * (x2 - x1), y - y1 - part * (y2 - y1)) <= near
  }

  // ---- drawing

  draw(ctx, place) {
    if (!this.hidden) for (const d of this.all) this.#draw(ctx, place, d, d.id === this.selected)
    if (this.draft) this.#draw(ctx, place, this.draft.d, true)
  }

  #draw(ctx, place, d, strong) {
    const [x1, y1, x2, y2] = ends(d, place)
    if (y1 === null || y2 === null || !Number.isFinite(x1 + x2)) return
    const colors = this.events.colors(), color = d.by && d.by !== 'console' ? colors.agent : colors.own
    ctx.save()
    ctx.beginPath()
    ctx.rect(0, 0, place.width, place.height)
    ctx.clip()
    Object.assign(ctx, { strokeStyle: color, fillStyle: color, lineWidth: strong ? 2 : 1.5, font: '12px Roboto, system-ui, sans-serif' })
    const line = (a, b, c, e) => { ctx.beginPath(); ctx.moveTo(a, b); ctx.lineTo(c, e); ctx.stroke() }
    const label = (text, x, y) => {
      if (!text) return
      const wide = ctx.measureText(text).width
      if (x + wide < 0 || x > place.width) return // with its drawing
      const left = Math.max(4, Math.min(x, place.width - wide - 6))
      ctx.fillStyle = alpha(colors.ground, 0.85)
      ctx.fillRect(left - 3, y - 12, wide + 6, 16)
      ctx.fillStyle = color
      ctx.fillText(text, left, y)
    }
    const far = x2 === x1 ? 0 : (place.width * 2) / Math.abs(x2 - x1)
    switch (d.type) {
      case 'level':
        line(0, y1, place.width, y1)
        label(d.text, 8, y1 - 6)
        break
      case 'text':
        label(d.text || 'Text', x1 + 8, y1 + 4)
        ctx.beginPath(); ctx.arc(x1, y1, 3, 0, 7); ctx.fill()
        break
      case 'fib':
        for (const r of ratios) {
          const y = y2 + r * (y1 - y2)
          ctx.globalAlpha = r === 0 || r === 1 ? 1 : 0.7
          line(Math.min(x1, x2), y, place.width, y)
          label(`${r} ${number(d.price2 + r * (d.price - d.price2), this.view.digits)}`, Math.min(x1, x2) + 4, y - 4)
        }
        ctx.setLineDash([4, 4])
        line(x1, y1, x2, y2)
        break
      case 'box': case 'measure':
        ctx.fillStyle = alpha(d.type === 'measure' ? (d.price2 >= d.price ? colors.up : colors.down) : color, 0.12)
        ctx.fillRect(Math.min(x1, x2), Math.min(y1, y2), Math.abs(x2 - x1), Math.abs(y2 - y1))
        ctx.strokeRect(Math.min(x1, x2), Math.min(y1, y2), Math.abs(x2 - x1), Math.abs(y2 - y1))
        if (d.type === 'measure') label(measured(d, this.view.digits, (x2 - x1) / place.step), Math.min(x1, x2) + 6, Math.min(y1, y2) - 6)
        else label(d.text, Math.min(x1, x2) + 6, Math.min(y1, y2) + 16)
        break
      case 'ray': line(x1, y1, x1 + (x2 - x1) * Math.max(1, far), y1 + (y2 - y1) * Math.max(1, far)); label(d.text, x1, y1 - 8); break
      default: line(x1, y1, x2, y2); label(d.text, (x1 + x2) / 2, (y1 + y2) / 2 - 8)
    }
    ctx.setLineDash([])
    ctx.globalAlpha = 1
    if (strong) {
      for (const [x, y] of two.has(d.type) ? [[x1, y1], [x2, y2]] : d.time ? [[x1, y1]] : [[place.width / 2, y1]]) {
        ctx.beginPath()
        ctx.arc(x, y, dot, 0, 7)
        ctx.fillStyle = colors.ground
        ctx.fill()
        ctx.stroke()
      }
    }
    ctx.restore()
  }
}

// ends returns where the points of a drawing stand.
function ends(d, place) {
  const x1 = d.time ? place.xOf(d.time) : 0, y1 = place.yOf(d.price)
  return two.has(d.type) ? [x1, y1, place.xOf(d.time2), place.yOf(d.price2)] : [x1, y1, x1, y1]
}

function valid(d) { return d && d.price > 0 && (!two.has(d.type) || (d.price2 > 0 && (d.type !== 'ray' || d.time2 > d.time))) }

// measured says how far the second point of a measure is from the first.
function measured(d, digits, bars) {
  const by = d.price2 - d.price, sign = by > 0 ? '+' : ''
  return `${sign}${number(by, digits)} (${sign}${((by / d.price) * 100).toFixed(2)} %), ${Math.round(Math.abs(bars))} bars`
}

// plain is a drawing without what the server adds.
function plain({ id, type, time, price, time2, price2, text }) {
  return { id, type, price, ...(time ? { time } : {}), ...(two.has(type) ? { time2, price2 } : {}), ...(text ? { text } : {}) }
}

// words says what a drawing is, for those who hear the page.
export function words(d, digits) {
  const name = { line: 'Trend line', ray: 'Ray', level: 'Level', box: 'Rectangle', fib: 'Fibonacci', text: 'Text', measure: 'Measure' }[d.type]
  return `${name}${d.text ? ` “${d.text}”` : ''} at ${number(d.price, digits)}${two.has(d.type) ? ` to ${number(d.price2, digits)}` : ''}`
}
