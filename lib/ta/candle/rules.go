package candle

// rules has the patterns in the order of their names.
//
//nolint:gochecknoglobals // a table, never written
var rules = [...]pattern{
	{
		name: "2crows", title: "Two Crows", candles: 3, lookback: 12, value: twoCrows, role: Reversal,
		bear: "after a long white candle and a gap up, two black candles fall back into its body",
	}, {
		name: "3blackcrows", title: "Three Black Crows", candles: 4, lookback: 13, value: threeBlackCrows, role: Reversal, common: true,
		bear: "three black candles in a row open within the body before and close lower, near their lows",
	}, {
		name: "3inside", title: "Three Inside", candles: 3, lookback: 12, value: threeInside, role: Reversal, common: true,
		bull: "a small body within a long black one, then a white candle that closes above both",
		bear: "a small body within a long white one, then a black candle that closes below both",
	}, {
		name: "3linestrike", title: "Three-Line Strike", candles: 4, lookback: 8, value: threeLineStrike, role: Continuation,
		bull: "three rising white candles, then a black one that takes back all three",
		bear: "three falling black candles, then a white one that takes back all three",
	}, {
		name: "3outside", title: "Three Outside", candles: 3, lookback: 3, value: threeOutside, role: Reversal, common: true,
		bull: "a white body engulfs a black one, and the next bar closes higher still",
		bear: "a black body engulfs a white one, and the next bar closes lower still",
	}, {
		name: "3starsinsouth", title: "Three Stars in the South", candles: 3, lookback: 12, value: threeStarsInSouth, role: Reversal,
		bull: "three black candles that shrink, each holding above the low before: selling dries up",
	}, {
		name: "3whitesoldiers", title: "Three White Soldiers", candles: 3, lookback: 12, value: threeWhiteSoldiers, role: Reversal, common: true,
		bull: "three white candles in a row open within the body before and close higher, near their highs",
	}, {
		name: "abandonedbaby", title: "Abandoned Baby", candles: 3, lookback: 12, value: abandonedBaby, role: Reversal, common: true,
		bull: "a doji with gaps on both sides stands below a long black candle and a white one",
		bear: "a doji with gaps on both sides stands above a long white candle and a black one",
	}, {
		name: "advanceblock", title: "Advance Block", candles: 3, lookback: 12, value: advanceBlock, role: Reversal,
		bear: "three rising white candles lose force: smaller bodies or longer upper shadows",
	}, {
		name: "belthold", title: "Belt Hold", candles: 1, lookback: 10, value: beltHold, role: Reversal,
		bull: "a long white candle that opens at its low",
		bear: "a long black candle that opens at its high",
	}, {
		name: "breakaway", title: "Breakaway", candles: 5, lookback: 14, value: breakaway, role: Reversal,
		bull: "a fall that gaps down and goes on for three bars, then a white candle that closes within the gap",
		bear: "a rise that gaps up and goes on for three bars, then a black candle that closes within the gap",
	}, {
		name: "closingmarubozu", title: "Closing Marubozu", candles: 1, lookback: 10, value: closingMarubozu,
		bull: "a long white candle that closes at its high",
		bear: "a long black candle that closes at its low",
	}, {
		name: "concealbabyswall", title: "Concealing Baby Swallow", candles: 4, lookback: 13, value: concealBabySwall, role: Reversal,
		bull: "two black marubozu, a gap down with an upper shadow, and a black candle that engulfs it",
	}, {
		name: "counterattack", title: "Counterattack", candles: 2, lookback: 11, value: counterattack, role: Reversal,
		bull: "a long white candle closes where the long black one before it closed",
		bear: "a long black candle closes where the long white one before it closed",
	}, {
		name: "darkcloudcover", title: "Dark Cloud Cover", candles: 2, lookback: 11, value: darkCloudCover, role: Reversal, common: true,
		bear: "a black candle opens above the high of a long white one and closes below the middle of its body",
	}, {
		name: "doji", title: "Doji", candles: 1, lookback: 10, value: doji, common: true,
		plain: "open and close are almost equal",
	}, {
		name: "dojistar", title: "Doji Star", candles: 2, lookback: 11, value: dojiStar, role: Reversal, common: true,
		bull: "a doji gaps below a long black body",
		bear: "a doji gaps above a long white body",
	}, {
		name: "dragonflydoji", title: "Dragonfly Doji", candles: 1, lookback: 10, value: dragonflyDoji, common: true,
		plain: "a doji at the high of its bar, with a lower shadow alone",
	}, {
		name: "engulfing", title: "Engulfing", candles: 2, lookback: 2, value: engulfing, role: Reversal, common: true,
		bull: "a white body covers the whole black body before it",
		bear: "a black body covers the whole white body before it",
	}, {
		name: "eveningdojistar", title: "Evening Doji Star", candles: 3, lookback: 12, value: eveningDojiStar, role: Reversal, common: true,
		bear: "a long white candle, a doji that gaps above it, then a black candle that closes well into the first body",
	}, {
		name: "eveningstar", title: "Evening Star", candles: 3, lookback: 12, value: eveningStar, role: Reversal, common: true,
		bear: "a long white candle, a small body that gaps above it, then a black candle that closes well into the first body",
	}, {
		name: "gapsidesidewhite", title: "Side-by-Side White Lines", candles: 3, lookback: 7, value: gapSideSideWhite, role: Continuation,
		bull: "two equal white candles side by side above a gap up",
		bear: "two equal white candles side by side below a gap down",
	}, {
		name: "gravestonedoji", title: "Gravestone Doji", candles: 1, lookback: 10, value: gravestoneDoji, common: true,
		plain: "a doji at the low of its bar, with an upper shadow alone",
	}, {
		name: "hammer", title: "Hammer", candles: 2, lookback: 11, value: hammer, role: Reversal, common: true,
		bull: "a small body on a long lower shadow, near or below the low before",
	}, {
		name: "hangingman", title: "Hanging Man", candles: 2, lookback: 11, value: hangingMan, role: Reversal, common: true,
		bear: "a small body on a long lower shadow, near or above the high before",
	}, {
		name: "harami", title: "Harami", candles: 2, lookback: 11, value: harami, role: Reversal, common: true,
		bull: "a small body lies within the long black body before it",
		bear: "a small body lies within the long white body before it",
	}, {
		name: "haramicross", title: "Harami Cross", candles: 2, lookback: 11, value: haramiCross, role: Reversal, common: true,
		bull: "a doji lies within the long black body before it",
		bear: "a doji lies within the long white body before it",
	}, {
		name: "highwave", title: "High Wave", candles: 1, lookback: 10, value: highWave,
		bull: "a small white body with both shadows more than twice as long",
		bear: "a small black body with both shadows more than twice as long",
	}, {
		name: "hikkake", title: "Hikkake", candles: 3, lookback: hikkakeLookback, value: hikkakeValue, role: Reversal,
		bull: "price leaves an inside bar downwards, which traps sellers if it turns",
		bear: "price leaves an inside bar upwards, which traps buyers if it turns",
	}, {
		name: "hikkakemod", title: "Modified Hikkake", candles: 4, lookback: hikkakeModLookback, value: hikkakeModValue, role: Reversal,
		bull: "price leaves the second of two inside bars downwards, the first having closed near its low",
		bear: "price leaves the second of two inside bars upwards, the first having closed near its high",
	}, {
		name: "homingpigeon", title: "Homing Pigeon", candles: 2, lookback: 11, value: homingPigeon, role: Reversal,
		bull: "a small black body lies within the long black body before it",
	}, {
		name: "identical3crows", title: "Identical Three Crows", candles: 3, lookback: 12, value: identicalThreeCrows, role: Reversal,
		bear: "three black candles in a row, each opening at the close before and closing near its low",
	}, {
		name: "inneck", title: "In Neck", candles: 2, lookback: 11, value: inNeck, role: Continuation,
		bear: "a white candle opens below a long black one and closes just inside its close",
	}, {
		name: "invertedhammer", title: "Inverted Hammer", candles: 2, lookback: 11, value: invertedHammer, role: Reversal, common: true,
		bull: "a small body under a long upper shadow, below the body before",
	}, {
		name: "kicking", title: "Kicking", candles: 2, lookback: 11, value: kicking, common: true,
		bull: "a black marubozu, a gap up and a white marubozu",
		bear: "a white marubozu, a gap down and a black marubozu",
	}, {
		name: "kickingbylength", title: "Kicking by Length", candles: 2, lookback: 11, value: kickingByLength,
		bull: "two opposite marubozu with a gap between them, of which the white one is longer",
		bear: "two opposite marubozu with a gap between them, of which the black one is longer",
	}, {
		name: "ladderbottom", title: "Ladder Bottom", candles: 5, lookback: 14, value: ladderBottom, role: Reversal,
		bull: "four black candles, the last with an upper shadow, then a white one that closes above its high",
	}, {
		name: "longleggeddoji", title: "Long-Legged Doji", candles: 1, lookback: 10, value: longLeggedDoji,
		plain: "a doji with at least one long shadow",
	}, {
		name: "longline", title: "Long Line", candles: 1, lookback: 10, value: longLine,
		bull: "a long white body with short shadows",
		bear: "a long black body with short shadows",
	}, {
		name: "marubozu", title: "Marubozu", candles: 1, lookback: 10, value: marubozu, common: true,
		bull: "a long white body with almost no shadows",
		bear: "a long black body with almost no shadows",
	}, {
		name: "matchinglow", title: "Matching Low", candles: 2, lookback: 6, value: matchingLow, role: Reversal,
		bull: "two black candles in a row have equal closes",
	}, {
		name: "mathold", title: "Mat Hold", candles: 5, lookback: 14, value: matHold, role: Continuation,
		bull: "after a long white candle and a gap up, three small candles hold above its middle and a white one breaks out",
	}, {
		name: "morningdojistar", title: "Morning Doji Star", candles: 3, lookback: 12, value: morningDojiStar, role: Reversal, common: true,
		bull: "a long black candle, a doji that gaps below it, then a white candle that closes well into the first body",
	}, {
		name: "morningstar", title: "Morning Star", candles: 3, lookback: 12, value: morningStar, role: Reversal, common: true,
		bull: "a long black candle, a small body that gaps below it, then a white candle that closes well into the first body",
	}, {
		name: "onneck", title: "On Neck", candles: 2, lookback: 11, value: onNeck, role: Continuation, common: true,
		bear: "a white candle opens below a long black one and closes at its low",
	}, {
		name: "piercing", title: "Piercing", candles: 2, lookback: 11, value: piercing, role: Reversal, common: true,
		bull: "a long white candle opens below the low of a long black one and closes above the middle of its body",
	}, {
		name: "rickshawman", title: "Rickshaw Man", candles: 1, lookback: 10, value: rickshawMan,
		plain: "a doji in the middle of its bar, with two long shadows",
	}, {
		name: "risefall3methods", title: "Three Methods", candles: 5, lookback: 14, value: riseFallThreeMethods, role: Continuation, common: true,
		bull: "three small black candles rest within a long white one, and another white one closes above it",
		bear: "three small white candles rest within a long black one, and another black one closes below it",
	}, {
		name: "separatinglines", title: "Separating Lines", candles: 2, lookback: 11, value: separatingLines, role: Continuation,
		bull: "a long white candle opens where the black one before it opened",
		bear: "a long black candle opens where the white one before it opened",
	}, {
		name: "shootingstar", title: "Shooting Star", candles: 2, lookback: 11, value: shootingStar, role: Reversal, common: true,
		bear: "a small body under a long upper shadow, above the body before",
	}, {
		name: "shortline", title: "Short Line", candles: 1, lookback: 10, value: shortLine,
		bull: "a short white body with short shadows",
		bear: "a short black body with short shadows",
	}, {
		name: "spinningtop", title: "Spinning Top", candles: 1, lookback: 10, value: spinningTop,
		bull: "a small white body with two longer shadows",
		bear: "a small black body with two longer shadows",
	}, {
		name: "stalledpattern", title: "Stalled Pattern", candles: 3, lookback: 12, value: stalledPattern, role: Reversal,
		bear: "two long rising white candles, then a small white one at their top",
	}, {
		name: "sticksandwich", title: "Stick Sandwich", candles: 3, lookback: 7, value: stickSandwich, role: Reversal,
		bull: "a white candle between two black ones with equal closes",
	}, {
		name: "takuri", title: "Takuri", candles: 1, lookback: 10, value: takuri,
		plain: "a doji at the high of its bar, with a very long lower shadow",
	}, {
		name: "tasukigap", title: "Tasuki Gap", candles: 3, lookback: 7, value: tasukiGap, role: Continuation, common: true,
		bull: "after a gap up to a white candle, a black one of its size closes within the gap",
		bear: "after a gap down to a black candle, a white one of its size closes within the gap",
	}, {
		name: "thrusting", title: "Thrusting", candles: 2, lookback: 11, value: thrusting, role: Continuation,
		bear: "a white candle opens below a long black one and closes in the lower half of its body",
	}, {
		name: "tristar", title: "Tri-Star", candles: 3, lookback: 12, value: triStar, role: Reversal, common: true,
		bull: "three doji, of which the middle one lies lowest",
		bear: "three doji, of which the middle one lies highest",
	}, {
		name: "unique3river", title: "Unique Three River", candles: 3, lookback: 12, value: uniqueThreeRiver, role: Reversal,
		bull: "a long black candle, a black one with a new low, then a small white one above that low",
	}, {
		name: "upsidegap2crows", title: "Upside Gap Two Crows", candles: 3, lookback: 12, value: upsideGapTwoCrows, role: Reversal,
		bear: "after a long white candle and a gap up, a black body engulfs another, both above the gap",
	}, {
		name: "xsidegap3methods", title: "Gap Three Methods", candles: 3, lookback: 2, value: sideGapThreeMethods, role: Continuation,
		bull: "two white candles with a gap up between them, then a black one that closes the gap",
		bear: "two black candles with a gap down between them, then a white one that closes the gap",
	},
}
