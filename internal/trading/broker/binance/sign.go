package binance

import (
	"net/url"
	"strconv"
	"time"
)

// recvWindow is how late a request may arrive: the venue does not carry out what is
// older, so that an order held up on the way does not appear long after it was given up.
const recvWindow = 5 * time.Second

// widest is the window of a question.
func widest() time.Duration { return recvWindow }

// stamp returns the venue's time as it is signed.
func (b *Broker) stamp() string { return strconv.FormatInt(b.clock.Now().UnixMilli(), 10) }

// millis writes a duration as the venue reads it.
func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// signed returns what makes a signed query at the time it goes out.
func (b *Broker) signed(params url.Values, window func() time.Duration) func() string {
	return func() string {
		payload := "recvWindow=" + millis(window()) + "&timestamp=" + b.stamp()
		if len(params) > 0 {
			payload = params.Encode() + "&" + payload
		}
		return payload + "&signature=" + url.QueryEscape(b.sign(payload))
	}
}

// subscription returns the signed request for the account's reports. Over the
// WebSocket API the payload is sorted by name.
func (b *Broker) subscription(id string) []byte {
	key, at, late := b.config.Key.Reveal(), b.stamp(), millis(recvWindow)
	signature := b.sign("apiKey=" + key + "&recvWindow=" + late + "&timestamp=" + at)
	return []byte(`{"id":` + strconv.Quote(id) + `,"method":"userDataStream.subscribe.signature","params":{"apiKey":` + strconv.Quote(key) +
		`,"recvWindow":` + late + `,"timestamp":` + at + `,"signature":` + strconv.Quote(signature) + `}}`)
}
