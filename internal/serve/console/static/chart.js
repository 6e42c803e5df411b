// The chart page: the bars of generate_chart, followed while the page is visible. Without this
// script the page shows the server's picture.
import { describe, number, percent, priceDigits, style, wall, zoneName } from './figures.mjs'
import { View } from './chart.mjs'
import { work } from './work.mjs'

const $ = (s) => document.querySelector(s)
const root = document.documentElement
const element = $('#chart')
const library = globalThis.LightweightCharts
const lengths = { m: 60, h: 3600, d: 86400, w: 604800, M: 2592000 }
// Numbers and times are written as on the page around the chart.
const separators = { de: ['.', ','], fr: ['\u202f', ','] }[document.body.dataset.numbers] ?? [',', '.']
Object.assign(style, { group: separators[0], point: separators[1], zone: element?.dataset.zone || 'UTC' })
const clock = (seconds) => `${new Date(wall(seconds) * 1000).toISOString().slice(11, 19)} ${zoneName(seconds)}`
let view = null
let series = null
let timer = 0
let last = 0

const theme = () => {
  const name = root.dataset.theme === 'light' ? 'light' : 'dark'
  const css = getComputedStyle(root)
  const own = { background: css.getPropertyValue('--bg').trim(), up: css.getPropertyValue('--up').trim(), down: css.getPropertyValue('--down').trim() }
  for (const key of Object.keys(own)) if (!/^#[0-9a-f]{6}$/i.test(own[key])) delete own[key]
  return [name, own]
}

const read = async (more) => {
  const answer = await fetch('/console/chart.json?' + new URLSearchParams([...new URLSearchParams(element.dataset.query), ...Object.entries(more)]))
  const data = await answer.json()
  if (!answer.ok) throw new Error(data.message)
  return data
}

const say = (text, bad = false) => {
  $('#c-note').textContent = text
  $('#c-note').classList.toggle('bad', bad)
}

const speak = (text) => { $('#c-spoken').textContent = text }

const showLast = () => {
  const bar = series.bars.at(-1)
  $('#c-last').textContent = number(bar.c, priceDigits(series.bars))
  const day = $('#c-day'), before = Number(day.dataset.before)
  if (!(before > 0)) return
  const change = (bar.c / before - 1) * 100
  day.textContent = percent(change)
  day.className = change > 0 ? 'up' : change < 0 ? 'down' : ''
}

// A click offers an alert at that price; its form asks before anything is set.
const pick = ({ price }) => {
  const link = $('#c-alert')
  if (!link) return
  const to = new URL(link.href)
  to.searchParams.set('price', price)
  link.href = to.pathname + to.search
  link.click()
  to.searchParams.delete('price')
  link.href = to.pathname + to.search
}

const draw = (now) => {
  series = now
  $('#picture').hidden = true
  element.hidden = false
  for (const s of ['#credit', '.layers']) $(s).hidden = false
  const first = !view
  view ??= new View(element, library, 'dark', { pick, describe: speak })
  view.setTheme(...theme())
  view.setSeries(series)
  if (first && view.addOverlay && series.source !== 'sample') work(view, { symbol: element.dataset.symbol, say, speak })
  element.setAttribute('aria-label', `${series.bars.length} bars. ${describe(series, series.bars.length - 1)}. Arrow keys move over the bars, Enter picks a price.`)
  showLast()
  say(view.left.length ? `Not drawn, because there are too many panes: ${view.left.join(', ')}.` : series.source === 'sample' ? 'Sample data, not a real market.' : '')
}

const levels = async () => {
  if (!view || series.source === 'sample') return
  const now = await read({ format: 'summary' }).catch(() => null)
  if (now) view.setLevels(now, new Set([...document.querySelectorAll('[data-asks]')].map((e) => e.dataset.asks)))
}

// follow reads the newest bars, a quarter of an interval apart, 2 to 15 s.
const follow = async () => {
  clearTimeout(timer)
  if (document.hidden || !view || series.source === 'sample') return
  const [, count, unit] = /^(\d+)([mhdwM])$/.exec(series.interval)
  timer = setTimeout(follow, Math.min(15, Math.max(2, (count * lengths[unit]) / 4)) * 1000)
  last = Date.now()
  try {
    const newer = await read({ bars: 3 })
    if (!view.update(newer)) draw(await read({}))
    showLast()
    say(newer.stale ? `${newer.provider} does not answer; these prices are of ${clock(Date.parse(newer.as_of) / 1000)}.` : '', newer.stale)
  } catch (error) {
    say(`No new prices since ${clock(last / 1000)}: ${error.message}`, true)
  }
}

const start = async () => {
  try {
    await Promise.all([document.fonts.load('12px Roboto'), document.fonts.load('500 12px Roboto')]).catch(() => {}) // a canvas does not wait for it
    draw(await read({}))
  } catch (error) {
    say(error.message, true)
    return
  }
  await levels()
  follow()
}

document.addEventListener('themechange', () => view?.setTheme(...theme()))
document.addEventListener('refreshed', levels)
document.addEventListener('visibilitychange', follow)
document.addEventListener('price', (e) => {
  if (element.dataset.symbol.endsWith(e.detail.symbol.split(':').at(-1)) && Date.now() - last > 1000) follow()
})
// The indicators are searched by their names and by what they show.
const finder = $('#c-find')
if (finder) {
  const choices = [...document.querySelectorAll('.boxes .ind')]
  $('[data-find]').hidden = false
  finder.addEventListener('input', () => {
    const words = finder.value.toLowerCase().split(/[\s_]+/).filter(Boolean)
    for (const c of choices) c.hidden = !words.every((w) => c.textContent.toLowerCase().includes(w) || c.querySelector('input').value.includes(w))
    for (const g of document.querySelectorAll('.boxes [role=group]')) g.hidden = !g.querySelector('.ind:not([hidden])')
    $('#c-found').textContent = words.length ? `${choices.filter((c) => !c.hidden).length} of ${choices.length}` : ''
  })
  finder.addEventListener('keydown', (e) => {
    if (e.key !== 'Enter') return
    e.preventDefault() // the best match is added, not the form sent
    const first = choices.find((c) => !c.hidden && finder.value)
    if (first) first.querySelector('input').click()
  })
}
// A symbol that is chosen from the list is shown at once.
$('#c-symbol')?.addEventListener('change', (e) => e.target.form.requestSubmit())
if (library) $('.cform > button').hidden = true
for (const button of document.querySelectorAll('[data-layer]')) {
  button.addEventListener('click', () => {
    const on = button.getAttribute('aria-pressed') !== 'true'
    button.setAttribute('aria-pressed', on)
    view?.setLayer(button.dataset.layer, on)
  })
}
document.addEventListener('keydown', (e) => {
  if (document.body.dataset.keys === 'off' || e.ctrlKey || e.metaKey || e.altKey || /INPUT|SELECT/.test(e.target.nodeName) || document.querySelector('dialog[open]')) return
  const links = [...document.querySelectorAll('.cbar nav a')]
  if (e.key === 'f') $('[data-layer=fills]')?.click()
  else if (e.key >= '1' && e.key <= '5' && links[e.key - 1]) location.href = links[e.key - 1].href
  else if ((e.key === '+' || e.key === '-') && e.target !== element) view?.zoom(e.key === '+' ? 0.8 : 1.25)
})
if (library && element) start()
