/* policy.c: the defaults of every option (policy.h). */
#include <belay/policy.h>

struct belay_policy belay_policy_default(void)
{
    struct belay_policy policy = {
        .deadline_for = belay_span_ms(10000),
        .reserve_for = belay_span_ms(5),
        .connect_timeout_for = belay_span_ms(300),
        .tls_timeout_for = belay_span_ms(1000),
        .silence_timeout_for = belay_span_ms(5000),
        .attempts_max = 3,
        .backoff = {BELAY_BACKOFF_ADDITIVE, belay_span_ms(200), belay_span_ms(5000)},
        .retry_on = belay_retry_on_default(),
        .budget = {.ratio_ppm = 100000, .burst = 10},
        .breaker = {.enabled = true,
                    .window = belay_span_ms(10000),
                    .min_calls = 20,
                    .failure_ppm = 500000,
                    .slow_ppm = 1000000,
                    .consecutive = 10,
                    .open_for = belay_span_ms(5000),
                    .open_max = belay_span_ms(60000),
                    .probes = 1,
                    .probe_successes = 1,
                    .min_timeout = belay_span_ms(100)},
        .bulkhead = {.enabled = true, .max = 64},
        .quota = {.burst = 10},
        .hold = {.max = belay_span_ms(60000),
                 .scope = BELAY_HOLD_TARGET,
                 .pace = belay_span_ms(10)},
        .replay_buffer_bytes_max = (size_t)256 * 1024,
        .held_answer_bytes_max = (size_t)16 * 1024,
        .idle_for = belay_span_ms(4000),
        .idle_max = 256,
    };
    return policy;
}
