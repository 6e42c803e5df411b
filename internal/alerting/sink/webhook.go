package sink

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/secret"
)

// The headers of a webhook.
const (
	headerEvent     = "Candela-Event"     // alert_triggered, or test
	headerSeq       = "Candela-Seq"       // the notification's sequence number
	headerTimestamp = "Candela-Timestamp" // unix seconds at which the request was signed
	headerSignature = "Candela-Signature" // v1= and the signature in hexadecimal digits
)

// NewWebhook returns a receiver that gets each firing as JSON, signed with a shared secret.
func NewWebhook(address string, secret secret.Text, allowPrivate bool) (*Receiver, error) {
	r, err := newReceiver("webhook", address, allowPrivate)
	if err != nil {
		return nil, err
	}
	key := []byte(secret.Reveal())
	r.hidden = secret.Reveal()
	r.compose = func(e *notify.Entry, at time.Time) message {
		m := signed(key, e.Data, at)
		m.header.Set(headerEvent, "alert_triggered")
		m.header.Set(headerSeq, strconv.FormatUint(e.Seq, 10))
		return m
	}
	r.sample = func(at time.Time) message {
		m := signed(key, []byte(`{"test":true,"message":"candela notify test: alerts will arrive here"}`), at)
		m.header.Set(headerEvent, "test")
		return m
	}
	return r, nil
}

// signed returns a JSON message with its signature: HMAC-SHA256 over the timestamp header, a
// full stop and the body. The signed time makes a replayed request detectable.
func signed(key, body []byte, at time.Time) message {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	signature := "v1=" + hex.EncodeToString(mac.Sum(nil))
	return message{http.Header{"Content-Type": {"application/json"}, headerTimestamp: {timestamp}, headerSignature: {signature}}, body}
}
