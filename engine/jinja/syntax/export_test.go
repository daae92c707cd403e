package syntax

// ExprString prints an expression on one line.
func ExprString(x Expr) string {
	p := &printer{}
	p.expr(x)
	return p.b.String()
}
