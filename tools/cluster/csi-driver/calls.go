package main

import (
	"encoding/json"
	"os"
	"sync"
	"time"
)

// What is known of a call when it begins; a second line with the same number and process follows when it has ended.
type callBegan struct {
	Process   int             `json:"process"`
	Number    int             `json:"number"`
	Method    string          `json:"method"`
	Request   json.RawMessage `json:"request"`
	BeganAtMs int64           `json:"beganAtMs"`
}

type callEnded struct {
	Process   int             `json:"process"`
	Number    int             `json:"number"`
	Code      string          `json:"code"`
	Message   string          `json:"message,omitempty"`
	Response  json.RawMessage `json:"response,omitempty"`
	EndedAtMs int64           `json:"endedAtMs"`
}

// A record of calls that outlives the driver. It holds the secrets of requests: tests look for them.
type calls struct {
	lock   sync.Mutex
	file   *os.File
	number int
}

func openCalls(path string) (*calls, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &calls{file: file}, err
}

func (c *calls) began(method string, request json.RawMessage) int {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.number++
	c.write(callBegan{os.Getpid(), c.number, method, request, time.Now().UnixMilli()})
	return c.number
}

func (c *calls) ended(number int, code, message string, response json.RawMessage) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.write(callEnded{os.Getpid(), number, code, message, response, time.Now().UnixMilli()})
}

func (c *calls) write(line any) {
	text := must(json.Marshal(line))
	must(c.file.Write(append(text, '\n')))
}
