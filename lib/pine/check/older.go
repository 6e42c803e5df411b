package check

import "candela/lib/pine/convert"

// olderName returns the fix for a name of versions up to 4, empty if it is none.
func (c *checker) olderName(name string) string {
	if young := convert.NewName(name); young != "" {
		return "Write " + young + "."
	}
	return ""
}
