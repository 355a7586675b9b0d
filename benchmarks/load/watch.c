/* Consumers that wait: many connections with a long poll each, and a producer that wakes them by the clock.
 *
 *   watch [options] HOST PORT
 *
 *   -c FILE        request that each connection sends first, for the broker to know it by
 *   -P N -p FILE   N connections whose fetch stays parked: the request is sent once
 *   -W N -w FILE   N watchers that fetch, and fetch on from what they got
 *   -o AT -O FIRST where the fetch's offset lies in the request's body, and the first offset
 *   -l AT [-f]     where the length of the records lies in an answer's body; -f: as a varint (flexible versions)
 *   -a FILE        request that appends one record
 *   -r RATE -s S   appends a second, by the clock, and for how long
 *   -E             no appends: one watcher reads until an answer has no records; tells bytes and seconds
 *
 * FILEs hold bodies, without a length. It says "connected", waits for a line on standard input, parks, says
 * "parked", waits for a line, runs, and prints one line of JSON. How long a record took counts from when its append was
 * due, not from when it was sent, so that what waits behind a stall is counted with its wait. Records are known by
 * their offsets: the append that was due as number k has offset FIRST + k, so nobody else may write.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
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

#define BUCKETS 20000000
#define ANSWER_BYTES_MAX (80u << 20)
#define BATCH_HEADER_BYTES 61
#define DRAIN_NS 10000000000ull
#define SETTLE_NS 500000000ull
#define LAST_SLEEP_NS 20000000u

enum Kind { PARKED, WATCHER, PRODUCER };

typedef struct {
    int fd;
    enum Kind kind;
    unsigned char *data; /* length and body of the answer on its way */
    size_t have, room;
    uint64_t offset;
} Connection;

typedef struct {
    unsigned char *bytes; /* with the length before the body */
    size_t length;
} Request;

static uint64_t first_offset, answers, deliveries, bytes_read;
static long offset_at = -1, length_at = -1;
static int is_flexible, until_empty, is_at_end;
static Request watch_request;
static uint32_t *histogram;
static uint64_t appends_max, due_start, *first_ns, *last_ns;
static uint32_t *seen;
static double rate = 1;
static int watchers_count;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t big_endian(const unsigned char *at, int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; i++) value = value << 8 | at[i];
    return value;
}

static Request read_request(const char *path) {
    Request made = {malloc(4 << 20), 0};
    FILE *file = fopen(path, "rb");
    if (!file) fail(path);
    made.length = fread(made.bytes + 4, 1, (4 << 20) - 4, file) + 4;
    fclose(file);
    uint32_t length = htonl((uint32_t)(made.length - 4));
    memcpy(made.bytes, &length, 4);
    return made;
}

static void transmit(Connection *c, const Request *request) {
    size_t sent = 0;
    while (sent < request->length) {
        ssize_t n = send(c->fd, request->bytes + sent, request->length - sent, MSG_NOSIGNAL);
        if (n < 0) fail("send");
        sent += (size_t)n;
    }
}

static void fetch(Connection *c) {
    for (int i = 0; i < 8; i++) watch_request.bytes[4 + offset_at + i] = (unsigned char)(c->offset >> (56 - 8 * i));
    transmit(c, &watch_request);
}

static uint64_t due_ns(uint64_t number) { return due_start + (uint64_t)((double)number * 1e9 / rate); }

static void delivered(uint64_t offset, uint64_t now) {
    if (until_empty || offset < first_offset || offset - first_offset >= appends_max) return;
    uint64_t number = offset - first_offset, us = (now - due_ns(number)) / 1000;
    histogram[us < BUCKETS ? us : BUCKETS - 1]++;
    deliveries++;
    if (!first_ns[number]) first_ns[number] = now;
    last_ns[number] = now;
    seen[number]++;
}

