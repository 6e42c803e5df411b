package check

import "strings"

// ownLibrary returns the source of a library that candela has itself. Any version is answered: of its functions one has
// changed its meaning, the channel of Donchian, which gave its middle alone before version 7.
func ownLibrary(user, name string, version int) (string, bool) {
	if !strings.EqualFold(user, "TradingView") || name != "ta" {
		return "", false
	}
	if version < 7 {
		return strings.Replace(taLibrary, "    [up, down, (up + down) / 2]\n", "    (up + down) / 2\n", 1), true
	}
	return taLibrary, true
}

// taLibrary has functions of the published library TradingView/ta, written for candela
// from their documented formulas.
const taLibrary = `//@version=6
library("ta")

// An exponential mean whose factor may change from bar to bar; it begins with the first value.
meanBy(series float source, series float factor) =>
    float result = na
    result := factor * source + (1.0 - factor) * nz(result[1], source)
    result

export ao(series float source = hl2, simple int shortLength = 5, simple int longLength = 34) =>
    ta.sma(source, shortLength) - ta.sma(source, longLength)

export aroon(simple int length = 14) =>
    up = 100 * (ta.highestbars(high, length + 1) + length) / length
    down = 100 * (ta.lowestbars(low, length + 1) + length) / length
    [up, down]

export allTimeHigh(series float src = high) =>
    var float top = na
    top := math.max(nz(top, src), nz(src, top))
    top

export allTimeLow(series float src = low) =>
    var float bottom = na
    bottom := math.min(nz(bottom, src), nz(src, bottom))
    bottom

export atr2(series float length) =>
    meanBy(ta.tr(true), 1.0 / math.max(1, length))

export cagr(series int entryTime, series float entryPrice, series int exitTime, series float exitPrice) =>
    days = (exitTime - entryTime) / 86400000.0
    days >= 1 ? 100 * (math.pow(exitPrice / entryPrice, 365.0 / days) - 1) : na

export chandelier(series int length, simple int atrLength, series float mult) =>
    distance = ta.atr(atrLength) * mult
    [ta.highest(high, length) - distance, ta.lowest(low, length) + distance]

export chandelier2(series int length, series float atrLength, series float mult) =>
    distance = atr2(atrLength) * mult
    [ta.highest(high, length) - distance, ta.lowest(low, length) + distance]

export changePercent(series float newValue, series float oldValue) =>
    (newValue - oldValue) / oldValue * 100

export coppock(series float source, simple int longLength = 14, simple int shortLength = 11, simple int smoothLength = 10) =>
    ta.wma(ta.roc(source, longLength) + ta.roc(source, shortLength), smoothLength)

export dema(series float source, simple int length) =>
    first = ta.ema(source, length)
    2 * first - ta.ema(first, length)

export ema2(series float source, series float length) =>
    meanBy(source, 2.0 / (math.max(1, length) + 1))

export rma2(series float source, series float length) =>
    meanBy(source, 1.0 / math.max(1, length))

export dema2(series float source, series float length) =>
    first = ema2(source, length)
    2 * first - ema2(first, length)

export dm(simple int length) =>
    up = math.max(high - high[1], 0)
    down = math.max(low[1] - low, 0)
    ups = ta.sma(up, length)
    downs = ta.sma(down, length)
    ups / (ups + downs)

export donchian(series int length) =>
    up = ta.highest(high, length)
    down = ta.lowest(low, length)
    [up, down, (up + down) / 2]

export eom(simple int length = 14, simple int div = 10000) =>
    ta.sma(div * ta.change(hl2) * (high - low) / volume, length)

export er(series float source, series int length) =>
    path = math.sum(math.abs(ta.change(source)), length)
    way = math.abs(source - source[length])
    path == 0.0 ? 0.0 : way / path

spanOf(series int length) =>
    ta.highest(high, length) - ta.lowest(low, length)

export frama(series float source, series int length) =>
    half = math.round(length / 2)
    inner = spanOf(half)
    newer = inner / half
    older = inner[half] / half
    whole = spanOf(length) / length
    dimension = math.log((newer + older) / whole) / math.log(2)
    meanBy(source, math.exp(-4.6 * (dimension - 1)))

export ft(series float source, simple int length = 9) =>
    top = ta.highest(source, length)
    bottom = ta.lowest(source, length)
    float place = na
    float result = na
    place := 0.66 * ((source - bottom) / (top - bottom) - 0.5) + 0.67 * nz(place[1])
    bounded = math.abs(place) > 0.99 ? 0.999 * math.sign(place) : place
    result := 0.5 * math.log((1 + bounded) / (1 - bounded)) + 0.5 * nz(result[1])
    result

export ht(series float source) =>
    0.0962 * source + 0.5769 * nz(source[2]) - 0.5769 * nz(source[4]) - 0.0962 * nz(source[6])

export ift(series float source) =>
    grown = math.exp(2 * source)
    (grown - 1) / (grown + 1)

export highestSince(series bool cond, series float source = high) =>
    var float result = na
    result := cond ? source : math.max(nz(source, result), nz(result, source))
    result

export lowestSince(series bool cond, series float source = low) =>
    var float result = na
    result := cond ? source : math.min(nz(source, result), nz(result, source))
    result

export ichimoku(series int conLength = 9, series int baseLength = 26, series int senkouLength = 52) =>
    conversion = math.avg(ta.highest(high, conLength), ta.lowest(low, conLength))
    base = math.avg(ta.highest(high, baseLength), ta.lowest(low, baseLength))
    spanA = math.avg(conversion, base)
    spanB = math.avg(ta.highest(high, senkouLength), ta.lowest(low, senkouLength))
    [conversion, base, spanA, spanB, close]

export kama(series float source, series int erLen, series float fastLen, series float slowLen) =>
    slowest = 2.0 / (slowLen + 1)
    meanBy(source, math.pow(slowest + er(source, erLen) * (2.0 / (fastLen + 1) - slowest), 2))

export kvo(simple int fastLen = 34, simple int slowLen = 55, simple int trigLen = 13) =>
    force = 100 * volume * math.sign(ta.change(hlc3))
    line1 = ta.ema(force, fastLen) - ta.ema(force, slowLen)
    [line1, ta.ema(line1, trigLen)]

export macd2(series float source, series float fastLen, series float slowLen, series float sigLen) =>
    line1 = ema2(source, fastLen) - ema2(source, slowLen)
    signal = ema2(line1, sigLen)
    [line1, signal, line1 - signal]

export pmo(series float source, series float length1, series float length2, series float sigLen) =>
    line1 = meanBy(10 * meanBy(ta.roc(source, 1), 2.0 / length1), 2.0 / length2)
    [line1, ema2(line1, sigLen)]

export ppo(series float source, simple int fastLen, simple int slowLen, simple int sigLen) =>
    line1 = changePercent(ta.ema(source, fastLen), ta.ema(source, slowLen))
    signal = ta.ema(line1, sigLen)
    [line1, signal, line1 - signal]

export ppo2(series float source, series float fastLen, series float slowLen, series float sigLen) =>
    line1 = changePercent(ema2(source, fastLen), ema2(source, slowLen))
    signal = ema2(line1, sigLen)
    [line1, signal, line1 - signal]

export rangePercent(series float source, simple int length) =>
    (source - ta.lowest(source, length)) / (ta.highest(source, length) - ta.lowest(source, length)) * 100

// The values of one period, with the time of each from its beginning.
type period
    int begin
    array<int> offsets
    array<float> values

// The value of a period at a time from its beginning, or its last one before that.
method at(period p, int offset) =>
    i = p.offsets.binary_search_leftmost(offset)
    p.values.get(math.min(i, p.values.size() - 1))

// The sum since a period began, and the mean that earlier periods had at the same time.
byPeriod(series float source, simple int length, simple string timeframe, simple bool summed) =>
    var float total = 0.0
    var begin = time(timeframe)
    var earlier = array.new<period>()
    var current = period.new(begin, array.new<int>(), array.new<float>())
    if timeframe.change(timeframe)
        begin := time(timeframe)
        total := 0.0
        earlier.push(current)
        if earlier.size() > length
            earlier.shift()
        current := period.new(begin, array.new<int>(), array.new<float>())
    total += source
    current.offsets.push(time - begin)
    current.values.push(summed ? total : source)
    past = 0.0
    for p in earlier
        past += p.at(time - begin)
    [total, past / earlier.size()]

// A sum of a period whose bar has not closed, as if the bar went on as it began.
projected(series float total, simple string timeframe) =>
    var int begin = na
    if timeframe.change(timeframe)
        begin := time
    barstate.isconfirmed ? total : total / (math.min(timenow, time_close) - begin) * (time_close - begin)

export relativeVolume(simple int length, simple string anchorTimeframe = "1D", simple bool isCumulative = true, simple bool adjustRealtime = true) =>
    [total, past] = byPeriod(volume, length, anchorTimeframe, isCumulative)
    whole = projected(total, anchorTimeframe)
    current = isCumulative ? (adjustRealtime ? whole : total) : volume
    [current, past, current / past]

export rms(series float source, series int length) =>
    math.sqrt(math.sum(math.pow(source, 2), length) / length)

export rwi(simple int length) =>
    spread = ta.atr(length) * math.sqrt(length)
    [(high - nz(low[length])) / spread, (nz(high[length]) - low) / spread]

export smma(series float source, simple int length) =>
    ta.rma(source, length)

export specialK(series float source, series int sigLen1, series int sigLen2) =>
    short = ta.sma(ta.roc(source, 10), 10) + 2 * ta.sma(ta.roc(source, 15), 10) + 3 * ta.sma(ta.roc(source, 20), 10) + 4 * ta.sma(ta.roc(source, 30), 15)
    middle = ta.sma(ta.roc(source, 40), 50) + 2 * ta.sma(ta.roc(source, 65), 65) + 3 * ta.sma(ta.roc(source, 75), 75) + 4 * ta.sma(ta.roc(source, 100), 100)
    long = ta.sma(ta.roc(source, 195), 130) + 2 * ta.sma(ta.roc(source, 265), 130) + 3 * ta.sma(ta.roc(source, 390), 130) + 4 * ta.sma(ta.roc(source, 530), 195)
    line1 = short + middle + long
    [line1, ta.sma(ta.sma(line1, sigLen1), sigLen2)]

export stochFull(simple int periodK, simple int smoothK, simple int periodD) =>
    k = ta.sma(ta.stoch(close, high, low, periodK), smoothK)
    [k, ta.sma(k, periodD)]

export stochRsi(simple int lengthRsi, simple int periodK, simple int smoothK, simple int periodD, series float source = close) =>
    r = ta.rsi(source, lengthRsi)
    k = ta.sma(ta.stoch(r, r, r, periodK), smoothK)
    [k, ta.sma(k, periodD)]

export stc(series float source, simple int fast, simple int slow, simple int cycle, simple int d1, simple int d2) =>
    m = ta.ema(source, fast) - ta.ema(source, slow)
    k = nz(fixnan(ta.stoch(m, m, m, cycle)))
    d = ta.ema(k, d1)
    kd = nz(fixnan(ta.stoch(d, d, d, cycle)))
    math.max(math.min(ta.ema(kd, d2), 100), 0)

// The line that follows the price at a distance; it turns to the other side when the price crosses it.
trendOf(series float distance, simple bool wicks) =>
    above = wicks ? high : close
    below = wicks ? low : close
    float line1 = na
    int direction = 1
    float top = hl2 + distance
    float bottom = hl2 - distance
    lastTop = nz(top[1])
    lastBottom = nz(bottom[1])
    if not (top < lastTop or above[1] > lastTop)
        top := lastTop
    if not (bottom > lastBottom or below[1] < lastBottom)
        bottom := lastBottom
    if not na(distance[1])
        direction := line1[1] == lastTop ? (above > top ? -1 : 1) : (below < bottom ? 1 : -1)
    line1 := direction == -1 ? bottom : top
    [line1, direction]

export supertrend(series float factor, simple int atrLength, simple bool wicks = false) =>
    trendOf(ta.atr(atrLength) * factor, wicks)

export supertrend2(series float factor, series float atrLength, simple bool wicks = false) =>
    trendOf(atr2(atrLength) * factor, wicks)

doubled(series float source, simple int length, simple float vf) =>
    first = ta.ema(source, length)
    first * (1 + vf) - ta.ema(first, length) * vf

export t3(series float source, simple int length, simple float vf = 0.7) =>
    doubled(doubled(doubled(source, length, vf), length, vf), length, vf)

doubled2(series float source, series float length, simple float vf) =>
    first = ema2(source, length)
    first * (1 + vf) - ema2(first, length) * vf

export t3Alt(series float source, series float length, simple float vf = 0.7) =>
    doubled2(doubled2(doubled2(source, length, vf), length, vf), length, vf)

export tema(series float source, simple int length) =>
    e1 = ta.ema(source, length)
    e2 = ta.ema(e1, length)
    e3 = ta.ema(e2, length)
    3 * (e1 - e2) + e3

export tema2(series float source, series float length) =>
    e1 = ema2(source, length)
    e2 = ema2(e1, length)
    e3 = ema2(e2, length)
    3 * (e1 - e2) + e3

export trima(series float source, series int length) =>
    ta.sma(ta.sma(source, math.ceil(length / 2)), math.floor(length / 2) + 1)

export trima2(series float src, series int length) =>
    trima(src, length)

export trix(series float source, simple int length, simple int signalLength, simple bool exponential = true) =>
    line1 = ta.roc(ta.ema(ta.ema(ta.ema(source, length), length), length), 1)
    even = ta.ema(line1, signalLength)
    plain = ta.sma(line1, signalLength)
    signal = exponential ? even : plain
    [line1, signal, line1 - signal]

export ulcerIndex(series float source, series int length) =>
    rms(changePercent(source, ta.highest(source, length)), length)

export uo(simple int fastLen = 7, simple int midLen = 14, simple int slowLen = 28) =>
    bottom = math.min(low, close[1])
    top = math.max(high, close[1])
    pressure = close - bottom
    spread = top - bottom
    a = math.sum(pressure, fastLen) / math.sum(spread, fastLen)
    b = math.sum(pressure, midLen) / math.sum(spread, midLen)
    c = math.sum(pressure, slowLen) / math.sum(spread, slowLen)
    100 * (4 * a + 2 * b + c) / 7

export vhf(series float source, simple int length) =>
    math.abs(ta.highest(source, length) - ta.lowest(source, length)) / math.sum(math.abs(ta.change(source)), length)

export vi(simple int length = 14) =>
    total = math.sum(ta.atr(1), length)
    [math.sum(math.abs(high - nz(low[1])), length) / total, math.sum(math.abs(low - nz(high[1])), length) / total]

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

export vStop(series float source, simple int atrLength, series float atrFactor = 1) =>
    stopOf(source, ta.atr(atrLength) * atrFactor)

export vStop2(series float source, series float atrLength, series float atrFactor = 1) =>
    stopOf(source, atr2(atrLength) * atrFactor)

zoneOf(series float source, simple int length) =>
    100 * nz(ta.ema(math.sign(ta.change(close)) * source, length) / ta.ema(source, length))

export vzo(simple int length = 14) =>
    zoneOf(volume, length)

export pzo(simple int length = 14) =>
    zoneOf(close, length)

export szo(series float source, simple int length = 14) =>
    100 * tema(math.sign(ta.change(source)), length) / length

export wpo(simple int length) =>
    wave = 2 * math.pi / math.asin(close[1] / high)
    ta.ema(math.sign(ta.change(close)) * wave, length)

export williamsFractal(simple int period = 2) =>
    [not na(ta.pivothigh(high, period, period)), not na(ta.pivotlow(low, period, period))]

// The volume of a bar, negative if it was sold: by its open, else by the close before, else as that one.
sided() =>
    var bool bought = close >= open
    bought := close != open ? close > open : close != close[1] ? close > close[1] : bought
    bought ? volume : -volume

export requestUpAndDownVolume(simple string lowerTimeframe) =>
    parts = request.security_lower_tf(syminfo.tickerid, lowerTimeframe, sided())
    up = 0.0
    down = 0.0
    for v in parts
        up += v > 0 ? v : 0
        down += v < 0 ? v : 0
    [up, down, up + down]

export requestVolumeDelta(simple string lowerTimeframe, string cumulativePeriod = "") =>
    parts = request.security_lower_tf(syminfo.tickerid, lowerTimeframe, sided())
    var float begin = 0.0
    var float total = 0.0
    fresh = str.trim(cumulativePeriod) == "" or timeframe.change(cumulativePeriod)
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
