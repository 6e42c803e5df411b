package binance

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/secret"
	"candela/internal/kit/sendby"
)

// recvWindow is how late a request may arrive: the venue does not carry out what is
// older, so that an order held up on the way does not appear long after it was given up.
const recvWindow = 5 * time.Second

// widest is the window of a question.
func widest() time.Duration { return recvWindow }

// windowOf returns the window of a change with ctx: what was allowed for a while may not
// arrive much later.
func windowOf(ctx context.Context) func() time.Duration {
	return func() time.Duration {
		left, limited := sendby.Left(ctx)
		if !limited {
			return recvWindow
		}
		return min(recvWindow, max(left, 0)+sendby.Travel)
	}
}

// signer returns the signature of a payload.
type signer func(payload string) string

// newSigner selects the algorithm by the secret's form. Its error omits the secret.
func newSigner(secret secret.Text) (signer, error) {
	text := strings.TrimSpace(secret.Reveal())
	switch {
	case text == "":
		return nil, errors.New("binance: no secret")
	case strings.HasPrefix(text, "-----BEGIN"):
		return newEd25519(text)
	}
	return func(payload string) string {
		mac := hmac.New(sha256.New, []byte(text))
		_, _ = mac.Write([]byte(payload))
		return hex.EncodeToString(mac.Sum(nil))
	}, nil
}

func newEd25519(text string) (signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("binance: the secret begins like PEM and cannot be read")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("binance: the secret is no PKCS #8 private key without a passphrase")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("binance: the secret is a private key of another kind than Ed25519: %T", parsed)
	}
	return func(payload string) string {
		return base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(payload)))
	}, nil
}

// stamp returns the venue's time as it is signed.
func (b *Broker) stamp() string { return strconv.FormatInt(b.clock.now().UnixMilli(), 10) }

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