/* Takes the records out of a whole answer; asks for the next ones. */
static void take_answer(Connection *c, size_t body_bytes) {
    unsigned char *body = c->data + 4, *at = body + length_at, *end = body + body_bytes;
    uint64_t now = now_ns(), records_bytes = 0;
    answers++;
    bytes_read += body_bytes;
    if (c->kind != WATCHER) {
        if (c->kind == PARKED) fprintf(stderr, "a parked fetch was answered\n"), exit(1);
        return;
    }
    /* Brokers may leave out a partition without records. */
    if (at < end && is_flexible) {
        int shift = 0;
        do records_bytes |= (uint64_t)(*at & 0x7f) << shift, shift += 7;
        while (*at++ & 0x80 && at < end);
        records_bytes = records_bytes ? records_bytes - 1 : 0;
    } else if (at + 4 <= end) {
        int32_t length = (int32_t)big_endian(at, 4);
        records_bytes = length > 0 ? (uint64_t)length : 0;
        at += 4;
    }
    if (records_bytes > (uint64_t)(end - at)) records_bytes = 0;
    int is_empty = 1;
    for (unsigned char *stop = at + records_bytes; at + BATCH_HEADER_BYTES <= stop;) {
        uint64_t base = big_endian(at, 8), length = big_endian(at + 8, 4) + 12;
        if (at + length > stop) break; /* the last batch may be cut off */
        uint64_t last = base + big_endian(at + 23, 4);
        for (uint64_t offset = base > c->offset ? base : c->offset; offset <= last; offset++) delivered(offset, now);
        if (last >= c->offset) c->offset = last + 1, is_empty = 0;
        at += length;
    }
    if (until_empty && is_empty) is_at_end = 1;
    else fetch(c);
}

static void read_some(Connection *c) {
    for (;;) {
        if (c->have == c->room) {
            c->room = c->room ? c->room * 2 : 512;
            c->data = realloc(c->data, c->room);
        }
        ssize_t n = recv(c->fd, c->data + c->have, c->room - c->have, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) fprintf(stderr, "the broker closed a connection\n"), exit(1);
        c->have += (size_t)n;
        while (c->have >= 4) {
            uint64_t body = big_endian(c->data, 4);
            if (body > ANSWER_BYTES_MAX) fprintf(stderr, "an answer of %llu bytes\n", (unsigned long long)body), exit(1);
            if (c->have < 4 + body) {
                if (c->room < 4 + body) c->data = realloc(c->data, c->room = 4 + body);
                break;
            }
            take_answer(c, body);
            c->have -= 4 + body;
            memmove(c->data, c->data + 4 + body, c->have);
        }
        if (c->have < c->room) return;
    }
}

static double percentile(const uint32_t *counts, uint64_t total, double share) {
    uint64_t wanted = (uint64_t)(share * (double)total), before = 0;
    for (int i = 0; i < BUCKETS; i++) {
        before += counts[i];
        if (before > wanted) return i;
    }
    return BUCKETS;
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void report(uint64_t appended, double seconds) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    uint64_t *first = calloc(appended + 1, sizeof *first), *last = calloc(appended + 1, sizeof *last), whole = 0;
    for (uint64_t k = 0; k < appended; k++) {
        if (seen[k] != (uint32_t)watchers_count) continue;
        first[whole] = (first_ns[k] - due_ns(k)) / 1000;
        last[whole++] = (last_ns[k] - due_ns(k)) / 1000;
    }
    qsort(first, whole, sizeof *first, ascending);
    qsort(last, whole, sizeof *last, ascending);
    printf("{\"appends\": %llu, \"deliveries\": %llu, \"missing\": %lld, \"answers\": %llu, \"bytes\": %llu, \"seconds\": %.4f,"
           " \"p50_us\": %.0f, \"p99_us\": %.0f, \"p999_us\": %.0f, \"max_us\": %.0f, \"whole\": %llu,"
           " \"first_us\": %llu, \"first_max_us\": %llu, \"last_us\": %llu, \"last_max_us\": %llu, \"cpu_s\": %.3f}\n",
           (unsigned long long)appended, (unsigned long long)deliveries,
           (long long)(appended * (uint64_t)watchers_count - deliveries), (unsigned long long)answers,
           (unsigned long long)bytes_read, seconds, percentile(histogram, deliveries, 0.5),
           percentile(histogram, deliveries, 0.99), percentile(histogram, deliveries, 0.999),
           percentile(histogram, deliveries, 0.9999999), (unsigned long long)whole,
           (unsigned long long)(whole ? first[whole / 2] : 0), (unsigned long long)(whole ? first[whole - 1] : 0),
           (unsigned long long)(whole ? last[whole / 2] : 0), (unsigned long long)(whole ? last[whole - 1] : 0),
           (double)use.ru_utime.tv_sec + use.ru_stime.tv_sec + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
}

static void connect_one(Connection *c, const struct sockaddr_in *to, const Request *greeting) {
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0) fail("socket");
    if (connect(c->fd, (const struct sockaddr *)to, sizeof *to)) fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (greeting->length == 0) return;
    transmit(c, greeting);
    unsigned char head[4];
    if (recv(c->fd, head, 4, MSG_WAITALL) != 4) fail("recv");
    uint64_t left = big_endian(head, 4);
    unsigned char answer[65536];
    while (left) {
        ssize_t n = recv(c->fd, answer, left < sizeof answer ? left : sizeof answer, 0);
        if (n <= 0) fail("recv");
        left -= (uint64_t)n;
    }
}

