package binance

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The keys of the account, which are those of the venue's documentation.
const (
	Key    = "vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A"
	Secret = "NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j" //nolint:gosec // an example that everybody knows
)

// genuine reports whether a signature is that of the payload. One by HMAC may be in
// either case.
func (s *Server) genuine(payload, signature string) bool {
	if s.config.Ed25519 != nil {
		raw, err := base64.StdEncoding.DecodeString(signature)
		return err == nil && ed25519.Verify(s.config.Ed25519, []byte(payload), raw)
	}
	mac := hmac.New(sha256.New, []byte(Secret))
	_, _ = mac.Write([]byte(payload))
	got, err := hex.DecodeString(strings.ToLower(signature))
	return err == nil && hmac.Equal(got, mac.Sum(nil))
}

// without returns an encoded form without its signature, as it was signed.
func without(encoded string) string {
	parts := slices.DeleteFunc(strings.Split(encoded, "&"), func(p string) bool { return strings.HasPrefix(p, "signature=") })
	return strings.Join(parts, "&")
}

// checkRequest returns the parameters of a signed request, or why it is refused.
func (s *Server) checkRequest(r *http.Request) (url.Values, *refusal) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil {
		return nil, &refusal{400, -1000, "An unknown error occurred while processing the request."}
	}
	form, formErr := url.ParseQuery(string(body))
	query, queryErr := url.ParseQuery(r.URL.RawQuery)
	if formErr != nil || queryErr != nil {
		return nil, &refusal{400, -1100, "Illegal characters found in a parameter."}
	}
	maps.Copy(form, query) // which counts when both have a parameter
	for name, values := range form {
		if len(values) > 1 {
			return nil, &refusal{400, -1101, "Duplicate values for parameter '" + name + "'."}
		}
	}
	return form, s.check(r.Header.Get("X-MBX-APIKEY"), form, without(r.URL.RawQuery)+without(string(body)))
}

// checkCall returns why a signed call over the WebSocket API is refused. What is
// signed there is sorted by name.
func (s *Server) checkCall(params url.Values) *refusal {
	names := make([]string, 0, len(params))
	for name := range params {
		if name != "signature" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	pairs := make([]string, 0, len(names))
	for _, name := range names {
		pairs = append(pairs, name+"="+params.Get(name))
	}
	return s.check(params.Get("apiKey"), params, strings.Join(pairs, "&"))
}

// check judges key, time and signature, in this order.
func (s *Server) check(key string, params url.Values, payload string) *refusal {
	switch {
	case key == "":
		return &refusal{401, -2014, "API-key format invalid."}
	case key != Key:
		return &refusal{401, -2015, "Invalid API-key, IP, or permissions for action."}
	}
	for _, name := range []string{"timestamp", "signature"} {
		if params.Get(name) == "" {
			return &refusal{400, -1102, "Mandatory parameter '" + name + "' was not sent, was empty/null, or malformed."}
		}
	}
	at, err := strconv.ParseInt(params.Get("timestamp"), 10, 64)
	if err != nil {
		return &refusal{400, -1100, "Illegal characters found in parameter 'timestamp'; legal range is '^[0-9]{1,20}$'."}
	}
	window := float64(s.exchange.rules.requestWindow)
	if text := params.Get("recvWindow"); text != "" {
		if window, err = strconv.ParseFloat(text, 64); err != nil || window < 0 || window > 60_000 {
			return &refusal{400, -1131, "recvWindow must be less than 60000."}
		}
	}
	now := s.config.Now().UnixMilli()
	switch {
	case at >= now+s.exchange.rules.requestMaxAhead:
		return &refusal{400, -1021, "Timestamp for this request was 1000ms ahead of the server's time."}
	case float64(now-at) > window && !s.late.Load():
		return &refusal{400, -1021, "Timestamp for this request is outside of the recvWindow."}
	case !s.genuine(payload, params.Get("signature")):
		return &refusal{400, -1022, "Signature for this request is not valid."}
	}
	return nil
}
