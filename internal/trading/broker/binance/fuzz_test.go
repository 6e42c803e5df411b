package binance

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// The payloads of the venue's documentation.
const (
	docFull    = `{"symbol":"BTCUSDT","orderId":28,"orderListId":-1,"clientOrderId":"6gCrw2kRUAF9CvJDGP16IP","transactTime":1507725176595,"price":"0.00000000","origQty":"10.00000000","executedQty":"10.00000000","origQuoteOrderQty":"0.000000","cummulativeQuoteQty":"10.00000000","status":"FILLED","timeInForce":"GTC","type":"MARKET","side":"SELL","workingTime":1507725176595,"selfTradePreventionMode":"NONE","fills":[{"price":"4000.00000000","qty":"1.00000000","commission":"4.00000000","commissionAsset":"USDT","tradeId":56},{"price":"3999.00000000","qty":"5.00000000","commission":"19.99500000","commissionAsset":"USDT","tradeId":57},{"price":"3998.00000000","qty":"2.00000000","commission":"7.99600000","commissionAsset":"USDT","tradeId":58},{"price":"3997.00000000","qty":"1.00000000","commission":"3.99700000","commissionAsset":"USDT","tradeId":59},{"price":"3995.00000000","qty":"1.00000000","commission":"3.99500000","commissionAsset":"USDT","tradeId":60}]}`
	docCancel  = `{"symbol":"LTCBTC","origClientOrderId":"myOrder1","orderId":4,"orderListId":-1,"clientOrderId":"cancelMyOrder1","transactTime":1684804350068,"price":"2.00000000","origQty":"1.00000000","executedQty":"0.00000000","origQuoteOrderQty":"0.000000","cummulativeQuoteQty":"0.00000000","status":"CANCELED","timeInForce":"GTC","type":"LIMIT","side":"BUY","selfTradePreventionMode":"NONE"}`
	docQuery   = `{"symbol":"LTCBTC","orderId":1,"orderListId":-1,"clientOrderId":"myOrder1","price":"0.1","origQty":"1.0","executedQty":"0.0","cummulativeQuoteQty":"0.0","status":"NEW","timeInForce":"GTC","type":"LIMIT","side":"BUY","stopPrice":"0.0","icebergQty":"0.0","time":1499827319559,"updateTime":1499827319560,"isWorking":true,"workingTime":1499827319559,"origQuoteOrderQty":"0.000000","selfTradePreventionMode":"NONE"}`
	docTrade   = `{"symbol":"BNBBTC","id":28457,"orderId":100234,"orderListId":-1,"price":"4.00000100","qty":"12.00000000","quoteQty":"48.000012","commission":"10.10000000","commissionAsset":"BNB","time":1499865549590,"isBuyer":true,"isMaker":false,"isBestMatch":true}`
	docNew     = `{"subscriptionId":0,"event":{"e":"executionReport","E":1499405658658,"s":"ETHBTC","c":"mUvoqJxFIILMdfAW5iGSOW","S":"BUY","o":"LIMIT","f":"GTC","q":"1.00000000","p":"0.10264410","P":"0.00000000","F":"0.00000000","g":-1,"C":"","x":"NEW","X":"NEW","r":"NONE","i":4293153,"l":"0.00000000","z":"0.00000000","L":"0.00000000","n":"0","N":null,"T":1499405658657,"t":-1,"v":3,"I":8641984,"w":true,"m":false,"M":false,"O":1499405658657,"Z":"0.00000000","Y":"0.00000000","Q":"0.00000000","W":1499405658657,"V":"NONE"}}`
	docAccount = `{"makerCommission":15,"takerCommission":15,"buyerCommission":0,"sellerCommission":0,"commissionRates":{"maker":"0.00150000","taker":"0.00150000","buyer":"0.00000000","seller":"0.00000000"},"canTrade":true,"canWithdraw":true,"canDeposit":true,"brokered":false,"requireSelfTradePrevention":false,"preventSor":false,"updateTime":123456789,"accountType":"SPOT","balances":[{"asset":"BTC","free":"4723846.89208129","locked":"0.00000000"},{"asset":"LTC","free":"4763368.68006011","locked":"1.5"}],"permissions":["SPOT"],"uid":354937868}`
)

