// tests/support/load.go: a program of Go that counts the calls of its functions: stacks that grow and move, many
// goroutines, garbage collections, methods, closures, generics and inlined functions.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	deepCalls = iota
	evenCalls
	oddCalls
	addCalls
	valueCalls
	mapCalls
	closureCalls
	smallCalls
	outerCalls
	bigCalls
	panicCalls
	switchCalls
	count
)

var names = [count]string{"deep", "even", "odd", "Counter.Add", "Counter.Value", "apply", "work.func1", "small",
	"outer", "big", "fails", "choose"}

var counters [count]uint64

type Counter struct {
	total int
	label string
}

//go:noinline
func (c *Counter) Add(by int) int {
	atomic.AddUint64(&counters[addCalls], 1)
	c.total += by
	return c.total
}

//go:noinline
func (c Counter) Value(scale int) int {
	atomic.AddUint64(&counters[valueCalls], 1)
	return c.total * scale
}

// The stack grows with the depth: it is copied several times.
//
//go:noinline
func deep(depth int) int {
	atomic.AddUint64(&counters[deepCalls], 1)
	var room [32]int
	room[depth%32] = depth
	if depth == 0 {
		return 1
	}
	return deep(depth-1) + room[depth%32] - depth
}

//go:noinline
func even(n int) bool {
	atomic.AddUint64(&counters[evenCalls], 1)
	return n == 0 || odd(n-1)
}

//go:noinline
func odd(n int) bool {
	atomic.AddUint64(&counters[oddCalls], 1)
	return n != 0 && even(n-1)
}

//go:noinline
func apply[A any, B any](in []A, f func(A) B) []B {
	atomic.AddUint64(&counters[mapCalls], 1)
	out := make([]B, 0, len(in))
	for _, one := range in {
		out = append(out, f(one))
	}
	return out
}

func small(a, b int) int {
	atomic.AddUint64(&counters[smallCalls], 1)
	if a > b {
		return a*3 + b
	}
	return b ^ a
}

func outer(a int) int {
	atomic.AddUint64(&counters[outerCalls], 1)
	return small(a, 5) + small(3, a)
}

// A frame larger than the guard of the stack.
//
//go:noinline
func big(n int) int {
	atomic.AddUint64(&counters[bigCalls], 1)
	var room [1000]int
	for i := range room {
		room[i] = n + i
	}
	return room[n%1000] + room[(n*7)%1000]
}

//go:noinline
func fails(n int) (result int) {
	atomic.AddUint64(&counters[panicCalls], 1)
	defer func() {
		if recover() != nil {
			result = -1
		}
	}()
	if n%3 == 0 {
		panic("no")
	}
	return n
}

//go:noinline
func choose(n int) int {
	atomic.AddUint64(&counters[switchCalls], 1)
	switch n % 12 {
	case 0:
		return n + 1
	case 1:
		return n * 3
	case 2:
		return n - 7
	case 3:
		return n ^ 9
	case 4:
		return n << 2
	case 5:
		return n & 77
	case 6:
		return n | 5
	case 7:
		return -n
	case 8:
		return n / 3
	case 9:
		return n % 5
	}
	return n
}

//go:noinline
func work(id, rounds int) int {
	counter := &Counter{label: fmt.Sprint("worker ", id)}
	sum := 0
	for i := 0; i < rounds; i++ {
		sum += deep(40 + 10*(i%20))
		if even(i % 50) {
			sum++
		}
		sum += counter.Add(i) + counter.Value(2)
		sum += small(i, id) + outer(i) + big(i) + fails(i) + choose(i)
		one := i
		texts := apply([]int{1, 2, 3}, func(x int) string {
			atomic.AddUint64(&counters[closureCalls], 1)
			return strings.Repeat("x", x+one%3)
		})
		sum += len(strings.Join(texts, ""))
	}
	return sum
}

func main() {
	workers, rounds := 16, 40
	results := make([]int, workers)
	var done sync.WaitGroup
	stop := make(chan struct{})
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	for id := 0; id < workers; id++ {
		done.Add(1)
		go func(id int) {
			defer done.Done()
			results[id] = work(id, rounds)
		}(id)
	}
	done.Wait()
	close(stop)
	<-collected
	total := 0
	for _, result := range results {
		total = total*31 + result
	}
	fmt.Println("result", total)
	for i, name := range names {
		fmt.Println("@", name, atomic.LoadUint64(&counters[i]))
	}
	os.Exit(3)
}
