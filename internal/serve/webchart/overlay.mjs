// What other modules put on a chart: their drawings, and what they do with the pointer.
import { placeOf } from './paint.mjs'

// placeFor returns the functions between what a View has drawn and pixels of its element, whose origin is its upper left
// corner, or null before a chart is drawn:
//   xOf(time)   seconds since 1970 of a bar or between two, also outside of all bars; NaN for sample data
//   xOfBar(i)   the index of a bar, also a fraction or beyond the last
//   timeAt(x)   barAt(x)   their inverses; the bar is a fraction
//   yOf(price)  priceAt(y)  of the price pane; nothing can be drawn where they are null
//   width, height  of the price pane, without the axis; step is the distance of two bars
export function placeFor(view) {
  if (!view.chart) return null
  const height = view.chart.panes()[0].getHeight(), width = view.chart.timeScale().width()
  const at = placeOf(view.chart, view.candles, { width, height })
  if (!at) return null
  const bars = view.series.bars, last = bars.length - 1, every = last > 0 ? (bars[last].t - bars[0].t) / last : 86400
  const barOf = (time) => {
    if (bars[0].t === null) return NaN
    if (time >= bars[last].t) return last + (time - bars[last].t) / every
    if (time <= bars[0].t) return (time - bars[0].t) / every
    const i = bars.findLastIndex((b) => b.t <= time)
    return i + (time - bars[i].t) / (bars[i + 1].t - bars[i].t)
  }
  const timeOf = (bar) => {
    if (bars[0].t === null) return NaN
    if (bar >= last) return bars[last].t + (bar - last) * every
    if (bar <= 0) return bars[0].t + bar * every
    const i = Math.floor(bar)
    return bars[i].t + (bar - i) * (bars[i + 1].t - bars[i].t)
  }
  const barAt = (x) => (x - at.x(0)) / at.step
  return {
    width, height, step: at.step,
    xOfBar: at.x, barAt, xOf: (time) => at.x(barOf(time)), timeAt: (x) => timeOf(barAt(x)),
    yOf: (price) => view.candles.priceToCoordinate(view.toAxis(price)),
    priceAt: (y) => { const v = view.candles.coordinateToPrice(y); return v === null ? null : view.fromAxis(v) },
  }
}

// Overlays are what is on the chart of a View. All fields of an overlay may be left out:
//   draw(ctx, place)     draws on the price pane, in pixels, after every pan, zoom, resize and new price
//   redrawn(place)       is called after a whole chart was drawn, and after a resize
//   down(event, point)   a pointer was pressed over the price pane; point has x, y, bar, time and price. If it returns
//                        true the overlay has the pointer: the chart does not pan, and a click picks nothing
//   move(event, point)   the pointer moves over the price pane, or the overlay has it: point.held
//   up(event, point)     the overlay had the pointer, and it was released; cancel(event) where it was lost
// Overlays are asked in the order in which they were added.
export class Overlays {
  constructor(view) {
    this.view = view
    this.all = []
    this.held = null // the overlay that has the pointer
    this.taken = false // a click that is still to come belongs to an overlay
    this.dragged = false // a person has moved the border between two panes
    for (const type of ['pointerdown', 'pointermove', 'pointerup', 'pointercancel']) view.element.addEventListener(type, (e) => this.#pointer(e), true)
  }

  add(overlay) {
    this.all.push(overlay)
    this.view.redraw()
    return () => {
      this.all = this.all.filter((o) => o !== overlay)
      if (this.held === overlay) this.#release()
      this.view.redraw()
    }
  }

  draw(ctx) {
    const place = this.all.length ? this.view.place : null
    if (place) for (const o of this.all) o.draw?.(ctx, place)
  }

  redrawn() {
    const place = this.all.length ? this.view.place : null
    if (place) for (const o of this.all) o.redrawn?.(place)
  }

  // took reports whether the click that the library reports was an overlay's.
  took() {
    const taken = this.taken
    this.taken = false
    return taken
  }

  #pointer(e) {
    if (e.type === 'pointerdown') {
      this.taken = false
      if (getComputedStyle(e.target).cursor === 'row-resize') this.dragged = true
    }
    const place = this.all.length ? this.view.place : null
    if (!place) return
    const box = this.view.element.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top
    const inside = x >= 0 && y >= 0 && x <= place.width && y <= place.height
    const point = { x, y, bar: place.barAt(x), time: place.timeAt(x), price: place.priceAt(y), inside, held: !!this.held }
    if (e.type === 'pointerdown') {
      if (!inside || e.button !== 0) return
      this.held = this.all.find((o) => o.down?.(e, point) === true) ?? null
      this.taken = !!this.held
      if (!this.held) return
      this.view.element.setPointerCapture(e.pointerId)
      this.view.chart.applyOptions({ handleScroll: false, handleScale: false })
      return
    }
    if (e.type === 'pointermove') {
      for (const o of this.held ? [this.held] : inside ? this.all : []) o.move?.(e, point)
      return
    }
    if (!this.held) return
    if (e.type === 'pointerup') this.held.up?.(e, point)
    else this.held.cancel?.(e)
    this.#release()
  }

  #release() {
    this.held = null
    this.view.chart?.applyOptions({ handleScroll: true, handleScale: true })
  }
}
