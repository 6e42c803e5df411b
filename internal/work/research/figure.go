package research

import (
	"math"
	"strconv"
)

// Figure is a number with at most six digits; one that cannot be computed is null.
type Figure float64

// MarshalJSON implements [json.Marshaler].
func (f Figure) MarshalJSON() ([]byte, error) {
	x := float64(f)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return []byte("null"), nil
	}
	if math.Abs(x) >= 1e6 {
		return strconv.AppendFloat(nil, math.Round(x), 'f', -1, 64), nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return nil, err
	}
	return strconv.AppendFloat(nil, rounded, 'f', -1, 64), nil
}
