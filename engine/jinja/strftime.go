package jinja

import (
	"fmt"
	"strings"
	"time"
)

// strftime is Python's datetime.strftime of a naive datetime in the C locale, with glibc's flags
// (-, _, 0, ^, #), widths and modifiers. An unknown directive is kept as it is.
func strftime(e *eval, t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		start := i
		flag := byte(0)
		upper, swap := false, false
		for i++; i < len(format) && strings.IndexByte("-_0^#", format[i]) >= 0; i++ {
			switch format[i] {
			case '^':
				upper = true
			case '#':
				swap = true
			default:
				flag = format[i]
			}
		}
		width := 0
		for ; i < len(format) && isDigit(format[i]); i++ {
			if width = width*10 + int(format[i]-'0'); width > maxWidth {
				panic(errf(LimitError, "a date format with a width of more than %d", maxWidth))
			}
		}
		if i < len(format) && (format[i] == 'E' || format[i] == 'O') {
			i++
		}
		if i >= len(format) {
			b.WriteString(format[start:])
			break
		}
		text, pad, digits, ok := directive(t, format[i])
		if !ok {
			b.WriteString(format[start : i+1])
			continue
		}
		if flag != 0 {
			pad = flag
		}
		if digits > 0 { // a number
			text = strings.TrimLeft(text, " 0")
			if text == "" {
				text = "0"
			}
		}
		switch {
		case upper:
			text = strings.ToUpper(text)
		case swap && format[i] == 'p' || swap && format[i] == 'Z':
			text = strings.ToLower(text)
		case swap && digits == 0:
			text = strings.ToUpper(text)
		}
		if pad == '-' {
			digits = 0
		}
		fill := " "
		if pad == '0' {
			fill = "0"
		}
		e.charge(width)
		b.WriteString(strings.Repeat(fill, max(max(width, digits)-len(text), 0)))
		b.WriteString(text)
	}
	return b.String()
}

// directive writes one directive. digits is the width of a number, 0 for other text; pad is its
// padding.
func directive(t time.Time, c byte) (text string, pad byte, digits int, ok bool) {
	number := func(n, digits int) (string, byte, int, bool) {
		return fmt.Sprint(n), '0', digits, true
	}
	blank := func(n, digits int) (string, byte, int, bool) {
		return fmt.Sprint(n), '_', digits, true
	}
	plain := func(layout string) (string, byte, int, bool) { return t.Format(layout), '_', 0, true }
	hour12 := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	switch c {
	case 'a':
		return plain("Mon")
	case 'A':
		return plain("Monday")
	case 'b', 'h':
		return plain("Jan")
	case 'B':
		return plain("January")
	case 'c':
		return plain("Mon Jan _2 15:04:05 2006")
	case 'C':
		return number(t.Year()/100, 2)
	case 'd':
		return number(t.Day(), 2)
	case 'D', 'x':
		return plain("01/02/06")
	case 'e':
		return blank(t.Day(), 2)
	case 'F':
		return plain("2006-01-02")
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), '_', 0, true
	case 'g':
		return number(isoYear%100, 2)
	case 'G':
		return number(isoYear, 4)
	case 'H':
		return number(t.Hour(), 2)
	case 'I':
		return number(hour12, 2)
	case 'j':
		return number(t.YearDay(), 3)
	case 'k':
		return blank(t.Hour(), 2)
	case 'l':
		return blank(hour12, 2)
	case 'm':
		return number(int(t.Month()), 2)
	case 'M':
		return number(t.Minute(), 2)
	case 'n':
		return "\n", '_', 0, true
	case 'p':
		return plain("PM")
	case 'P':
		return strings.ToLower(t.Format("PM")), '_', 0, true
	case 'r':
		return plain("03:04:05 PM")
	case 'R':
		return plain("15:04")
	case 's':
		return fmt.Sprint(t.Unix()), '0', 1, true
	case 'S':
		return number(t.Second(), 2)
	case 't':
		return "\t", '_', 0, true
	case 'T', 'X':
		return plain("15:04:05")
	case 'u':
		return number((int(t.Weekday())+6)%7+1, 1)
	case 'U':
		return number((t.YearDay()+6-int(t.Weekday()))/7, 2)
	case 'V':
		return number(isoWeek, 2)
	case 'w':
		return number(int(t.Weekday()), 1)
	case 'W':
		return number((t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2)
	case 'y':
		return number(t.Year()%100, 2)
	case 'Y':
		return number(t.Year(), 1)
	case 'z', 'Z': // a naive datetime has no zone
		return "", '_', 0, true
	case '%':
		return "%", '_', 0, true
	}
	return "", 0, 0, false
}
