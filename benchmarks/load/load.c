/* A lean load generator for length-prefixed requests, in its own process so that it costs the server under
 * test nothing but the machine.
 *
 *   load [-t] [-e AT] [-n ANSWER_BYTES] [-r RATE] HOST PORT CONNECTIONS DEPTH SECONDS REQUEST_BYTES [REQUEST_FILE]
 *
 * REQUEST_BYTES counts the body without its length; the body is zeros, or what the file holds. Closed loop:
 * each connection keeps DEPTH requests outstanding and sends the next when an answer is whole, so a server that
 * stalls is asked less: throughput is honest, the latencies are only those of answers that were asked for.
 * Open loop (-r): requests are due RATE times a second, spread over the connections, whether earlier ones were
 * answered or not, and latency counts from when a request was due: a stall is felt by all that it delays. What was due
 * by the end is waited for, DRAIN_NS at most, or a stall at the end would be the one that nobody feels.
 *
 *   -t    TLS 1.2 or newer, the certificate not checked; needs a build with -DWITH_TLS
 *   -e    at this place of the body are four bytes that count up from one request to the next (a fetch
 *         session's epoch); one connection, depth 1
 *   -n    no lengths: the request goes out as it is, and each answer has so many bytes (HTTP)
 *
 * Answers are read and thrown away; how long the shortest and the longest were is told, which shows errors.
 * Latency is to the answer's last byte, in a histogram of 1 us. Prints one line of JSON.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

#define BUCKETS 10000000
#define OUTSTANDING_MAX 4096
#define READ_BYTES (256 * 1024)
#define DRAIN_NS 5000000000u

typedef struct {
    int fd;
    unsigned char head[4];
    int head_have;
    uint64_t body_left, body_bytes;
    uint64_t *sent_ns; /* a ring of OUTSTANDING_MAX */
    unsigned first, next;
    size_t out_left; /* bytes of the request stream not taken by the socket yet */
    int wants_out;
#ifdef WITH_TLS
    SSL *tls;
#endif
} Connection;

static unsigned char *request;
static size_t request_bytes;
static uint64_t fixed_answer_bytes;
static long epoch_at = -1;
static double rate;
static uint32_t *histogram;
static uint64_t answers, bytes, shortest = UINT64_MAX, longest, refused;
static int epoll_fd;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Like recv and send on a socket that does not block: -1 with EAGAIN when there is nothing to be done now. */
static ssize_t receive(Connection *c, void *to, size_t n) {
#ifdef WITH_TLS
    if (c->tls) {
        ERR_clear_error();
        int got = SSL_read(c->tls, to, (int)n);
        if (got > 0) return got;
        int why = SSL_get_error(c->tls, got);
        errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
        return -1;
    }
#endif
    return recv(c->fd, to, n, MSG_DONTWAIT);
}

