package binance

import (
	"candela/internal/kit/secret"
	"candela/internal/trading/venue"
)

// Sign returns the signature of a payload.
func Sign(key, payload string) (string, error) {
	sign, err := venue.NewSigner(secret.New(key))
	if err != nil {
		return "", err
	}
	return sign(payload), nil
}
