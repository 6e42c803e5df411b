// The page that a client shows for generate_chart. It talks to the client alone, by
// JSON-RPC over postMessage (MCP Apps 2026-01-26), and reaches no other host.
import { describe, number, priceDigits, when } from './figures.mjs'
import { View, maxPanes } from './chart.mjs'

const element = (id) => document.getElementById(id)
const library = await unpacked().catch(() => undefined)
const root = document.documentElement

// unpacked runs the library, which the page has compressed. A program that was built without it has none.
async function unpacked() {
  const packed = element('library').textContent
  if (!packed) return undefined
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0))
  const script = document.createElement('script')
  script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text()
  document.head.append(script)
  return globalThis.LightweightCharts
}

// ---- the bridge to the host

let lastID = 0
const pending = new Map() // requests that are not answered, by id

function send(message) { window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*') }

function request(method, params) {
  const id = ++lastID
  return new Promise((resolve, reject) => {
    pending.set(id, { resolve, reject })
    send({ id, method, params })
  })
}

window.addEventListener('message', (event) => {
  const message = event.data
  if (event.source !== window.parent || message?.jsonrpc !== '2.0') return
  if (message.method === undefined) {
    const waits = pending.get(message.id)
    pending.delete(message.id)
    if (message.error) waits?.reject(new Error(message.error.message))
    else waits?.resolve(message.result)
    return
  }
  switch (message.method) {
    case 'ui/notifications/tool-input': onInput(message.params?.arguments ?? {}); break
    case 'ui/notifications/tool-result': onResult(message.params); break
    case 'ui/notifications/tool-cancelled': say('The call was cancelled.', true); break
    case 'ui/notifications/host-context-changed': onContext(message.params ?? {}); break
    case 'ui/resource-teardown':
      setLive(false)
      send({ id: message.id, result: {} })
      break
    case 'ping': send({ id: message.id, result: {} }); break
    default:
      if (message.id !== undefined) send({ id: message.id, error: { code: -32601, message: 'method not found' } })
  }
})

// ---- what is shown

const state = { input: {}, host: {}, theme: 'dark', modes: [], series: null, result: null, loading: false, broken: false }
let view = null

function say(text, bad = false) {
  element('status').textContent = text
  element('status').className = bad ? 'bad' : ''
}

function show(id) { for (const one of ['chart', 'picture', 'text']) element(one).hidden = one !== id }

function onContext(context) {
  if (context.theme === 'dark' || context.theme === 'light') state.theme = context.theme
  for (const [name, value] of Object.entries(context.styles?.variables ?? {})) {
    if (/^--[a-z0-9-]+$/.test(name) && typeof value === 'string') root.style.setProperty(name, value)
  }
  if (Array.isArray(context.availableDisplayModes)) state.modes = context.availableDisplayModes
  if (context.displayMode) state.mode = context.displayMode
  root.dataset.theme = state.theme
  root.dataset.mode = state.mode ?? 'inline'
  element('full').hidden = !state.modes.includes('fullscreen')
  element('full').textContent = state.mode === 'fullscreen' ? 'Leave full screen' : 'Full screen'
  view?.setTheme(state.theme)
  if (!library && state.series === null && state.result) load()
}

function onInput(input) {
  state.input = input
  state.arrived = true
}

// onResult gets what the model got. If it has no series, the page asks for them itself.
function onResult(result) {
  state.result = result
  if (result?.isError) {
    const first = result.content?.find((c) => c.type === 'text')?.text ?? ''
    show('text')
    element('text').textContent = messageOf(first)
    return
  }
  const own = seriesIn(result)
  if (own && library) {
    draw(own)
    loadLevels()
    return
  }
  load()
}

function messageOf(text) {
  try {
    return JSON.parse(text).message ?? text
  } catch {
    return text
  }
}

// seriesIn returns the series of a result, or null.
function seriesIn(result) {
  const found = parse(result)
  return Array.isArray(found?.bars) && found.look ? found : null
}

function parse(result) {
  if (result?.structuredContent) return result.structuredContent
  const text = result?.content?.find((c) => c.type === 'text')?.text
  if (!text) return null
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

// chartArguments are those of the model's call that say what is drawn, not how.
function chartArguments() {
  const { format, theme, width, height, scale, ...rest } = state.input
  return rest
}

async function call(more) {
  const result = await request('tools/call', { name: 'generate_chart', arguments: { ...chartArguments(), ...more } })
  if (result.isError) throw new Error(messageOf(result.content?.[0]?.text ?? 'the call failed'))
  return result
}

async function load() {
  if (state.loading) return
  if (!canCall()) return fallBack('This client lets the page make no calls.')
  state.loading = true
  say('Loading…')
  try {
    if (library) {
      const series = seriesIn(await call({ format: 'scene' }))
      if (!series) throw new Error('the series could not be read')
      draw(series)
      await loadLevels()
    } else {
      picture(await call({ format: 'png', theme: state.theme, width: Math.min(1600, Math.max(480, root.clientWidth)), height: 480, scale: 2 }))
    }
    say('')
  } catch (error) {
    fallBack(error.message)
  } finally {
    state.loading = false
  }
  await changeAgain()
}

function canCall() { return state.host.serverTools !== undefined }

// fallBack shows what the model got.
function fallBack(reason) {
  if (!picture(state.result)) {
    const text = state.result?.content?.find((c) => c.type === 'text')?.text
    show('text')
    element('text').textContent = text ?? 'No chart.'
  }
  say(reason, true)
}

function picture(result) {
  const image = result?.content?.find((c) => c.type === 'image' && /^image\/(png|jpeg)$/.test(c.mimeType))
  if (!image) return false
  const about = image._meta ?? {}
  element('picture').src = `data:${image.mimeType};base64,${image.data}`
  element('picture').alt = `Chart of ${about.symbol ?? state.input.symbol ?? 'sample data'}`
  if (about.symbol) heading(about)
  show('picture')
  resized()
  return true
}

function heading(about) {
  element('title').textContent = `${about.symbol} ${about.interval}`
  const notes = [about.source === 'sample' ? 'sample data, not a real market' : about.provider]
  if (about.stale) notes.push('stale')
  if (about.as_of) notes.push(`as of ${about.as_of.slice(11, 19)} UTC`)
  element('note').textContent = notes.join(' · ')
}

function draw(series) {
  if (!series.bars.length) return fallBack('There are no bars.')
  state.series = series
  show('chart')
  heading(series)
  const panes = Math.min(maxPanes, Math.max(0, ...series.look.plots.map((p) => p.pane)))
  element('chart').style.height = `${340 + 90 * panes}px`
  view ??= new View(element('chart'), library, state.theme, { pick, describe: (text) => { element('spoken').textContent = text } })
  view.setTheme(state.theme)
  view.setSeries(series)
  for (const id of ['in', 'out', 'reset', 'credit', 'table']) element(id).hidden = false
  element('live').hidden = series.bars[0].t === null || !canCall() || state.input.end !== undefined
  const last = series.bars.length - 1
  element('chart').setAttribute('aria-label', `${series.bars.length} bars. ${describe(series, last)}. Arrow keys move over the bars, Enter picks a price.`)
  if (!state.again) fillSwitch(series)
  if (view.left.length) say(`Not drawn, because there are too many panes: ${view.left.join(', ')}.`)
  fillTable(series)
  resized()
}

// ---- another symbol, interval or indicators, which the page asks for by itself

// fillSwitch writes what is shown into the fields.
function fillSwitch(series) {
  element('switch').hidden = !canCall()
  element('symbol').value = series.source === 'sample' ? '' : series.symbol
  const interval = element('interval')
  if (![...interval.options].some((o) => o.value === series.interval)) interval.add(new Option(series.interval))
  interval.value = series.interval
  element('names').value = Object.keys(series.indicators).join(', ')
}

// chosen is what the fields ask for. An indicator that was there keeps its parameters.
function chosen() {
  const before = (state.input.indicators ?? []).map((one) => [typeof one === 'string' ? one : one.name, one])
  const names = element('names').value.split(',').map((name) => name.trim()).filter(Boolean)
  const same = names.join() === Object.keys(state.series.indicators).join()
  const all = { ...state.input, symbol: element('symbol').value.trim(), interval: element('interval').value }
  if (!same) all.indicators = names.map((name) => before.find(([known]) => known === name)?.[1] ?? name)
  if (!all.symbol) delete all.symbol
  if (all.symbol !== state.input.symbol) delete all.drawings
  return all
}

async function change() {
  if (!state.series) return
  if (state.loading) { // then once more, with what the fields have by then
    state.again = true
    return
  }
  const before = state.input, next = chosen(), what = (of) => JSON.stringify([of.symbol, of.interval ?? state.series.interval, of.indicators])
  if (what(next) === what(before)) return
  state.loading = true
  state.input = next
  say('Loading…')
  try {
    const series = seriesIn(await call({ format: 'scene' }))
    if (!series) throw new Error('the series could not be read')
    view.setLevels({})
    say('')
    draw(series)
    await loadLevels()
  } catch (error) {
    state.input = before
    fillSwitch(state.series)
    say(error.message, true)
  } finally {
    state.loading = false
  }
  await changeAgain()
}

async function changeAgain() {
  if (!state.again) return
  state.again = false
  await change()
}

for (const id of ['symbol', 'interval', 'names']) {
  element(id).addEventListener('change', change)
  element(id).addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); change() } })
}

