// What a person does on the chart: the drawing tools, and levels of alerts, orders, stops and targets that are moved to
// another price. Drawings are kept at once. A level that was moved sends nothing: it opens the server's own form of that
// act, with the old and the new price, and only Set sends it.
import { number } from './figures.mjs'
import { Drawings, words } from './drawing.mjs'

const $ = (s, e = document) => e.querySelector(s)
const $$ = (s, e = document) => [...e.querySelectorAll(s)]

// work puts everything on a View. say writes a line under the chart, bad for a failure; speak is for those who hear it.
export function work(view, { symbol, say, speak }) {
  if ($('#c-tools')) new Tools(view, symbol, say, speak)
  new Grips(view, speak)
}

const colors = () => {
  const css = getComputedStyle(document.documentElement)
  // A short colour gets six digits, so that an opacity can follow.
  const of = (name, otherwise) => (css.getPropertyValue(name).trim() || otherwise).replace(/^#(.)(.)(.)$/, '#$1$1$2$2$3$3')
  return { own: of('--accent-text', '#6ea8fe'), agent: of('--warn', '#f2c94c'), ground: of('--bg', '#131722'), up: of('--up', '#26a69a'), down: of('--down', '#ef5350'), text: of('--text', '#d1d4dc') }
}

const typing = (e) => /INPUT|SELECT|TEXTAREA/.test(e.target.nodeName) || $('dialog[open]')

class Tools {
  constructor(view, symbol, say, speak) {
    Object.assign(this, { view, symbol, say, speak, bar: $('#c-tools'), posts: 0, open: 0 })
    this.bar.hidden = false
    this.drawings = new Drawings(view, {
      colors, changed: (d, point) => this.#save(d, point), done: () => this.#choose(''),
      selected: (d) => { $('#c-erase').setAttribute('aria-disabled', !d); if (d) speak(`${words(d, view.digits)} selected. Arrow keys move it, Delete removes it.`) },
    })
    for (const button of $$('[data-tool]')) button.addEventListener('click', (e) => this.#choose(button.dataset.tool, e.detail === 0))
    $('#c-hide').addEventListener('click', (e) => {
      const on = e.currentTarget.getAttribute('aria-pressed') !== 'true'
      e.currentTarget.setAttribute('aria-pressed', on)
      this.drawings.hide(on)
    })
    $('#c-erase').addEventListener('click', () => this.#erase())
    $('#c-draw').addEventListener('click', (e) => e.currentTarget.setAttribute('aria-expanded', e.currentTarget.getAttribute('aria-expanded') !== 'true'))
    $('#c-words').addEventListener('submit', (e) => { e.preventDefault(); this.#written($('#c-words-text').value.trim()) })
    $('#c-words-text').addEventListener('keydown', (e) => { if (e.key === 'Escape') { e.stopPropagation(); this.#written('') } })
    document.addEventListener('keydown', (e) => this.#key(e), true)
    view.element.addEventListener('dblclick', () => { const d = this.drawings.find(this.drawings.selected); if (d) this.#ask(d) })
    document.addEventListener('refreshed', () => this.read())
    this.read()
  }

  // read shows what is kept now.
  async read() {
    const asked = this.posts
    const answer = await fetch('/console/drawings.json?' + new URLSearchParams({ symbol: this.symbol })).catch(() => null)
    const kept = answer?.ok && await answer.json()
    if (kept && asked === this.posts) this.#show(kept) // else what was drawn meanwhile would be gone
  }

  #show(kept) {
    this.drawings.show(kept.drawings ?? [])
    this.view.element.dataset.drawings = (kept.drawings ?? []).map((d) => d.type).join(' ')
  }

  // #choose takes a tool. byKey brings the focus to the chart, where Enter draws it.
  #choose(tool, byKey = false) {
    for (const b of $$('[data-tool]')) b.setAttribute('aria-pressed', b.dataset.tool === tool)
    $('#c-draw').setAttribute('aria-expanded', 'false')
    this.drawings.choose(tool)
    this.view.element.classList.toggle('drawing', !!tool)
    if (!tool) return
    if (byKey) this.view.element.focus()
    const name = $(`[data-tool="${tool}"]`).textContent
    const how = tool === 'level' || tool === 'text' ? 'click where it belongs' : 'click or drag from one point to the other'
    this.say(`${name}: ${how}, or press Enter to draw it in the middle. Esc ends it.`)
    this.speak(`${name}. Enter draws it in the middle of the chart, Escape ends it.`)
  }

  // #middle draws with the keyboard: in the middle, selected, to be moved with arrows.
  #middle() {
    const d = this.drawings.begin(this.drawings.tool)
    this.#choose('')
    if (d) this.#save(d, null, true)
  }

  async #save(d, point, select = false) {
    if (d.type === 'text' && !d.text) { this.#ask(d, point); return }
    const before = new Set(this.drawings.all.map((one) => one.id))
    const kept = await this.#post('#c-set', d)
    if (!kept) { this.read(); return }
    const fresh = kept.drawings.findLast((one) => !before.has(one.id))
    // Not when something else was begun meanwhile.
    if (fresh && (select || !point) && !this.drawings.tool && !this.open) this.drawings.select(fresh.id)
    this.speak(`${words({ ...d, price: Number(d.price), price2: Number(d.price2) }, this.view.digits)} saved.`)
    this.say('')
  }

  async #erase() {
    const d = this.drawings.find(this.drawings.selected)
    if (!d) { this.say('Select a drawing first.'); return }
    if (await this.#post('#c-remove', { id: d.id })) this.speak('Drawing removed.')
  }

  // #post sends a form and shows what is kept after it. It returns null after a failure, whose reason is shown.
  async #post(form, fields) {
    this.posts++
    this.open++ // forms that the server has not answered
    const data = new URLSearchParams(new FormData($(form)))
    for (const [key, value] of Object.entries(fields)) if (value !== undefined && value !== '') data.set(key, value)
    const answer = await fetch($(form).action, { method: 'POST', body: data, headers: { Accept: 'application/json' } }).catch(() => null)
    const body = await answer?.json().catch(() => null)
    this.posts++
    this.open--
    if (!answer?.ok || !body) {
      this.say(body?.message ?? 'The server does not answer. Nothing was kept.', true)
      return null
    }
    this.#show(body)
    document.dispatchEvent(new CustomEvent('acted', { detail: '' })) // the list beside the chart has it, too
    return body
  }

  // #ask asks for the words of a drawing where it stands.
  #ask(d, point) {
    this.asked = d
    const form = $('#c-words'), place = this.view.place
    form.hidden = false
    const at = point ?? { x: d.time ? place.xOf(d.time) : place.width / 2, y: place.yOf(d.price) }
    form.style.left = `${Math.max(4, Math.min(at.x, place.width - 250))}px`
    form.style.top = `${Math.max(4, Math.min(at.y, place.height - 40))}px`
    $('#c-words-text').value = d.text ?? ''
    $('#c-words-text').focus()
  }

  #written(text) {
    $('#c-words').hidden = true
    const d = this.asked
    this.asked = null
    this.view.element.focus()
    if (d && (text || d.id)) this.#save({ id: d.id, type: d.type, price: d.price, time: d.time, ...(d.time2 ? { time2: d.time2, price2: d.price2 } : {}), text })
  }

  #key(e) {
    if (typing(e)) return
    if (e.altKey && !e.ctrlKey && !e.metaKey) {
      const button = $$('[data-letter]').find((b) => e.code === `Key${b.dataset.letter}`)
      if (!button) return
      e.preventDefault()
      this.#choose(button.dataset.tool, true)
      return
    }
    if (e.ctrlKey || e.metaKey) return
    const here = e.target === this.view.element, step = e.shiftKey ? 10 : 1
    const arrow = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[e.key]
    if (e.key === 'Escape' && this.drawings.escape()) e.preventDefault()
    else if ((e.key === 'Delete' || e.key === 'Backspace') && this.drawings.selected) { e.preventDefault(); this.#erase() }
    else if (here && e.key === 'Enter' && this.drawings.tool) { e.preventDefault(); e.stopPropagation(); this.#middle() }
    else if (here && e.key === 'Tab' && !e.shiftKey && this.#next()) e.preventDefault()
    else if (here && arrow && this.drawings.selected) { e.preventDefault(); e.stopPropagation(); this.drawings.nudge(...arrow) }
  }

  // #next selects the next drawing, and after the last one lets the focus go on.
  #next() {
    const all = this.drawings.all
    if (!all.length || this.drawings.hidden) return false
    const at = all.findIndex((d) => d.id === this.drawings.selected) + 1
    this.drawings.select(all[at]?.id ?? null)
    return at < all.length
  }
}

// Grips are the levels that can be moved, one button each, which is dragged, or moved by a tick with arrow keys.
class Grips {
  constructor(view, speak) {
    Object.assign(this, { view, speak, box: $('#c-grips'), card: $('#c-mover'), all: [], moving: null })
    view.addOverlay(this)
    this.read()
    document.addEventListener('refreshed', () => this.read())
    document.addEventListener('keydown', (e) => { if (e.key === 'Escape' && this.moving && !typing(e)) { e.preventDefault(); this.undo() } })
  }

  // read takes the levels from the lists beside the chart.
  read() {
    this.position = $('#c-position')?.dataset
    const before = this.all
    // A button stays while its level is there: it may have the focus or the pointer.
    this.all = $$('[data-grip]').map((a) => {
      const to = a.getAttribute('href'), g = before.find((one) => one.to === to) ?? { to }, was = Number(a.dataset.price)
      Object.assign(g, { was, label: a.dataset.label, kind: a.dataset.grip, sell: 'sell' in a.dataset })
      if (this.moving !== g) g.price = was
      if (!g.button) this.box.append(this.#button(g))
      g.button.firstChild.textContent = g.label
      this.#speakable(g)
      return g
    })
    for (const g of before) if (!this.all.includes(g)) g.button.remove()
    if (this.moving && !this.all.includes(this.moving)) { this.moving = null; this.card.hidden = true } // it ended meanwhile
    this.view.redraw()
  }

  #button(g) {
    const b = document.createElement('button')
    g.button = b
    b.type = 'button'
    b.className = `grip ${g.kind}${g.sell ? ' sell' : ''}`
    b.dataset.move = g.to
    b.setAttribute('role', 'slider')
    b.setAttribute('aria-orientation', 'vertical')
    const text = document.createElement('span')
    text.textContent = g.label
    b.append(text)
    b.addEventListener('pointerdown', (e) => {
      if (e.button !== 0) return
      e.preventDefault()
      b.focus()
      b.setPointerCapture(e.pointerId)
      g.drag = { y: e.clientY, from: this.view.place?.yOf(g.price) }
    })
    b.addEventListener('pointermove', (e) => {
      const place = this.view.place
      if (!g.drag || !place || (!g.drag.moved && Math.abs(e.clientY - g.drag.y) < 3)) return
      g.drag.moved = true
      this.#to(g, place.priceAt(Math.max(2, Math.min(place.height - 2, g.drag.from + e.clientY - g.drag.y))))
    })
    b.addEventListener('pointerup', () => { const moved = g.drag?.moved; g.drag = null; if (moved) this.#ask(g) })
    b.addEventListener('pointercancel', () => { g.drag = null; if (this.moving === g) this.undo() })
    b.addEventListener('keydown', (e) => this.#key(e, g))
    this.#speakable(g)
    return b
  }

  #key(e, g) {
    const digits = this.view.digits ?? 2, tick = 10 ** -digits
    const by = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[e.key]
    if (by) {
      e.preventDefault()
      e.stopPropagation()
      this.#to(g, g.price + by * tick * (e.shiftKey ? 10 : 1))
      clearTimeout(this.later)
      this.later = setTimeout(() => { if (this.moving === g) this.#ask(g, false) }, 400)
    } else if (e.key === 'Enter' && this.moving === g) {
      e.preventDefault()
      e.stopPropagation()
      clearTimeout(this.later)
      this.#ask(g)
    }
  }

  #to(g, price) {
    if (!(price > 0)) return
    if (this.moving && this.moving !== g) this.undo(false)
    this.moving = g
    g.price = Number(price.toFixed(this.view.digits ?? 2))
    this.#speakable(g)
    this.view.redraw()
  }

  #speakable(g) {
    const at = number(g.price, this.view.digits ?? 2)
    g.button.setAttribute('aria-label', g.label)
    g.button.setAttribute('aria-valuenow', g.price)
    g.button.setAttribute('aria-valuetext', g.price === g.was ? at : `${at}, was ${number(g.was, this.view.digits ?? 2)}`)
  }

  // #ask shows the server's form of the act at the new price.
  async #ask(g, focus = true) {
    if (g.price === g.was) { this.undo(); return }
    const price = g.price.toFixed(this.view.digits ?? 2)
    const answer = await fetch(`${g.to}?price=${price}`, { headers: { Accept: 'text/html' } }).catch(() => null)
    if (this.moving !== g || price !== g.price.toFixed(this.view.digits ?? 2)) return
    this.#show(g, answer ? await answer.text() : '', focus)
  }

  #show(g, html, focus) {
    const page = new DOMParser().parseFromString(html, 'text/html'), form = page.querySelector('#ask-form')
    if (!form) {
      const why = document.createElement('p')
      why.className = 'mistake'
      why.textContent = page.querySelector('main p')?.textContent ?? 'The server does not answer. Nothing was sent.'
      const back = document.createElement('button')
      Object.assign(back, { type: 'button', className: 'btn', textContent: 'Undo' })
      back.addEventListener('click', () => this.undo())
      this.card.replaceChildren(why, back)
    } else {
      form.id = 'c-move-form'
      const field = form.querySelector('[name=price]')
      if (field) { field.type = 'hidden'; form.querySelector(`label[for="${field.id}"]`)?.remove() }
      form.querySelector('[data-close]')?.addEventListener('click', (e) => { e.preventDefault(); this.undo() })
      form.addEventListener('submit', (e) => { e.preventDefault(); this.#send(g, form) })
      this.card.replaceChildren(document.adoptNode(form))
    }
    this.card.hidden = false
    this.view.redraw()
    if (focus) (this.card.querySelector('[name=passphrase]') ?? this.card.querySelector('.acts button, button'))?.focus()
    this.speak(this.card.textContent.replace(/\s+/g, ' ').trim())
  }

  async #send(g, form) {
    for (const b of form.querySelectorAll('button')) b.disabled = true
    const answer = await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)), headers: { Accept: 'text/html' } }).catch(() => null)
    const html = answer ? await answer.text() : ''
    if (!answer?.ok || !answer.redirected) { this.#show(g, html, true); return }
    const notice = new DOMParser().parseFromString(html, 'text/html').querySelector('.flash')?.textContent.trim() ?? `${g.label}: now at ${number(g.price, this.view.digits ?? 2)}.`
    this.moving = null
    this.card.hidden = true
    // Another order or alert has its place: the list beside the chart will name it.
    g.button.remove()
    this.all = this.all.filter((one) => one !== g)
    this.view.redraw()
    this.speak(notice)
    document.dispatchEvent(new CustomEvent('acted', { detail: notice }))
  }

  undo(focus = true) {
    clearTimeout(this.later)
    const g = this.moving
    this.moving = null
    this.card.hidden = true
    if (!g) return
    g.price = g.was
    this.#speakable(g)
    if (focus) g.button.focus()
    this.view.redraw()
  }

  // draw puts the buttons where their prices are, and the lines of what is being moved, under a card.
  draw(ctx, place) {
    const c = colors()
    this.#band(ctx, place, c)
    // Buttons that would cover each other are pushed apart.
    const rows = this.all.map((g) => ({ g, y: place.yOf(g.price) })).sort((a, b) => a.y - b.y)
    let bottom = -Infinity
    for (const { g, y } of rows) {
      const seen = y !== null && y >= 0 && y <= place.height && !this.view.hidden?.has(g.kind === 'alert' ? 'alerts' : 'orders')
      g.button.hidden = !seen
      if (!seen) continue
      const top = Math.max(y, bottom + 24)
      bottom = top
      g.button.style.top = `${top}px`
      g.button.style.right = `${Math.max(0, this.view.element.clientWidth - place.width) + 1}px`
    }
    for (const g of this.all) if (g.kind === 'stop' && g !== this.moving && !g.button.hidden) this.#line(ctx, place, g, c, [6, 4])
    const g = this.moving
    if (!g) return
    this.#line(ctx, place, g, c, [])
    const y = place.yOf(g.price)
    if (y === null) return
    if (this.card.hidden || matchMedia('(max-width:760px)').matches) return
    const high = this.card.offsetHeight
    this.card.style.top = `${y + 24 + high < place.height ? y + 24 : Math.max(8, y - 24 - high)}px`
  }

  #line(ctx, place, g, c, dash) {
    const y = place.yOf(g.price)
    if (y === null) return
    ctx.save()
    Object.assign(ctx, { strokeStyle: g.kind === 'target' ? c.up : g.kind === 'stop' ? c.down : c.agent, lineWidth: 1 })
    ctx.setLineDash(dash)
    ctx.beginPath()
    ctx.moveTo(0, Math.round(y) + 0.5)
    ctx.lineTo(place.width, Math.round(y) + 0.5)
    ctx.stroke()
    ctx.restore()
  }

  // #band fills the part that is lost at the stop, and the one that is earned at the target.
  #band(ctx, place, c) {
    const entry = Number(this.position?.entry)
    if (!(entry > 0) || this.view.hidden?.has('orders')) return
    const from = Number(this.position.since) > 0 ? Math.max(0, place.xOf(Number(this.position.since))) : place.width * 0.7
    const y = place.yOf(entry)
    if (y === null || from > place.width) return
    ctx.save()
    ctx.globalAlpha = 0.1
    for (const [kind, color] of [['stop', c.down], ['target', c.up]]) {
      const g = this.all.find((one) => one.kind === kind), to = g ? place.yOf(g.price) : null
      if (to === null) continue
      ctx.fillStyle = color
      ctx.fillRect(from, Math.min(y, to), place.width - from, Math.abs(to - y))
    }
    ctx.restore()
  }
}
