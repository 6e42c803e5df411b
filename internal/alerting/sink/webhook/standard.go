package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
)

// The headers of Standard Webhooks.
const (
	headerStandardID        = "Webhook-Id"
	headerStandardTimestamp = "Webhook-Timestamp"
	headerStandardSignature = "Webhook-Signature"
)

// The secrets of Standard Webhooks.
const (
	secretPrefix   = "whsec_"
	leastKey       = 24 // bytes
	longestKey     = 64
	mostSecrets    = 2 // the current one and the one before, while a receiver changes
	standardSecret = "the secret of --" + formatSetting + " standard is " + secretPrefix + " and the base64 of 24 to 64 bytes; two of them, one a line, sign with both"
)

// standardKeys reads the secrets: one, or two on lines of their own.
func standardKeys(text string) ([][]byte, error) {
	all := strings.Fields(text)
	if len(all) == 0 || len(all) > mostSecrets {
		return nil, errors.New(standardSecret)
	}
	keys := make([][]byte, len(all))
	for i, one := range all {
		encoded, found := strings.CutPrefix(one, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !found || err != nil || len(key) < leastKey || len(key) > longestKey {
			return nil, errors.New(standardSecret)
		}
		keys[i] = key
	}
	return keys, nil
}

// sendStandard posts a message in the form of Standard Webhooks. A receiver that answered 410 Gone wants
// nothing more.
func (r *Receiver) sendStandard(ctx context.Context, m sink.Message) sink.Answer {
	if r.gone.Load() {
		return goneAnswer()
	}
	reply := r.Do(ctx, r.standard(m))
	if reply.Status == http.StatusGone {
		r.gone.Store(true)
		return goneAnswer()
	}
	return reply.Answer()
}

func goneAnswer() sink.Answer {
	return sink.Answer{Outcome: sink.Refused, Stop: true, Text: "410 Gone: the receiver wants nothing more; nothing is sent until candela starts again"}
}

// standard returns a message as a request: its body says what happened and when, and its headers sign it.
func (r *Receiver) standard(m sink.Message) sink.Request {
	id, event, at, data := standardParts(m)
	var body bytes.Buffer
	body.WriteString(`{"type":"` + event + `","timestamp":"` + at.UTC().Format(time.RFC3339Nano) + `","data":`)
	body.Write(data)
	body.WriteByte('}')
	timestamp := strconv.FormatInt(m.Now.Unix(), 10)
	signatures := make([]string, len(r.keys))
	for i, key := range r.keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body.Bytes())
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return sink.Request{
		Header: http.Header{
			"Content-Type": {"application/json"}, headerStandardID: {id}, headerStandardTimestamp: {timestamp},
			headerStandardSignature: {strings.Join(signatures, " ")},
		},
		Body: body.Bytes(),
	}
}

// standardParts returns the identifier of a message, which is equal on retries, its type, its time and its data.
func standardParts(m sink.Message) (id, event string, at time.Time, data []byte) {
	switch {
	case m.Alert != nil:
		return "candela-" + strconv.FormatUint(m.Alert.Seq, 10), standardType(m.Alert), m.Alert.At, m.Alert.Data
	case m.Notice != nil:
		return "candela-notice-" + m.Notice.ID, "notice", m.Now, noticeData(m.Notice)
	}
	return "candela-test-" + strconv.FormatInt(m.Now.UnixNano(), 10), "test", m.Now, []byte(testData)
}

// standardType returns the type of a notification: alert.triggered, or that of an order event such as order.filled.
func standardType(e *notify.Entry) string {
	if e.Kind != notify.Order {
		return "alert.triggered"
	}
	var record struct {
		Event string `json:"event"`
	}
	if err := json.Unmarshal(e.Data, &record); err != nil || record.Event == "" {
		return "order_event"
	}
	return strings.Replace(record.Event, "_", ".", 1)
}