function fillTable(series) {
  const digits = priceDigits(series.bars)
  const rows = []
  for (let i = series.bars.length - 1; i >= Math.max(0, series.bars.length - 20); i--) {
    const b = series.bars[i]
    const row = document.createElement('tr')
    for (const text of [when(series, i), number(b.o, digits), number(b.h, digits), number(b.l, digits), number(b.c, digits)]) {
      const cell = document.createElement('td')
      cell.textContent = text
      row.append(cell)
    }
    rows.push(row)
  }
  element('table').querySelector('tbody').replaceChildren(...rows)
}

// loadLevels draws alerts, orders, the position and fills. A chart without them is better
// than none.
async function loadLevels() {
  if (!canCall() || state.series.bars[0].t === null) return
  try {
    view.setLevels(parse(await call({ format: 'summary', indicators: [], bars: state.series.bars.length })))
    state.levelsAt = Date.now()
  } catch {
    state.levelsAt = Date.now()
  }
}

// ---- live: asked for by the user, through the host, and not while nobody looks

const live = { on: false, timer: 0, fails: 0, calls: 0, most: 2000 }
const lengths = { m: 60, h: 3600, d: 86400, w: 604800, M: 2592000 }

// pause is a quarter of the interval, between 5 s and a minute, and longer after failures.
function pause() {
  const [, count, unit] = /^(\d+)([mhdwM])$/.exec(state.series.interval) ?? [0, 1, 'm']
  const seconds = Math.min(60, Math.max(5, (count * lengths[unit]) / 4))
  return Math.min(60, seconds * 2 ** live.fails) * 1000
}

