//go:build !race

package oauth_test

const raceDetector = false
