package binance

import (
	"candela/internal/config"
	"candela/internal/order"
)

// Sign returns the signature of a payload.
func Sign(secret, payload string) (string, error) {
	sign, err := newSigner(config.NewSecret(secret))
	if err != nil {
		return "", err
	}
	return sign(payload), nil
}

// The parsers, for tests from outside.
var (
	ParseReport  = parseReport
	ParseOrders  = parseOrders
	ParseTrades  = parseTrades
	ParseAccount = parseAccount
	ParseTime    = parseTime
)

// ParseMessage reads a message of the WebSocket API.
func ParseMessage(data []byte) (event string, r order.Report, err error) {
	m, err := parseMessage(data)
	return m.event, m.report, err
}
