package engines

// HTML returns one page that stands alone.
func (m *Matrix) HTML() string { return "" }
