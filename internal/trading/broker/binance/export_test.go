package binance

import "candela/internal/kit/secret"

// Sign returns the signature of a payload.
func Sign(key, payload string) (string, error) {
	sign, err := newSigner(secret.New(key))
	if err != nil {
		return "", err
	}
	return sign(payload), nil
}
