package schema

// formats are the string formats that can be told from the text alone, as patterns (RFC 3339, RFC
// 9562, RFC 4122's form of a UUID, dotted IPv4). Others are ignored with a note.
var formats = map[string]string{
	"date":      `^` + datePattern + `$`,
	"time":      `^` + timePattern + `$`,
	"date-time": `^` + datePattern + `T` + timePattern + `$`,
	"uuid":      `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`,
	"ipv4":      `^` + octet + `(\.` + octet + `){3}$`,
	"duration":  `^P(\d+W|(\d+Y(\d+M(\d+D)?)?|\d+M(\d+D)?|\d+D)(T` + durationTime + `)?|T` + durationTime + `)$`,
}

const (
	datePattern  = `\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`
	timePattern  = `([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)`
	octet        = `(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
	durationTime = `(\d+H(\d+M(\d+S)?)?|\d+M(\d+S)?|\d+S)`
)
