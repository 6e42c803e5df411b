package check

import "strings"

// ownLibrary returns the source of a library that candela has itself. Any version is
// answered: its functions have not changed their meaning.
func ownLibrary(user, name string) (string, bool) {
	if strings.EqualFold(user, "TradingView") && name == "ta" {
		return taLibrary, true
	}
	return "", false
}

// taLibrary has functions of the published library TradingView/ta, written for candela
// from their documented formulas.
const taLibrary = `//@version=6
library("ta")

export ao(series float source = hl2, simple int shortLength = 5, simple int longLength = 34) =>
    ta.sma(source, shortLength) - ta.sma(source, longLength)

export aroon(simple int length = 14) =>
    up = 100 * (ta.highestbars(high, length + 1) + length) / length
    down = 100 * (ta.lowestbars(low, length + 1) + length) / length
    [up, down]

export atr2(series float length) =>
    float result = na
    alpha = 1 / math.max(1, length)
    result := na(result[1]) ? ta.tr(true) : alpha * ta.tr(true) + (1 - alpha) * result[1]
    result

export cagr(series int entryTime, series float entryPrice, series int exitTime, series float exitPrice) =>
    years = (exitTime - entryTime) / 31556952000.0
    years > 0 ? (math.pow(exitPrice / entryPrice, 1 / years) - 1) * 100 : na

export changePercent(series float newValue, series float oldValue) =>
    (newValue - oldValue) / oldValue * 100

export coppock(series float source, simple int longLength = 14, simple int shortLength = 11, simple int smoothLength = 10) =>
    ta.wma(ta.roc(source, longLength) + ta.roc(source, shortLength), smoothLength)

export dema(series float source, simple int length) =>
    first = ta.ema(source, length)
    2 * first - ta.ema(first, length)

export ema2(series float src, series float length) =>
    float result = na
    alpha = 2 / (math.max(1, length) + 1)
    result := na(result[1]) ? src : alpha * src + (1 - alpha) * result[1]
    result

export rma2(series float src, series float length) =>
    float result = na
    alpha = 1 / math.max(1, length)
    result := na(result[1]) ? src : alpha * src + (1 - alpha) * result[1]
    result

export dema2(series float src, series float length) =>
    first = ema2(src, length)
    2 * first - ema2(first, length)

export dm(simple int length) =>
    up = math.max(high - high[1], 0)
    down = math.max(low[1] - low, 0)
    ups = ta.sma(up, length)
    downs = ta.sma(down, length)
    ups / (ups + downs)

export donchian(simple int length) =>
    up = ta.highest(high, length)
    down = ta.lowest(low, length)
    [up, down, (up + down) / 2]

export eom(simple int length = 14, simple int div = 10000) =>
    ta.sma(div * ta.change(hl2) * (high - low) / volume, length)

export frama(series float src, simple int length) =>
    half = int(length / 2)
    n1 = (ta.highest(high, half) - ta.lowest(low, half)) / half
    n2 = (ta.highest(high, half)[half] - ta.lowest(low, half)[half]) / half
    n3 = (ta.highest(high, length) - ta.lowest(low, length)) / length
    dimension = n1 > 0 and n2 > 0 and n3 > 0 ? (math.log(n1 + n2) - math.log(n3)) / math.log(2) : na
    alpha = math.min(math.max(math.exp(-4.6 * (dimension - 1)), 0.01), 1)
    float result = na
    result := na(result[1]) or na(alpha) ? src : alpha * src + (1 - alpha) * result[1]
    result

export ft(series float source, simple int length = 9) =>
    top = ta.highest(source, length)
    bottom = ta.lowest(source, length)
    float value = 0.0
    value := 0.66 * ((source - bottom) / (top - bottom) - 0.5) + 0.67 * nz(value[1])
    value := math.min(math.max(nz(value), -0.999), 0.999)
    float result = 0.0
    result := 0.5 * math.log((1 + value) / (1 - value)) + 0.5 * nz(result[1])
    result

export ift(series float source) =>
    grown = math.exp(2 * source)
    (grown - 1) / (grown + 1)

export highestSince(series bool cond, series float source = high) =>
    var float result = na
    result := cond or na(result) ? source : math.max(result, source)
    result

export lowestSince(series bool cond, series float source = low) =>
    var float result = na
    result := cond or na(result) ? source : math.min(result, source)
    result

export ichimoku(simple int conLength = 9, simple int baseLength = 26, simple int senkouLength = 52) =>
    conversion = math.avg(ta.highest(high, conLength), ta.lowest(low, conLength))
    base = math.avg(ta.highest(high, baseLength), ta.lowest(low, baseLength))
    spanA = math.avg(conversion, base)
    spanB = math.avg(ta.highest(high, senkouLength), ta.lowest(low, senkouLength))
    [conversion, base, spanA, spanB, close]

export rangePercent(series float source, simple int length) =>
    (source - ta.lowest(source, length)) / (ta.highest(source, length) - ta.lowest(source, length)) * 100

export relativeVolume(simple int length = 5) =>
    volume / ta.sma(volume, length)

export rms(series float source, simple int length) =>
    math.sqrt(math.sum(math.pow(source, 2), length) / length)

export rwi(simple int length) =>
    spread = ta.atr(length) * math.sqrt(length)
    [(high - low[length]) / spread, (high[length] - low) / spread]

export smma(series float source, simple int length) =>
    ta.rma(source, length)

export stochFull(simple int periodK, simple int smoothK, simple int periodD) =>
    k = ta.sma(ta.stoch(close, high, low, periodK), smoothK)
    [k, ta.sma(k, periodD)]

export stochRsi(series float source, simple int lengthRsi, simple int periodK, simple int smoothK, simple int periodD) =>
    r = ta.rsi(source, lengthRsi)
    k = ta.sma(ta.stoch(r, r, r, periodK), smoothK)
    [k, ta.sma(k, periodD)]

export stc(series float source, simple int fast, simple int slow, simple int cycle, simple int d1, simple int d2) =>
    m = ta.ema(source, fast) - ta.ema(source, slow)
    k = nz(fixnan(ta.stoch(m, m, m, cycle)))
    d = ta.ema(k, d1)
    kd = nz(fixnan(ta.stoch(d, d, d, cycle)))
    math.max(math.min(ta.ema(kd, d2), 100), 0)

trendOf(series float offset, simple bool wicks) =>
    above = wicks ? high : close
    below = wicks ? low : close
    float upper = na
    float lower = na
    int direction = na
    float result = na
    upper := hl2 + offset
    lower := hl2 - offset
    upper := upper < nz(upper[1], upper) or above[1] > nz(upper[1], upper) ? upper : upper[1]
    lower := lower > nz(lower[1], lower) or below[1] < nz(lower[1], lower) ? lower : lower[1]
    if na(offset[1])
        direction := 1
    else if result[1] == upper[1]
        direction := above > upper ? -1 : 1
    else
        direction := below < lower ? 1 : -1
    result := direction == -1 ? lower : upper
    [result, direction]

export supertrend(series float factor, simple int atrLength, simple bool wicks = false) =>
    trendOf(ta.atr(atrLength) * factor, wicks)

export supertrend2(series float factor, series float atrLength, simple bool wicks = false) =>
    trendOf(atr2(atrLength) * factor, wicks)

export t3(series float source, simple int length, simple float vf = 0.7) =>
    e1 = ta.ema(source, length)
    e2 = ta.ema(e1, length)
    e3 = ta.ema(e2, length)
    e4 = ta.ema(e3, length)
    e5 = ta.ema(e4, length)
    e6 = ta.ema(e5, length)
    c1 = -vf * vf * vf
    c2 = 3 * vf * vf + 3 * vf * vf * vf
    c3 = -6 * vf * vf - 3 * vf - 3 * vf * vf * vf
    c4 = 1 + 3 * vf + vf * vf * vf + 3 * vf * vf
    c1 * e6 + c2 * e5 + c3 * e4 + c4 * e3

export tema(series float source, simple int length) =>
    e1 = ta.ema(source, length)
    e2 = ta.ema(e1, length)
    e3 = ta.ema(e2, length)
    3 * (e1 - e2) + e3

export tema2(series float src, series float length) =>
    e1 = ema2(src, length)
    e2 = ema2(e1, length)
    e3 = ema2(e2, length)
    3 * (e1 - e2) + e3

export trima(series float source, simple int length) =>
    ta.sma(ta.sma(source, math.ceil(length / 2)), math.floor(length / 2) + 1)

export trix(series float source, simple int length, simple int signalLength, simple bool exponential = true) =>
    line1 = 10000 * ta.change(ta.ema(ta.ema(ta.ema(math.log(source), length), length), length))
    signal = exponential ? ta.ema(line1, signalLength) : ta.sma(line1, signalLength)
    [line1, signal, line1 - signal]

export uo(simple int fast = 7, simple int mid = 14, simple int slow = 28) =>
    bottom = math.min(low, nz(close[1], low))
    top = math.max(high, nz(close[1], high))
    pressure = close - bottom
    spread = top - bottom
    a = math.sum(pressure, fast) / math.sum(spread, fast)
    b = math.sum(pressure, mid) / math.sum(spread, mid)
    c = math.sum(pressure, slow) / math.sum(spread, slow)
    100 * (4 * a + 2 * b + c) / 7

export vhf(series float source, simple int length) =>
    math.abs(ta.highest(source, length) - ta.lowest(source, length)) / math.sum(math.abs(ta.change(source)), length)

export vi(simple int length = 14) =>
    total = math.sum(ta.tr(true), length)
    [math.sum(math.abs(high - low[1]), length) / total, math.sum(math.abs(low - high[1]), length) / total]

stopOf(series float source, series float wanted) =>
    var bool up = true
    var float top = source
    var float bottom = source
    var float stop = 0.0
    distance = nz(wanted, ta.tr(true))
    top := math.max(top, source)
    bottom := math.min(bottom, source)
    stop := nz(up ? math.max(stop, top - distance) : math.min(stop, bottom + distance), source)
    was = up
    up := source - stop >= 0.0
    if up != was
        top := source
        bottom := source
        stop := up ? top - distance : bottom + distance
    [stop, up]

export vStop(series float source, simple int atrLength, simple float atrFactor) =>
    stopOf(source, ta.atr(atrLength) * atrFactor)

export vStop2(series float source, series float atrLength, series float atrFactor) =>
    stopOf(source, atr2(atrLength) * atrFactor)

export vzo(simple int length = 14) =>
    100 * ta.ema(math.sign(ta.change(close)) * volume, length) / ta.ema(volume, length)

export szo(series float source, simple int length = 14) =>
    100 * tema(math.sign(ta.change(source)), length) / length

export pzo(simple int length = 14) =>
    100 * ta.ema(math.sign(ta.change(close)) * close, length) / ta.ema(close, length)

export kvo(simple int fast = 34, simple int slow = 55, simple int signalLength = 13) =>
    force = ta.change(hlc3) >= 0 ? volume : -volume
    line1 = ta.ema(force, fast) - ta.ema(force, slow)
    [line1, ta.ema(line1, signalLength)]

export williamsFractal(simple int period = 2) =>
    [not na(ta.pivothigh(high, period, period)), not na(ta.pivotlow(low, period, period))]

export requestUpAndDownVolume(simple string lowerTimeframe) =>
    parts = request.security_lower_tf(syminfo.tickerid, lowerTimeframe, close > open ? volume : close < open ? -volume : close >= close[1] ? volume : -volume)
    up = 0.0
    down = 0.0
    for v in parts
        up += v > 0 ? v : 0
        down += v < 0 ? v : 0
    [up, down, up + down]

export requestVolumeDelta(simple string lowerTimeframe, string cumulationPeriod = "") =>
    parts = request.security_lower_tf(syminfo.tickerid, lowerTimeframe, close > open ? volume : close < open ? -volume : close >= close[1] ? volume : -volume)
    var float begin = 0.0
    var float total = 0.0
    fresh = cumulationPeriod == "" or timeframe.change(cumulationPeriod)
    begin := fresh ? 0.0 : total
    total := begin
    top = begin
    bottom = begin
    for v in parts
        total += v
        top := math.max(top, total)
        bottom := math.min(bottom, total)
    [begin, top, bottom, total]
`
