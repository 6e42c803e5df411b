// The server renders every page. This adds what a page without script cannot do: live numbers,
// dialogs, keys and filters.
const $ = (s, e = document) => e.querySelector(s)
const $$ = (s, e = document) => [...e.querySelectorAll(s)]
const root = document.documentElement
const body = document.body

// Details of the light theme need to know it.
const light = matchMedia('(prefers-color-scheme: light)')
if (!root.dataset.theme) {
  const follow = () => { root.dataset.theme = light.matches ? 'light' : 'dark'; document.dispatchEvent(new Event('themechange')) }
  follow()
  light.addEventListener('change', follow)
  const button = $('form.look button')
  if (button) button.addEventListener('click', () => { button.value = root.dataset.theme === 'light' ? 'dark' : 'light' })
}

const toast = (text, to) => {
  const d = document.createElement(to ? 'a' : 'div')
  d.className = 'toast'
  d.textContent = text
  if (to) d.href = to
  $('.toasts').append(d)
  setTimeout(() => d.remove(), to ? 15000 : 6000)
}

// Dialogs. A link with data-ask leads to a page with a form; here its form opens as a dialog.
const open = (id) => { const d = document.getElementById(id); if (d && !d.open) d.showModal() }
const askHere = async (link) => {
  const answer = await fetch(link.href, { headers: { Accept: 'text/html' } }).catch(() => null)
  const form = answer?.ok && new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('#ask-form')
  if (!form) { location.href = link.href; return }
  const d = $('#asker')
  d.replaceChildren(form)
  d.setAttribute('aria-labelledby', 'ask-h')
  d.showModal()
}
document.addEventListener('click', (e) => {
  if (e.ctrlKey || e.metaKey || e.shiftKey || e.button) return
  const opener = e.target.closest('[data-open]')
  if (opener) { e.preventDefault(); $$('dialog[open]').forEach((d) => d.close()); open(opener.dataset.open); return }
  const closer = e.target.closest('dialog [data-close]')
  if (closer) { e.preventDefault(); closer.closest('dialog').close(); return }
  const asker = e.target.closest('a[data-ask]')
  if (asker) { e.preventDefault(); askHere(asker); return }
  const row = e.target.closest('tr[data-href]')
  if (row && !e.target.closest('a, button, input, form')) location.href = row.dataset.href
  if (e.target.nodeName === 'DIALOG') e.target.close()
})
// A halt that does not arrive says what to do instead.
const haltForm = $('#halt form')
haltForm?.addEventListener('submit', async (e) => {
  e.preventDefault()
  const answer = await fetch(haltForm.action, { method: 'POST', body: new URLSearchParams(new FormData(haltForm)) }).catch(() => null)
  if (answer?.ok) location.reload()
  else if (answer && answer.status < 500) haltForm.submit()
  else $('.offline', haltForm).hidden = false
})

// Keyboard. Single letters can be turned off in the settings.
let going = 0
let selected = -1
const typing = (e) => /INPUT|TEXTAREA|SELECT/.test(e.target.nodeName)
const keys = {
  g: () => { going = Date.now() },
  h: () => open('halt'),
  '?': () => open('help'),
  '/': () => $('[data-search]')?.focus(),
  j: () => pick(1),
  k: () => pick(-1),
  Enter: () => { const row = rows()[selected]; if (row?.dataset.href) location.href = row.dataset.href },
}
const rows = () => $$('tbody tr').filter((r) => r.offsetParent)
const pick = (by) => {
  const all = rows()
  if (!all.length) return
  selected = Math.max(0, Math.min(all.length - 1, selected + by))
  all.forEach((r, i) => r.classList.toggle('sel', i === selected))
  all[selected].scrollIntoView({ block: 'nearest' })
}
document.addEventListener('keydown', (e) => {
  if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') { e.preventDefault(); open('palette'); return }
  if (body.dataset.keys === 'off' || e.ctrlKey || e.metaKey || e.altKey || typing(e) || $('dialog[open]')) return
  if (going && Date.now() - going < 1200) {
    going = 0
    const to = $$('.side nav a').find((a) => a.dataset.key === e.key)
    if (to) location.href = to.href
    return
  }
  if (e.key === 'Enter' && e.target.closest('a, button')) return
  if (keys[e.key]) { if (e.key !== 'Enter' || selected >= 0) e.preventDefault(); keys[e.key]() }
})
const palette = $('#palette')
if (palette) {
  const input = $('input', palette)
  const own = $('ul', palette)
  const said = $('[role=status]', palette)
  let at = 0
  let asked
  let waits
  // The list of the page is filtered here; that of the server takes its place.
  const items = () => $$('ul li:not(.gh)', palette).filter((l) => !l.hidden)
  const show = () => {
    const found = items()
    at = Math.max(0, Math.min(at, found.length - 1))
    found.forEach((l, i) => l.classList.toggle('sel', i === at))
    found[at]?.scrollIntoView({ block: 'nearest' })
    return found
  }
  const put = (list) => { $('ul', palette).replaceWith(list); at = 0; show() }
  const find = async (text) => {
    asked?.abort()
    asked = new AbortController()
    const answer = await fetch('/console/find?q=' + encodeURIComponent(text), { signal: asked.signal }).catch(() => null)
    if (!answer?.ok || answer.redirected) return
    const list = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('ul')
    if (!list || input.value !== text) return
    put(document.adoptNode(list))
    said.textContent = `${items().length} found`
  }
  const seek = () => {
    const text = input.value
    clearTimeout(waits)
    if (!text.trim()) asked?.abort()
    put(own)
    $$('li:not(.gh)', own).forEach((l) => { l.hidden = !l.textContent.toLowerCase().includes(text.toLowerCase()) })
    show()
    if (text.trim()) waits = setTimeout(() => find(text), 120)
  }
  input.addEventListener('input', seek)
  input.addEventListener('keydown', (e) => {
    if (e.key === 'ArrowDown') { at++; show(); e.preventDefault() } else if (e.key === 'ArrowUp') { at--; show(); e.preventDefault() } else if (e.key === 'Enter') { e.preventDefault(); show()[at]?.querySelector('a').click() }
  })
  palette.addEventListener('close', () => { input.value = ''; seek() })
  palette.addEventListener('click', (e) => { if (e.target.closest('a[data-ask]')) palette.close() })
  show()
  $('.search').hidden = false
}

