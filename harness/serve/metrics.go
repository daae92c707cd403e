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
			func() float64 { return float64(s.waiting.Load()) }))
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
