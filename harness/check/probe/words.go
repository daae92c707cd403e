package probe

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/ordered"
)

// Variables are the names of the variables that servers and templates have in common.
var Variables = append([]string{"messages", "tools", "add_generation_prompt", "bos_token",
	"eos_token", "documents", "reasoning_effort"}, caps.ThinkingNames...)

// Roles are the protocol's roles.
var Roles = []string{"system", "developer", "user", "assistant", "tool"}

func Plural(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// plain has the words of people for the names of capabilities.
var plain = strings.NewReplacer(
	DescribesTools+"=false", "it describes no tools",
	ReplaysCalls+"=false", "it writes no calls",
	DescribesTools+" not judged", "whether it describes tools is not known",
	ReplaysCalls+" not judged", "whether it writes calls is not known")

// Plain returns a text for people, which names no capability.
func Plain(text string) string { return plain.Replace(text) }

// FirstLine is the first line of an error.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func JSON(s string) string { return ordered.Str(s).String() }

func Article(name string) string {
	if strings.ContainsRune("aeio", rune(name[0])) { // a user message
		return "an " + name
	}
	return "a " + name
}

// Message names a message that Told has told of: "user with an image".
func Message(told string) string {
	role, with, apart := strings.Cut(told, " with")
	if role = Article(role + " message"); apart {
		role += " with" + with
	}
	return role
}
