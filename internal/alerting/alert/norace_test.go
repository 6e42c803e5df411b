//go:build !race

package alert_test

const raceDetector = false
