package binance

import "candela/internal/config"

// Sign returns the signature of a payload.
func Sign(secret, payload string) (string, error) {
	sign, err := newSigner(config.NewSecret(secret))
	if err != nil {
		return "", err
	}
	return sign(payload), nil
}