func TestParse_DocumentedPayloads(t *testing.T) {
	t.Parallel()
	d := decimal.RequireFromString
	sold := order.Spec{ID: "6gCrw2kRUAF9CvJDGP16IP", Side: order.Sell, Type: order.Market, Quantity: d("10")}
	r, err := parseReport([]byte(docFull), sold.Handle(), "BTCUSDT")
	if err != nil || r.Status != order.Filled || r.VenueID != "28" || r.At.UnixMilli() != 1507725176595 || len(r.Fills) != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	if f := r.Fills[1]; f.TradeID != "57" || f.OrderID != sold.ID || f.VenueID != "28" || f.Symbol.String() != "binance:BTCUSDT" || f.Side != order.Sell ||
		!f.Quantity.Equal(d("5")) || !f.Price.Equal(d("3999")) || !f.Fee.Equal(d("19.995")) || f.FeeAsset != "USDT" || f.At != r.At {
		t.Errorf("%+v", f)
	}
	limit := order.Spec{ID: "myOrder1", Side: order.Buy, Type: order.Limit, Quantity: d("1"), Price: d("2")}
	if r, err = parseReport([]byte(docCancel), limit.Handle(), "LTCBTC"); err != nil || r.Status != order.Canceled || r.ID != "myOrder1" || r.VenueID != "4" {
		t.Errorf("%+v, %v", r, err)
	}
	limit.Price = d("0.1")
	if r, err = parseReport([]byte(docQuery), limit.Handle(), "LTCBTC"); err != nil || r.Status != order.Accepted || r.At.UnixMilli() != 1499827319560 {
		t.Errorf("%+v, %v", r, err)
	}
	trades, err := parseTrades([]byte("["+docTrade+"]"), "BNBBTC")
	if err != nil || len(trades) != 1 || trades[0].TradeID != "28457" || trades[0].VenueID != "100234" || trades[0].Side != order.Buy || trades[0].FeeAsset != "BNB" {
		t.Errorf("%+v, %v", trades, err)
	}
	held, err := parseAccount([]byte(docAccount))
	if err != nil || len(held) != 2 || !held[1].Quantity.Equal(d("4763370.18006011")) || !held[1].Available.Equal(d("4763368.68006011")) {
		t.Errorf("%+v, %v", held, err)
	}
	m, err := parseMessage([]byte(docNew))
	if err != nil || m.event != "executionReport" || m.report.ID != "mUvoqJxFIILMdfAW5iGSOW" || m.report.Status != order.Accepted || len(m.report.Fills) != 0 ||
		m.report.VenueID != "4293153" || m.report.At.UnixMilli() != 1499405658657 || m.report.Reason != "" || !m.report.Price.Equal(d("0.1026441")) {
		t.Errorf("%+v, %v", m, err)
	}
	traded := strings.NewReplacer(`"x":"NEW","X":"NEW"`, `"x":"TRADE","X":"PARTIALLY_FILLED"`, `"l":"0.00000000","z":"0.00000000","L":"0.00000000","n":"0","N":null`,
		`"l":"0.25","z":"0.5","L":"0.1026","n":"0.001","N":"BNB"`, `"t":-1`, `"t":77`, `"m":false`, `"m":true`, `"C":""`, `"C":"ours"`).Replace(docNew)
	m, err = parseMessage([]byte(traded))
	if err != nil || m.report.ID != "ours" || len(m.report.Fills) != 1 || !m.report.Filled.Equal(d("0.5")) {
		t.Fatalf("%+v, %v", m, err)
	}
	if f := m.report.Fills[0]; f.TradeID != "77" || !f.Maker || f.OrderID != "ours" || f.VenueID != "4293153" || !f.Quantity.Equal(d("0.25")) || f.FeeAsset != "BNB" || f.Symbol.Name != "ETHBTC" {
		t.Errorf("%+v", f)
	}
}

// sound holds what every report must be, however it came.
func sound(t *testing.T, data []byte, r order.Report) {
	t.Helper()
	if r.VenueID == "" || r.Side == 0 || r.Status == 0 || r.At.IsZero() || r.Filled.IsNegative() || r.Quantity.IsNegative() || r.Price.IsNegative() ||
		r.Filled.GreaterThan(r.Quantity) && !r.Quantity.IsZero() || r.Symbol.Venue != name || r.StopPrice.IsNegative() || r.TrailPercent.IsNegative() ||
		r.Status == order.Held && !r.Triggered.IsZero() {
		t.Fatalf("%q becomes %+v", data, r)
	}
	sum := decimal.Zero
	for _, f := range r.Fills {
		if f.TradeID == "" || !f.Quantity.IsPositive() || !f.Price.IsPositive() || f.Fee.IsNegative() || f.VenueID != r.VenueID || f.OrderID != r.ID || f.Side != r.Side {
			t.Fatalf("%q becomes %+v", data, f)
		}
		sum = sum.Add(f.Quantity)
	}
	if sum.GreaterThan(r.Filled) {
		t.Fatalf("%q has fills of %s and %s in all", data, sum, r.Filled)
	}
}

