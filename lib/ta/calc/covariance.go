package calc

import "math"

// Covariance returns the sum of the products of two columns' distances from their means,
// and the sums of the squares. A column whose values are equal but for rounding has a sum
// of squares of 0. A missing value makes all of them NaN.
func Covariance(x, y []float64) (products, squaresX, squaresY float64) {
	y = y[:len(x)]
	meanX, meanY := 0.0, 0.0
	for i := range x {
		meanX += x[i]
		meanY += y[i]
	}
	meanX /= float64(len(x))
	meanY /= float64(len(x))
	sizeX, sizeY := 0.0, 0.0
	for i := range x {
		dx, dy := x[i]-meanX, y[i]-meanY
		products += float64(dx * dy)
		squaresX += float64(dx * dx)
		squaresY += float64(dy * dy)
		sizeX, sizeY = max(sizeX, math.Abs(x[i])), max(sizeY, math.Abs(y[i]))
	}
	return products, moved(squaresX, sizeX, len(x)), moved(squaresY, sizeY, len(x))
}

// moved is a sum of n squares, or 0 if the distances are rounding of values of this size.
func moved(squares, size float64, n int) float64 {
	if root := math.Sqrt(squares / float64(n)); Difference(size+root, size) == 0 {
		return 0
	}
	return squares
}
