package binance

import (
	"strings"
	"time"

	"candela/internal/data/upstream"
	"candela/lib/market"
)

// board is one of the venue's markets: where its bars, rules and streams are, and what they cost.
type board struct {
	client        *upstream.Client
	klines, rules string // paths
	rulesWeight   int
	klinesWeight  func(limit int) int
	stream        string // address of the combined streams
}

// spotBoard is the spot market. It counts 6000 a minute for one address. A fifth is left to whatever
// else runs there and to what two clocks disagree about.
func spotBoard(hosts *upstream.Hosts, c Config) board {
	return board{
		client: hosts.Client(upstream.Config{
			Venue: name, Base: c.URL, ParseError: Refusal, UsedHeader: usedHeader,
			Limit: upstream.Limit{Weight: 4800, Per: time.Minute},
		}),
		klines: "/api/v3/klines", rules: "/api/v3/exchangeInfo", rulesWeight: 20,
		klinesWeight: func(int) int { return 2 },
		stream:       strings.TrimSuffix(c.StreamURL, "/") + "/stream",
	}
}

// perpetualBoard is the futures that have no end and are settled in a coin worth a dollar. It counts 2400 a
// minute. The streams of the root carry books of orders alone: at another path the venue is silent.
func perpetualBoard(hosts *upstream.Hosts, c Config) board {
	return board{
		client: hosts.Client(upstream.Config{
			Venue: name, Base: c.FuturesURL, ParseError: Refusal, UsedHeader: usedHeader,
			Limit: upstream.Limit{Weight: 1920, Per: time.Minute},
		}),
		klines: "/fapi/v1/klines", rules: "/fapi/v1/exchangeInfo", rulesWeight: 1,
		klinesWeight: func(limit int) int {
			switch {
			case limit < 100:
				return 1
			case limit < 500:
				return 2
			}
			return 5
		},
		stream: strings.TrimSuffix(c.FuturesStreamURL, "/") + "/market/stream",
	}
}

const usedHeader = "X-Mbx-Used-Weight-1m"

// board returns the market of a symbol in candela's spelling, and its name there.
func (p *Provider) board(spelled string) (of *board, wire string) {
	if pair, perpetual := (market.Symbol{Name: spelled}).Pair(); perpetual {
		return &p.perpetual, pair
	}
	return &p.spot, spelled
}

// perpetuals is the part of the perpetual futures.
const perpetuals = "perpetuals"

// part names the market of a symbol. Each has streams of its own.
func part(s market.Symbol) string {
	if _, perpetual := s.Pair(); perpetual {
		return perpetuals
	}
	return "spot"
}