static void step(const char *said) {
    char line[64];
    printf("%s\n", said);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) exit(1);
}

static void serve_until(int epoll_fd, uint64_t until) {
    struct epoll_event events[512];
    uint64_t now = now_ns();
    if (until < now) until = now;
    struct timespec left = {(time_t)((until - now) / 1000000000u), (long)((until - now) % 1000000000u)};
    int n = epoll_pwait2(epoll_fd, events, 512, &left, NULL);
    for (int i = 0; i < n; i++) read_some(events[i].data.ptr);
}

/* When to wake for what is due. The kernel may end a sleep late by a thousandth of it: two steps keep that small. */
static uint64_t wake_before(uint64_t due, uint64_t now) {
    if (due > now + 2 * LAST_SLEEP_NS) return due - LAST_SLEEP_NS;
    return due > now + 200000u ? due - 100000u : 0;
}

int main(int argc, char **argv) {
    int parked = 0, option;
    double seconds = 1;
    Request greeting = {0}, park_request = {0}, append_request = {0};
    while ((option = getopt(argc, argv, "c:P:p:W:w:o:O:l:fa:r:s:E")) != -1) {
        if (option == 'c') greeting = read_request(optarg);
        else if (option == 'P') parked = atoi(optarg);
        else if (option == 'p') park_request = read_request(optarg);
        else if (option == 'W') watchers_count = atoi(optarg);
        else if (option == 'w') watch_request = read_request(optarg);
        else if (option == 'o') offset_at = atol(optarg);
        else if (option == 'O') first_offset = (uint64_t)atoll(optarg);
        else if (option == 'l') length_at = atol(optarg);
        else if (option == 'f') is_flexible = 1;
        else if (option == 'a') append_request = read_request(optarg);
        else if (option == 'r') rate = atof(optarg);
        else if (option == 's') seconds = atof(optarg);
        else if (option == 'E') until_empty = 1;
        else return 2;
    }
    if (argc - optind != 2 || (watchers_count && (offset_at < 0 || length_at < 0))) return 2;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[optind + 1]))};
    inet_pton(AF_INET, argv[optind], &to.sin_addr);
    int count = parked + watchers_count + 1, epoll_fd = epoll_create1(0);
    Connection *connections = calloc((size_t)count, sizeof *connections);
    for (int i = 0; i < count; i++) {
        Connection *c = &connections[i];
        c->kind = i < parked ? PARKED : i < count - 1 ? WATCHER : PRODUCER;
        c->offset = first_offset;
        connect_one(c, &to, &greeting);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &e);
    }
    histogram = calloc(BUCKETS, sizeof *histogram);
    appends_max = until_empty ? 0 : (uint64_t)(rate * seconds + 0.5);
    first_ns = calloc(appends_max + 1, sizeof *first_ns);
    last_ns = calloc(appends_max + 1, sizeof *last_ns);
    seen = calloc(appends_max + 1, sizeof *seen);
    step("connected");
    for (int i = 0; i < parked; i++) transmit(&connections[i], &park_request);
    step("parked");
    uint64_t began = now_ns();
    for (int i = parked; i < count - 1; i++) fetch(&connections[i]);
    if (until_empty) {
        for (uint64_t end = began + (uint64_t)(seconds * 1e9); !is_at_end && now_ns() < end;)
            serve_until(epoll_fd, now_ns() + 100000000u);
        report(0, (double)(now_ns() - began) / 1e9);
        return 0;
    }
    /* All are parked by then. */
    for (uint64_t until = began + SETTLE_NS + (uint64_t)watchers_count * 100000; now_ns() < until;) serve_until(epoll_fd, until);
    due_start = now_ns() + 1000000u;
    uint64_t sent = 0;
    while (sent < appends_max) {
        /* Without sleeping shortly before: a late wake-up of this client is not the broker's. */
        if (due_ns(sent) <= now_ns()) transmit(&connections[count - 1], &append_request), sent++;
        else serve_until(epoll_fd, wake_before(due_ns(sent), now_ns()));
    }
    for (uint64_t end = now_ns() + DRAIN_NS; deliveries < sent * (uint64_t)watchers_count && now_ns() < end;)
        serve_until(epoll_fd, now_ns() + 10000000u);
    report(sent, (double)(now_ns() - due_start) / 1e9);
    return 0;
}
