package lists_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/goassay/assay/engine/lists"
)

func TestMap(t *testing.T) {
	if got := lists.Map([]int{1, 2}, strconv.Itoa); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("got %q", got)
	}
	if lists.Map(nil, strconv.Itoa) != nil || lists.Map([]int{}, strconv.Itoa) == nil {
		t.Error("nil is the list of nil alone")
	}
}

func TestFilter(t *testing.T) {
	even := func(n int) bool { return n%2 == 0 }
	if got := lists.Filter([]int{1, 2, 3, 4}, even); !slices.Equal(got, []int{2, 4}) {
		t.Errorf("got %d", got)
	}
	if lists.Filter([]int{1}, even) != nil {
		t.Error("expected nil where nothing is kept")
	}
}