function setLive(on) {
  live.on = on
  live.fails = 0
  clearTimeout(live.timer)
  element('live').setAttribute('aria-pressed', String(on))
  if (on) refresh()
}

async function refresh() {
  clearTimeout(live.timer)
  if (!live.on || document.hidden) return
  if (live.calls >= live.most) {
    setLive(false)
    return say(`Stopped after ${live.most} calls. Press Live to go on.`)
  }
  live.calls++
  try {
    const newer = seriesIn(await call({ format: 'scene', bars: 3, start: undefined, drawings: undefined }))
    if (!newer || !view.update(newer)) draw(seriesIn(await call({ format: 'scene' })))
    else heading(newer)
    if (Date.now() - (state.levelsAt ?? 0) > 60_000) await loadLevels()
    if (live.fails > 0) say('') // what else the page said stays
    live.fails = 0
  } catch (error) {
    live.fails++
    say(`No new prices: ${error.message}`, true)
  }
  if (live.on) live.timer = setTimeout(refresh, pause())
}

document.addEventListener('visibilitychange', refresh)

// ---- a click on a price prepares a sentence; nothing is sent before the user sends it

const spelling = /^[A-Za-z0-9:=._^/-]{1,40}$/

function pick({ price }) {
  const symbol = state.series.symbol
  if (!spelling.test(symbol) || !/^\d+(\.\d+)?$/.test(price)) return
  const last = state.series.bars.at(-1).c
  const side = Number(price) >= last ? 'above' : 'below'
  state.picked = { symbol, price }
  element('sentence').value = sentence(side)
  const form = element('pick')
  form.hidden = false
  for (const button of form.querySelectorAll('[data-kind]')) button.hidden = button.dataset.kind === side
  resized()
}

