package serve

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what /metrics shows. Nothing in them comes from a request's text.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	firsts   *prometheus.HistogramVec
}

func newMetrics(s *Server) *metrics {
	buckets := []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 60, 300}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "assay_requests_total",
			Help: "Requests that were answered or refused, by protocol and HTTP status; 499: " +
				"the client went away."}, []string{"protocol", "status"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "assay_tokens_total",
			Help: "Tokens of prompts and of answers."}, []string{"protocol", "kind"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "assay_request_seconds", Buckets: buckets,
			Help: "Time of requests from their header to the end of their answer."},
			[]string{"protocol"}),
		firsts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "assay_first_text_seconds", Buckets: buckets,
			Help: "Time of requests from their header to the model's first text."},
			[]string{"protocol"}),
	}
	m.registry.MustRegister(m.requests, m.tokens, m.seconds, m.firsts,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assay_requests_running",
			Help: "Requests that run."}, func() float64 { return float64(len(s.running)) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assay_requests_waiting",
			Help: "Requests that wait for their turn."},
			func() float64 { return float64(s.waiting.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assay_held_bytes",
			Help: "Memory that requests are charged for until they are answered."},
			func() float64 { return float64(s.budget.held.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assay_held_bytes_limit",
			Help: "The most of it; requests beyond it are refused for now."},
			func() float64 { return float64(s.budget.limit) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assay_working_bytes",
			Help: "Memory that requests are charged for while their prompts and parsers are made."},
			func() float64 { return float64(s.budget.working.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assay_working_bytes_limit",
			Help: "The most of it; requests wait for it."},
			func() float64 { return float64(s.budget.most) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "assay_worked_bytes_total",
			Help: "All memory that requests were charged for while they were prepared."},
			func() float64 { return float64(s.budget.worked.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "assay_memory_refused_total",
			Help: "Requests and answers that were broken off for want of memory to hold them."},
			func() float64 { return float64(s.budget.refused.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assay_connections",
			Help: "Open connections."}, func() float64 {
			s.conns.mu.Lock()
			defer s.conns.mu.Unlock()
			return float64(s.conns.open)
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assay_connections_limit",
			Help: "The most of them."}, func() float64 { return float64(s.conns.limit) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "assay_connections_closed_total",
			Help: "Connections that were closed to make room for others, or for want of room."},
			func() float64 { return float64(s.conns.closed.Load()) }))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// first notes the time of an answer's first text.
func (m *metrics) first(a *asked) {
	m.firsts.WithLabelValues(a.protocol.Name()).Observe(a.first.Seconds())
}

// done notes the end of a request.
func (m *metrics) done(a *asked, code int) {
	name := a.protocol.Name()
	m.requests.WithLabelValues(name, strconv.Itoa(code)).Inc()
	m.seconds.WithLabelValues(name).Observe(a.elapsed.Seconds())
	m.tokens.WithLabelValues(name, "prompt").Add(float64(a.usage.Prompt))
	m.tokens.WithLabelValues(name, "completion").Add(float64(a.usage.Completion))
}
