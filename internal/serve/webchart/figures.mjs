// Colours, and how figures are written.

// The colours are those of lib/chart, whose test compares them.
export const themes = {
  dark: {
    background: '#131722', grid: '#1E2330', border: '#2E3442', text: '#B2B5BE', strong: '#E6E8EE', muted: '#868B98',
    up: '#26A69A', down: '#EF5350', histogram: ['#26A69A', '#1B635F', '#EF5350', '#84383B'], warn: '#F2C94C', volume: 0.34,
    cycle: ['#FFD93B', '#FE790C', '#64C6FA', '#B66EFF', '#70FFED', '#FFBDE5', '#70E83C', '#8F7F68'],
  },
  light: {
    background: '#FFFFFF', grid: '#F0F2F6', border: '#D9DDE5', text: '#434651', strong: '#131722', muted: '#6E717C',
    up: '#089981', down: '#F23645', histogram: ['#26A69A', '#B2DFDB', '#F05350', '#FBC9CC'], warn: '#A66200', volume: 0.30,
    cycle: ['#AF8D29', '#BF5002', '#316EF9', '#8A2B9E', '#057D8D', '#EB5399', '#3A8F0A', '#4E2E11'],
  },
}

// style is how figures and times are written: the separators of numbers, and a time zone by
// its name. A page sets it before it draws.
export const style = { group: ',', point: '.', zone: 'UTC' }

// number writes a value as the server's pictures do: grouped, with the true minus sign.
export function number(value, digits) {
  if (value === null || value === undefined || !Number.isFinite(value)) return 'n/a'
  const plain = Math.abs(value).toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  const text = plain.replaceAll(/[,.]/g, (sign) => (sign === ',' ? style.group : style.point))
  return value < 0 && Number(plain.replaceAll(',', '')) !== 0 ? '\u2212' + text : text
}

// percent writes a change with its sign.
export function percent(value) {
  return `${value > 0 ? '+' : ''}${number(value, 2)}\u202f%`
}

// wall returns a time as the clocks of the time zone show it, in seconds as if it were UTC.
export function wall(seconds) {
  if (style.zone === 'UTC') return seconds
  const parts = {}
  for (const { type, value } of clock().formatToParts(seconds * 1000)) parts[type] = Number(value)
  return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second) / 1000
}

let clocks = null // of the zone that was used last
function clock() {
  if (clocks?.zone !== style.zone) {
    clocks = {
      zone: style.zone,
      format: new Intl.DateTimeFormat('en-US', { timeZone: style.zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' }),
      name: new Intl.DateTimeFormat('en-GB', { timeZone: style.zone, timeZoneName: 'short' }),
    }
  }
  return clocks.format
}

// zoneName returns the short name of the time zone at a time, such as UTC or GMT+1.
export function zoneName(seconds) {
  if (style.zone === 'UTC') return 'UTC'
  clock()
  return clocks.name.formatToParts(seconds * 1000).find((p) => p.type === 'timeZoneName').value
}

// priceDigits is how many decimals the prices of the newest bars have.
export function priceDigits(bars) {
  let digits = 0
  for (const b of bars.slice(-60)) {
    for (const v of [b.o, b.h, b.l, b.c]) {
      const text = String(v)
      const point = text.indexOf('.')
      if (point >= 0 && !text.includes('e')) digits = Math.max(digits, text.length - point - 1)
    }
  }
  return Math.min(digits, 8)
}

// digitsFor is how many decimals a value outside the price needs to show four figures.
export function digitsFor(values) {
  let most = 0
  for (const v of values) if (v !== null) most = Math.max(most, Math.abs(v))
  if (most === 0 || most >= 1) return 2
  return Math.min(8, 3 - Math.floor(Math.log10(most)))
}

// alpha returns a colour with an opacity.
export function alpha(color, opacity) {
  return color + Math.round(opacity * 255).toString(16).padStart(2, '0')
}

// when writes the time of a bar, or its number for sample data.
export function when(series, i) {
  const t = series.bars[i].t
  if (t === null) return '#' + i
  const text = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ')
  return /[dwM]$/.test(series.interval) ? text(t).slice(0, 10) : `${text(wall(t))} ${zoneName(t)}`
}

// describe says in words what a bar is.
export function describe(series, i, digits = priceDigits(series.bars)) {
  const b = series.bars[i]
  const parts = [`${series.symbol} ${series.interval} ${when(series, i)}: open ${number(b.o, digits)}, high ${number(b.h, digits)}, low ${number(b.l, digits)}, close ${number(b.c, digits)}`]
  for (const ind of Object.values(series.indicators)) {
    for (const l of ind.lines ?? []) parts.push(`${l.label || ind.label} ${number(l.values[i], ind.is_overlay ? digits : 2)}`)
  }
  return parts.join(', ')
}

// decimals is how many decimals an amount is written with.
export function decimals(amount) { return (String(amount).split('.')[1] ?? '').length }

// fixedRange reports whether the range of a pane is more than that of all its values, as it is
// for an oscillator between 0 and 100.
export function fixedRange(ind) {
  const values = (ind.lines ?? []).concat(ind.histogram ?? []).flatMap((l) => l.values).filter((v) => v !== null)
  return ind.y_range[0] !== values.reduce((a, b) => Math.min(a, b), Infinity) || ind.y_range[1] !== values.reduce((a, b) => Math.max(a, b), -Infinity)
}

// withRange widens the range of the values to the one that the server names for the pane.
export function withRange(own, range) {
  if (!own?.priceRange) return { priceRange: { minValue: range[0], maxValue: range[1] } }
  return { ...own, priceRange: { minValue: Math.min(own.priceRange.minValue, range[0]), maxValue: Math.max(own.priceRange.maxValue, range[1]) } }
}