function sentence(kind) { return `Prepare an alert for ${state.picked.symbol} ${kind} ${state.picked.price}; ask me before setting it.` }

element('pick').addEventListener('click', (event) => {
  const kind = event.target.dataset?.kind
  if (!kind) return
  element('sentence').value = sentence(kind)
  for (const button of element('pick').querySelectorAll('[data-kind]')) button.hidden = button.dataset.kind === kind
})

// answered gives up on a request that a client leaves without an answer.
function answered(promise) {
  return Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error('the client did not answer')), 10_000))])
}

// A frame may not be allowed to submit forms, so the button and the key do what a form would.
element('sentence').addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); deliver() } })
element('send').addEventListener('click', (event) => { event.preventDefault(); deliver() })

async function deliver() {
  const content = [{ type: 'text', text: element('sentence').value }]
  try {
    // Some clients take messages without saying so before.
    const later = !state.host.message && state.host.updateModelContext
    const answer = await answered(later ? request('ui/update-model-context', { content }) : request('ui/message', { role: 'user', content }))
    if (answer?.isError) throw new Error('the client refused it')
    element('pick').hidden = true
    say(later ? 'The assistant reads it with your next message.' : 'Sent to the conversation.')
  } catch (error) {
    say(`Not sent: ${error.message}. You can copy the sentence.`, true)
  }
  resized()
}

// ---- buttons and size

element('close').addEventListener('click', () => { element('pick').hidden = true; resized() })
element('live').addEventListener('click', () => { live.calls = 0; setLive(!live.on) })
element('in').addEventListener('click', () => view.zoom(0.8))
element('out').addEventListener('click', () => view.zoom(1.25))
element('reset').addEventListener('click', () => view.reset())
element('full').addEventListener('click', async () => {
  const answer = await request('ui/request-display-mode', { mode: state.mode === 'fullscreen' ? 'inline' : 'fullscreen' }).catch(() => null)
  if (answer?.mode) onContext({ displayMode: answer.mode })
})
element('credit').querySelector('a').addEventListener('click', (event) => {
  if (!state.host.openLinks) return
  event.preventDefault()
  request('ui/open-link', { url: event.target.href }).catch(() => {})
})

let sized = 0
function resized() {
  cancelAnimationFrame(sized)
  sized = requestAnimationFrame(() => {
    if (state.mode === 'fullscreen') return
    send({ method: 'ui/notifications/size-changed', params: { height: Math.ceil(document.body.getBoundingClientRect().height) } })
  })
}

async function start() {
  root.dataset.theme = state.theme = matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'
  const answer = await request('ui/initialize', {
    protocolVersion: '2026-01-26', appInfo: { name: 'candela-chart', version: '1.0.0' },
    appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
  })
  state.host = answer?.hostCapabilities ?? {}
  onContext(answer?.hostContext ?? {})
  send({ method: 'ui/notifications/initialized', params: {} })
  resized()
}

start().catch((error) => say(error.message, true))
