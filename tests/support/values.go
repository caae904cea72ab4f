// tests/support/values.go: functions of Go with arguments of many types, which the program prints too.
package main

import (
	"fmt"
	"io"
	"os"
)

type Inner struct {
	small uint8
	word  int16
}

type Pair struct {
	left  int
	inner Inner
	text  string
}

type Shape interface{ Area() int }

type Square struct{ side int }

//go:noinline
func (s Square) Area() int { return s.side * s.side }

//go:noinline
func see(number int, text string, bytes []byte, pair Pair, pointer *Pair, flag bool, small int8) int {
	fmt.Println(number, text, string(bytes), len(bytes), cap(bytes), flag, small)
	fmt.Println(pair.left, pair.inner.small, pair.inner.word, pair.text, pointer.left, pointer.text)
	return number * 2
}

//go:noinline
func (p *Pair) scale(by int, name string) (int, string) {
	p.left *= by
	return p.left, name + p.text
}

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j int) int { return a + b*c + d*e + f*g + h*i + j }

//go:noinline
func total(shapes []Shape) int {
	sum := 0
	for _, shape := range shapes {
		sum += shape.Area()
	}
	return sum
}

func main() {
	bytes := make([]byte, 3, 8)
	copy(bytes, "abc")
	pair := Pair{left: -7, inner: Inner{200, -300}, text: "of a pair"}
	fmt.Println(see(42, "a text", bytes, pair, &pair, true, -5))
	fmt.Println(pair.scale(3, "name "))
	fmt.Println(many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
	fmt.Println(total([]Shape{Square{2}, Square{3}}))
	// Until its input ends, its mappings can be read.
	if len(os.Args) > 1 {
		io.ReadAll(os.Stdin)
	}
}
