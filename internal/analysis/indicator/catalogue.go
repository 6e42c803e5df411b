package indicator

// list is the catalogue in the order that clients see. A new indicator is a file with
// its definition and a line here.
func list() []Def {
	return []Def{
		// overlays
		emaStack(),
		bbands(),
		keltner(),
		donchian(),
		vwap(),
		vwapBands(),
		supertrend(),
		sar(),
		ichimoku(),
		heikinAshi(),
		pivot(),
		volumeProfile(),
		sessionVP(),
		hvnLVN(),
		nakedPOC(),
		tpo(),
		// panels
		cipherB(),
		macd(),
		rsi(),
		waveTrend(),
		stoch(),
		atr(),
		obv(),
		cci(),
		roc(),
		mfi(),
		williamsR(),
		cmf(),
		adx(),
		ad(),
		histVol(),
		kalmanVolume(),
		rsiMFIStoch(),
		// external
		cvd(),
		funding(),
		openInterest(),
		longShort(),
		fearGreed(),
	}
}