static ssize_t transmit(Connection *c, const void *from, size_t n) {
#ifdef WITH_TLS
    if (c->tls) {
        ERR_clear_error();
        int put = SSL_write(c->tls, from, (int)n);
        if (put > 0) return put;
        int why = SSL_get_error(c->tls, put);
        errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
        return -1;
    }
#endif
    return send(c->fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void flush_out(Connection *c) {
    while (c->out_left > 0) {
        size_t in_request = c->out_left % request_bytes;
        size_t piece = in_request ? in_request : request_bytes;
        ssize_t n = transmit(c, request + (request_bytes - piece), piece);
        if (n < 0) {
            if (errno == EAGAIN) break;
            fail("send");
        }
        c->out_left -= (size_t)n;
    }
    int wants_out = c->out_left > 0;
    if (wants_out != c->wants_out) {
        struct epoll_event e = {.events = EPOLLIN | (wants_out ? EPOLLOUT : 0), .data.ptr = c};
        epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
        c->wants_out = wants_out;
    }
}

static void ask(Connection *c, uint64_t due_ns) {
    if (c->next - c->first == OUTSTANDING_MAX) {
        refused++; /* told at the end: such a run is not to be used */
        return;
    }
    if (epoch_at >= 0 && c->next > 0) {
        unsigned char *at = request + 4 + epoch_at;
        for (int i = 3; i >= 0 && ++at[i] == 0; i--) continue;
    }
    c->sent_ns[c->next++ % OUTSTANDING_MAX] = due_ns;
    c->out_left += request_bytes;
}

static void answered(Connection *c, int *asked) {
    uint64_t now = now_ns(), us = (now - c->sent_ns[c->first++ % OUTSTANDING_MAX]) / 1000;
    histogram[us < BUCKETS ? us : BUCKETS - 1]++;
    answers++;
    if (c->body_bytes < shortest) shortest = c->body_bytes;
    if (c->body_bytes > longest) longest = c->body_bytes;
    c->head_have = 0;
    if (fixed_answer_bytes) {
        c->head_have = 4;
        c->body_left = c->body_bytes = fixed_answer_bytes;
    }
    if (rate == 0) {
        ask(c, now);
        *asked = 1;
    }
}

static void take(Connection *c, const unsigned char *data, size_t n) {
    int asked = 0;
    bytes += n;
    while (n > 0) {
        if (c->head_have < 4) {
            c->head[c->head_have++] = *data++;
            n--;
            if (c->head_have < 4) continue;
            c->body_left = (uint64_t)c->head[0] << 24 | c->head[1] << 16 | c->head[2] << 8 | c->head[3];
            c->body_bytes = c->body_left;
            if (c->body_left > 0) continue;
        } else {
            size_t piece = n < c->body_left ? n : c->body_left;
            data += piece;
            n -= piece;
            c->body_left -= piece;
            if (c->body_left > 0) continue;
        }
        answered(c, &asked);
    }
    if (asked) flush_out(c);
}

static double percentile(double share) {
    uint64_t wanted = (uint64_t)(share * (double)answers), seen = 0;
    for (int i = 0; i < BUCKETS; i++) {
        seen += histogram[i];
        if (seen > wanted) return i;
    }
    return BUCKETS;
}

static void connect_one(Connection *c, const struct sockaddr_in *to, int with_tls) {
    int one = 1;
    c->sent_ns = calloc(OUTSTANDING_MAX, sizeof *c->sent_ns);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (const struct sockaddr *)to, sizeof *to)) fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (fixed_answer_bytes) {
        c->head_have = 4;
        c->body_left = c->body_bytes = fixed_answer_bytes;
    }
    if (with_tls) {
#ifdef WITH_TLS
        static SSL_CTX *context;
        if (!context) {
            context = SSL_CTX_new(TLS_client_method());
            SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
            SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        }
        c->tls = SSL_new(context);
        SSL_set_fd(c->tls, c->fd);
        if (SSL_connect(c->tls) != 1) {
            ERR_print_errors_fp(stderr);
            exit(1);
        }
#else
        fprintf(stderr, "built without TLS\n");
        exit(2);
#endif
    }
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &e);
}

static void read_request(size_t body_bytes, const char *path) {
    size_t prefix = fixed_answer_bytes ? 0 : 4;
    request_bytes = body_bytes + prefix;
    request = calloc(1, request_bytes);
    uint32_t length = htonl((uint32_t)body_bytes);
    if (prefix) memcpy(request, &length, 4);
    if (!path) return;
    FILE *file = fopen(path, "rb");
    if (!file || fread(request + prefix, 1, body_bytes, file) != body_bytes) fail("request file");
    fclose(file);
}

/* What is due by now, and before the end, is asked for; returns when the next one is due. */
static uint64_t ask_due(Connection *connections, int count, uint64_t start, uint64_t end, uint64_t *number) {
    uint64_t now = now_ns();
    for (;;) {
        uint64_t due = start + (uint64_t)((double)*number * 1e9 / rate);
        if (due > now || due >= end) return due;
        Connection *c = &connections[*number % (uint64_t)count];
        ask(c, due);
        flush_out(c);
        ++*number;
    }
}

