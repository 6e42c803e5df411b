// What the account has on a chart: the position, orders, alerts and fills, and the labels of the price axis.
import { decimals, number } from './figures.mjs'
import { disc, paintLine } from './paint.mjs'

export const pitch = 19 // pixels between two labels of an axis
const reach = 12 // pixels that a label may stand from its value
const room = 45 // pixels of an axis for each label

// levelsOf returns the prices that a summary has: the position, open orders and alerts. hidden has the layers that
// are off, asks the ids of orders that need approval.
export function levelsOf(summary, hidden, asks, theme) {
  const all = [], dash = [4, 4], word = (side) => (side === 'sell' ? 'Sell' : 'Buy')
  const add = (price, level) => { if (Number.isFinite(price)) all.push({ price, ...level }) }
  const p = summary.position
  if (p) add(p.entry_price, { kind: 'position', many: 'positions', color: theme.strong, title: `${p.side === 'sell' ? 'Short' : 'Long'} ${number(p.quantity, decimals(p.quantity))}` })
  for (const o of hidden.has('orders') ? [] : summary.open_orders ?? []) {
    const waits = asks?.has(o.order_id), size = number(o.quantity, decimals(o.quantity))
    if (o.price) add(o.price, { kind: 'order', many: 'orders', id: o.order_id, dash, color: waits ? theme.warn : o.side === 'sell' ? theme.down : theme.up, title: waits ? `Asks: ${o.side} ${size}` : `${word(o.side)} ${size}` })
  }
  for (const a of hidden.has('alerts') ? [] : summary.alerts ?? []) {
    add(a.price_above ?? a.price_below ?? a.price_crosses, { kind: 'alert', many: 'alerts', id: a.alert_id, dash, color: theme.warn, title: 'Alert' })
  }
  return all
}

// grouped joins levels of a kind and colour whose labels would cover each other, and the nearest ones while there are
// more than the axis has room for. y returns where a price stands.
export function grouped(levels, y, height) {
  const groups = levels.map((l) => ({ levels: [l], at: y(l.price), kind: l.kind, color: l.color })).filter((g) => g.at !== null && g.at >= 0 && g.at <= height)
  groups.sort((a, b) => a.at - b.at)
  const most = Math.max(2, Math.floor(height / room / 2))
  for (;;) {
    let best = -1, least = Infinity
    for (let i = 1; i < groups.length; i++) {
      const away = groups[i].at - groups[i - 1].at
      if (groups[i].kind === groups[i - 1].kind && groups[i].color === groups[i - 1].color && away < least) { best = i; least = away }
    }
    if (best < 0 || (least >= pitch && groups.length <= most)) break
    const [more] = groups.splice(best, 1), into = groups[best - 1]
    into.at = (into.at * into.levels.length + more.at * more.levels.length) / (into.levels.length + more.levels.length)
    into.levels.push(...more.levels)
  }
  for (const g of groups) {
    const prices = g.levels.map((l) => l.price)
    g.low = Math.min(...prices)
    g.high = Math.max(...prices)
    g.title = g.levels.length === 1 ? g.levels[0].title : `${g.levels.length} ${g.levels[0].many}`
  }
  return groups
}

// paintAccount draws the lines of levels, and the names of their groups at the right edge.
export function paintAccount(ctx, at, levels, groups, theme, text) {
  for (const l of levels) {
    const y = at.y(l.price)
    if (y !== null) paintLine(ctx, 0, Math.round(y) + 0.5, at.width, Math.round(y) + 0.5, l.color, 1, l.dash)
  }
  ctx.font = '12px Roboto, system-ui, sans-serif'
  const narrow = at.width < 480
  let last = -Infinity
  for (const g of groups) {
    let title = narrow && g.levels.length === 1 ? g.title.split(' ')[0] : g.title
    if (g.levels.length > 1 && g.low !== g.high && !narrow) title += `, ${text(g.low)} to ${text(g.high)}`
    const wide = ctx.measureText(title).width + 12, top = Math.max(Math.round(g.at) - 8, last + 2), left = at.width - wide - 6
    last = top + 17
    ctx.setLineDash([])
    ctx.fillStyle = theme.background
    ctx.strokeStyle = g.color
    ctx.lineWidth = 1
    ctx.beginPath()
    ctx.roundRect(left + 0.5, top + 0.5, wide, 16, 3)
    ctx.fill()
    ctx.stroke()
    ctx.fillStyle = theme.text
    ctx.fillText(title, left + 6.5, top + 12.5)
  }
}

// paintFills draws what was bought and sold as dots at its bar and price. bar returns the bar of a time.
export function paintFills(ctx, at, fills, bar, theme) {
  for (const f of fills) {
    const i = bar(Date.parse(f.date) / 1000), y = i < 0 ? null : at.y(f.price)
    if (y !== null) disc(ctx, at.x(i), y, 4.2, f.side === 'sell' ? theme.down : theme.up, 6, theme.background)
  }
}

// spread returns the labels of an axis that have room, the most important first, each as an axis view of the library.
export function spread(tags, y, height) {
  const placed = []
  for (const tag of tags.toSorted((a, b) => a.rank - b.rank)) {
    let at = tag.at ?? y(tag.value)
    if (at === null || at < 0 || at > height) continue
    if (tag.guide) at = Math.min(Math.max(at, 7), height - 7)
    const free = (y) => placed.every((p) => Math.abs(p.at - y) >= (tag.guide ? 13 : pitch))
    if (tag.guide ? !free(at) : tag.rank > 1 && !tag.below && placed.length > height / room) continue
    if (tag.below && !free(at)) continue
    if (tag.rank > 0 && !tag.guide && !tag.below) {
      const away = tag.rank === 1 ? 3 * reach : reach, nearest = Array.from({ length: 2 * away + 1 }, (_, k) => at + (k % 2 ? 1 : -1) * Math.ceil(k / 2)).find(free)
      if (nearest === undefined) continue
      at = nearest
    }
    placed.push({ ...tag, at })
  }
  return placed.map((p) => ({
    coordinate: () => p.at, text: () => p.text, textColor: () => p.ground, backColor: () => p.color, visible: () => true, tickVisible: () => false,
  }))
}