// Countdowns.
const count = () => $$('[data-until]').forEach((e) => {
  const n = Math.max(0, Math.round(e.dataset.until - Date.now() / 1000))
  if (n < 3600) e.textContent = `${Math.floor(n / 60)}:${String(n % 60).padStart(2, '0')}`
})
if ($('[data-until]') || body.dataset.live) setInterval(count, 1000)

// Live. One stream for a visible page, closed while it is hidden. A price patches a number, a notice
// is shown for a while, and a change names a topic: the parts of this page are fetched again.
const marks = { en: [',', '.'], de: ['.', ','], fr: ['\u202f', ','] }[body.dataset.numbers] || [',', '.']
const grouped = (text) => {
  const [whole, fraction] = text.split('.')
  return whole.replace(/\B(?=(\d{3})+$)/g, marks[0]) + (fraction ? marks[1] + fraction : '')
}
const topics = new Set((body.dataset.live || '').split(' ').filter(Boolean))
let source
let heard = 0
let refreshing = 0
const fresh = (clock) => {
  heard = Date.now()
  if (!$('#feed')) return
  $('#feed').hidden = false
  $('#fresh').textContent = 'Updated'
  if (clock) $('#clock').textContent = clock
  body.classList.remove('quiet')
  const band = $('#quiet .t')
  if (band) band.hidden = true
}
const refresh = async () => {
  if (refreshing) { refreshing = 2; return }
  refreshing = 1
  const answer = await fetch(location.href, { headers: { Accept: 'text/html' } }).catch(() => null)
  if (answer?.ok && !answer.redirected) {
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    for (const part of $$('[data-part]')) {
      const now = page.querySelector(`[data-part="${part.dataset.part}"]`)
      if (now && now.innerHTML !== part.innerHTML && !part.contains(document.activeElement)) part.replaceWith(document.adoptNode(now))
    }
    const halted = page.body.classList.contains('halted')
    if (halted !== body.classList.contains('halted')) toast(halted ? 'Trading is halted.' : 'Trading is active.')
    body.classList.toggle('halted', halted)
    document.dispatchEvent(new Event('refreshed'))
  } else if (answer?.redirected) location.reload()
  // What comes within the pause is not lost.
  setTimeout(() => { const again = refreshing === 2; refreshing = 0; if (again) refresh() }, 400)
}
// Something was done without leaving the page: its parts are fetched again.
document.addEventListener('acted', (e) => { if (e.detail) toast(e.detail); refresh() })
const connect = () => {
  if (source || !topics.size || document.hidden) return
  source = new EventSource('/console/events')
  source.addEventListener('beat', (e) => fresh(e.data))
  source.addEventListener('change', (e) => { fresh(); if (e.data === 'all' || topics.has(e.data)) refresh() })
  source.addEventListener('notice', (e) => { fresh(); const { text, to } = JSON.parse(e.data); toast(text, to) })
  source.addEventListener('price', (e) => {
    fresh()
    const [symbol, price] = JSON.parse(e.data)
    $$('[data-px]').filter((x) => x.dataset.px === symbol).forEach((x) => {
      const was = Number(x.dataset.last || x.textContent.replaceAll(marks[0], '').replace(marks[1], '.'))
      x.dataset.last = price
      x.textContent = grouped(price)
      x.classList.remove('flash-up', 'flash-down')
      void x.offsetWidth
      if (Number(price) !== was) x.classList.add(Number(price) > was ? 'flash-up' : 'flash-down')
    })
    document.dispatchEvent(new CustomEvent('price', { detail: { symbol, price } }))
  })
  source.addEventListener('end', () => location.reload())
}
document.addEventListener('visibilitychange', () => {
  if (document.hidden) { source?.close(); source = null } else { connect(); if (topics.size) refresh() }
})
connect()
if (topics.size) heard = Date.now() // the page itself is news
setInterval(() => {
  if (!heard || document.hidden || Date.now() - heard < 20000) return
  $('#fresh').textContent = 'No news since'
  body.classList.add('quiet')
  const band = $('#quiet .t')
  if (band?.hidden) {
    const zone = $('#clock').textContent ? $('#clock').textContent + ' ' + $('#feed').lastChild.textContent.trim() : new Date(heard).toLocaleTimeString([], { hour12: false })
    $('time', band).textContent = zone
    band.hidden = false
  }
  if (source?.readyState === 2) { source = null; connect() }
}, 2000)