static void wait_until(int timer_fd, uint64_t due) {
    struct itimerspec at = {.it_value = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)}};
    timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void report(double took, uint64_t due) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double cpu_s = (double)use.ru_utime.tv_sec + use.ru_stime.tv_sec + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    printf("{\"answers\": %llu, \"per_second\": %.1f, \"gigabytes_per_second\": %.4f, \"p50_us\": %.0f,"
           " \"p99_us\": %.0f, \"p999_us\": %.0f, \"max_us\": %.0f, \"cpu_s\": %.3f, \"seconds\": %.3f,"
           " \"shortest\": %llu, \"longest\": %llu, \"unanswered\": %llu, \"not_asked\": %llu}\n",
           (unsigned long long)answers, (double)answers / took, (double)bytes / took / 1e9, percentile(0.5),
           percentile(0.99), percentile(0.999), percentile(0.9999999), cpu_s, took,
           (unsigned long long)(answers ? shortest : 0), (unsigned long long)longest,
           (unsigned long long)(due > answers + refused ? due - answers - refused : 0), (unsigned long long)refused);
}

int main(int argc, char **argv) {
    int with_tls = 0, option;
    while ((option = getopt(argc, argv, "te:n:r:")) != -1) {
        if (option == 't') with_tls = 1;
        else if (option == 'e') epoch_at = atol(optarg);
        else if (option == 'n') fixed_answer_bytes = (uint64_t)atoll(optarg);
        else if (option == 'r') rate = atof(optarg);
        else return 2;
    }
    argc -= optind;
    argv += optind;
    if (argc != 6 && argc != 7) {
        fprintf(stderr, "usage: load [-t] [-e AT] [-n ANSWER_BYTES] [-r RATE]"
                        " HOST PORT CONNECTIONS DEPTH SECONDS REQUEST_BYTES [REQUEST_FILE]\n");
        return 2;
    }
    int count = atoi(argv[2]), depth = atoi(argv[3]);
    double seconds = atof(argv[4]);
    if (count < 1 || depth < 1 || depth > OUTSTANDING_MAX / 2) return 2;
    read_request((size_t)atol(argv[5]), argc == 7 ? argv[6] : NULL);
    histogram = calloc(BUCKETS, sizeof *histogram);
    unsigned char *buffer = malloc(READ_BYTES);
    Connection *connections = calloc((size_t)count, sizeof *connections);
    epoll_fd = epoll_create1(0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    inet_pton(AF_INET, argv[0], &to.sin_addr);
    for (int i = 0; i < count; i++) connect_one(&connections[i], &to, with_tls);
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL}, events[256];
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &e);
    uint64_t start = now_ns(), end = start + (uint64_t)(seconds * 1e9), due_number = 0;
    if (rate > 0) wait_until(timer_fd, start + 1);
    for (int i = 0; i < count && rate == 0; i++) {
        for (int d = 0; d < depth; d++) ask(&connections[i], now_ns());
        flush_out(&connections[i]);
    }
    for (uint64_t now = start; now < end || (rate > 0 && answers + refused < due_number && now < end + DRAIN_NS);
         now = now_ns()) {
        int n = epoll_wait(epoll_fd, events, 256, 100);
        for (int i = 0; i < n; i++) {
            Connection *c = events[i].data.ptr;
            if (c == NULL) {
                uint64_t expirations;
                if (read(timer_fd, &expirations, sizeof expirations) > 0) {
                    uint64_t due = ask_due(connections, count, start, end, &due_number);
                    if (due < end) wait_until(timer_fd, due);
                }
                continue;
            }
            if (events[i].events & EPOLLOUT) flush_out(c);
            if (!(events[i].events & ~(uint32_t)EPOLLOUT)) continue;
            /* TLS keeps what it has decrypted to itself, where epoll does not see it. */
            do {
                ssize_t got = receive(c, buffer, READ_BYTES);
                if (got < 0 && errno == EAGAIN) break;
                if (got <= 0) fail("recv");
                take(c, buffer, (size_t)got);
            } while (with_tls && now_ns() < end);
        }
    }
    report((double)(now_ns() - start) / 1e9, due_number);
    return 0;
}
