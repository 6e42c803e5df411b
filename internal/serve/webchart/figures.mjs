// Colours, and how figures are written.

// style is how figures and times are written: the separators of numbers, and a time zone by
// its name. A page sets it before it draws.
export const style = { group: ',', point: '.', zone: 'UTC' }

// number writes a value as the server's pictures do: grouped, with the true minus sign.
export function number(value, digits) {
  if (value === null || value === undefined || !Number.isFinite(value)) return 'n/a'
  const plain = even(Math.abs(value), digits).toFixed(digits), [whole, rest] = plain.split('.')
  const text = whole.replace(/\B(?=(\d{3})+$)/g, style.group) + (rest ? style.point + rest : '')
  return value < 0 && Number(plain) !== 0 ? '\u2212' + text : text
}

// even rounds a value that lies exactly between two others to the even one, as the pictures do.
function even(value, digits) {
  const scaled = value * 10 ** digits, whole = Math.floor(scaled)
  if (scaled - whole !== 0.5 || !Number.isInteger(value * 2 ** (digits + 1))) return value
  return (whole % 2 ? whole + 1 : whole) / 10 ** digits
}

// write writes a value as a pane of the picture does: with fixed decimals, compact as 1.38K, or with an exponent.
export function write(digits, value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return 'n/a'
  if (value === 0 && digits.zero) return '0'
  if (digits.style === 'compact') return compacted(value)
  if (digits.style === 'expo') return exponent(value, digits.decimals, false)
  return number(value, digits.decimals)
}

const trimmed = (text) => (text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text)

function compacted(value) {
  let size = Math.abs(value), unit = 0
  for (; size >= 999.5 && unit < 4; unit++) size /= 1000
  if (size >= 999.5) return exponent(value, 2, true)
  const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, text = even(size, digits).toFixed(digits)
  return (value < 0 ? '\u2212' : '') + (unit ? text : trimmed(text)).replace('.', style.point) + ' KMBT'[unit].trim()
}

function exponent(value, decimals, round) {
  if (value === 0) return '0'
  const [mantissa, power] = Math.abs(value).toExponential(decimals).split('e')
  return (value < 0 ? '\u2212' : '') + (round ? trimmed(mantissa) : mantissa).replace('.', style.point) + 'e' + power.replace('+', '').replace('-', '\u2212')
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

// The library has no time zones: a bar stands where the clocks of the zone stood. Bars of days
// and more have dates.
export const dated = (series) => /[dwM]$/.test(series.interval)

// timesOf returns a time for each bar, ascending also where clocks are set back. Sample bars
// have none; they stand a day apart, and the axis shows their numbers.
export function timesOf(series) {
  let last = -Infinity
  return series.bars.map((b, i) => {
    if (b.t === null) return i * 86400
    last = Math.max(last + 1, dated(series) ? b.t : wall(b.t))
    return last
  })
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

// alpha returns a colour with an opacity.
export function alpha(color, opacity) {
  return color.slice(0, 7) + Math.round(opacity * 255).toString(16).padStart(2, '0')
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
  for (const plot of series.look?.plots ?? []) {
    const of = resultOf(series, plot)
    for (const e of plot.legend ?? []) {
      if (e.of === 'line') parts.push(`${plot.title}${e.name ? ' ' + e.name : ''} ${write(plot.digits, of.lines[e.at].values[i])}`)
    }
  }
  return parts.join(', ')
}

// resultOf returns the values that a plot of the look is of.
export function resultOf(series, plot) {
  const of = series.indicators[plot.key] ?? {}
  return plot.over ? of.over_price ?? {} : of
}

// decimals is how many decimals an amount is written with.
export function decimals(amount) { return (String(amount).split('.')[1] ?? '').length }