func FuzzParseOrders(f *testing.F) {
	for _, s := range []string{docFull, docStop, docCancel, docQuery, strings.Replace(docQuery, "NEW", "PENDING", 1), strings.Replace(docFull, "10.0", "1e400", 1), `{}`} {
		f.Add([]byte(s))
		f.Add([]byte("[" + s + "," + s + "]"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseOrders(data)
		if err == nil {
			for _, r := range all {
				sound(t, data, r)
			}
		}
		o := order.Spec{ID: "myOrder1", Side: order.Buy, Type: order.Limit, Quantity: decimal.NewFromInt(1), Price: decimal.NewFromInt(2), Symbol: market.Symbol{Venue: name, Name: "LTCBTC"}}
		if r, err := parseReport(data, o.Handle(), "LTCBTC"); err == nil {
			sound(t, data, r)
			if r.ID != o.ID || r.Symbol != o.Symbol || r.Side != o.Side {
				t.Fatalf("%q is taken for the order", data)
			}
		}
	})
}

func FuzzParseTrades(f *testing.F) {
	f.Add([]byte("[" + docTrade + "]"))
	f.Add([]byte("[" + docTrade + "," + strings.Replace(docTrade, "28457", "28458", 1) + "]"))
	f.Add([]byte("[" + docTrade + "," + docTrade + "]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseTrades(data, "BNBBTC")
		if err != nil {
			return
		}
		last := int64(-1)
		for _, f := range all {
			id, err := parseID(f.TradeID)
			if err != nil || id <= last || f.VenueID == "" || f.Side == 0 || f.At.IsZero() || !f.Quantity.IsPositive() || !f.Price.IsPositive() || f.Fee.IsNegative() {
				t.Fatalf("%q becomes %+v", data, f)
			}
			last = id
		}
	})
}

func FuzzParseAccount(f *testing.F) {
	f.Add([]byte(docAccount))
	f.Add([]byte(`{"balances":[]}`))
	f.Add([]byte(`{"serverTime":1499827319559}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseAccount(data)
		if err != nil {
			all = nil
		}
		for _, h := range all {
			if h.Asset == "" || h.Available.IsNegative() || h.Quantity.LessThan(h.Available) {
				t.Fatalf("%q becomes %+v", data, h)
			}
		}
		if at, err := parseTime(data); err == nil && at.UnixMilli() <= 0 {
			t.Fatalf("%q becomes %v", data, at)
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{
		docEvent, strings.Replace(docEvent, `"w":false`, `"w":true,"W":1710485608950,"d":125,"D":-1,"eR":"OCO_TRIGGER"`, 1),
		docNew, strings.Replace(docNew, `"x":"NEW"`, `"x":"TRADE"`, 1), strings.Replace(docNew, `"X":"NEW"`, `"X":"ASLEEP"`, 1),
		`{"id":"reports","status":200,"result":{"subscriptionId":0}}`, `{"id":null,"status":400,"error":{"code":-1135,"msg":"Invalid JSON Request"}}`,
		`{"subscriptionId":0,"event":{"e":"outboundAccountPosition","E":1564034571105,"u":1564034571073,"B":[{"a":"ETH","f":"10000.000000","l":"0.000000"}]}}`,
		`{"subscriptionId":0,"event":{"e":"balanceUpdate","E":1573200697110,"a":"BTC","d":"100.00000000","T":1573200697068}}`,
		`{"subscriptionId":0,"event":{"e":"eventStreamTerminated","E":1728973001334}}`, `{"event":{"e":"serverShutdown","E":1770123456789}}`,
		`{"subscriptionId":0,"event":{"e":"listStatus","E":1564035303637,"s":"ETHBTC","g":2,"c":"OCO","l":"EXEC_STARTED","L":"EXECUTING","r":"NONE","C":"F4","T":1564035303625,"O":[{"s":"ETHBTC","i":17,"c":"AJ"}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMessage(data)
		if err != nil {
			return
		}
		if m.event == "executionReport" {
			sound(t, data, m.report)
		}
		if m.answers != "" && m.status == 0 {
			t.Fatalf("%q is an answer without a status", data)
		}
	})
}
