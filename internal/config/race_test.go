//go:build race

package config

const raceDetector = true
