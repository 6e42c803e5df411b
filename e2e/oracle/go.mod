module candela/e2e/oracle

go 1.26.0

require (
	candela v0.0.0
	github.com/adshao/go-binance/v2 v2.8.7
	github.com/alpacahq/alpaca-trade-api-go/v3 v3.9.1
	github.com/shopspring/decimal v1.4.0
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
)

require (
	cloud.google.com/go v0.118.0 // indirect
	github.com/bitly/go-simplejson v0.5.0 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/josharian/intern v1.0.0 // indirect
	github.com/jpillora/backoff v1.0.0 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/mailru/easyjson v0.7.7 // indirect
	github.com/vmihailenco/msgpack/v5 v5.3.0 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
)

replace candela => ../..
