/* A lean closed-loop load generator for length-prefixed requests, in its own process so that it costs the
 * server under test nothing but the machine.
 *
 * Each connection keeps `depth` requests outstanding and sends the next when an answer is whole. Answers
 * are read and thrown away. Latency is from send to the answer's last byte, in a histogram of 1 us.
 *
 *   load HOST PORT CONNECTIONS DEPTH SECONDS REQUEST_BYTES [REQUEST_FILE]
 *
 * REQUEST_BYTES counts the body without its length; the body is zeros, or what the file holds. Prints one line
 * of JSON.
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
#include <time.h>
#include <unistd.h>

#define BUCKETS 1000000
#define DEPTH_MAX 64
#define READ_BYTES (1 << 20)

typedef struct {
    int fd;
    unsigned char head[4];
    int head_have;
    uint64_t body_left;
    uint64_t sent_ns[DEPTH_MAX];
    unsigned first, next;
    size_t out_left; /* bytes of the request stream not taken by the socket yet */
} Connection;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static unsigned char *request;
static size_t request_bytes;
static uint32_t *histogram;
static uint64_t answers, bytes;
static int epoll_fd;

static void flush_out(Connection *c) {
    while (c->out_left > 0) {
        size_t in_request = c->out_left % request_bytes;
        size_t piece = in_request ? in_request : request_bytes;
        ssize_t n = send(c->fd, request + (request_bytes - piece), piece, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EAGAIN) break;
            fail("send");
        }
        c->out_left -= (size_t)n;
    }
    struct epoll_event e = {.events = EPOLLIN | (c->out_left ? EPOLLOUT : 0), .data.ptr = c};
    static int any_out = 0;
    if (c->out_left || any_out) {
        any_out = 1;
        epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
    }
}

static void ask(Connection *c) {
    c->sent_ns[c->next++ % DEPTH_MAX] = now_ns();
    c->out_left += request_bytes;
}

static void take(Connection *c, const unsigned char *data, size_t n) {
    int asked = 0;
    bytes += n;
    while (n > 0) {
        if (c->head_have < 4) {
            c->head[c->head_have++] = *data++;
            n--;
            if (c->head_have == 4)
                c->body_left = (uint64_t)c->head[0] << 24 | c->head[1] << 16 | c->head[2] << 8 | c->head[3];
            if (c->head_have < 4 || c->body_left > 0) continue;
        } else {
            size_t piece = n < c->body_left ? n : c->body_left;
            data += piece;
            n -= piece;
            c->body_left -= piece;
            if (c->body_left > 0) continue;
        }
        uint64_t us = (now_ns() - c->sent_ns[c->first++ % DEPTH_MAX]) / 1000;
        histogram[us < BUCKETS ? us : BUCKETS - 1]++;
        answers++;
        c->head_have = 0;
        ask(c);
        asked = 1;
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

int main(int argc, char **argv) {
    if (argc != 7 && argc != 8) {
        fprintf(stderr, "usage: load HOST PORT CONNECTIONS DEPTH SECONDS REQUEST_BYTES [REQUEST_FILE]\n");
        return 2;
    }
    int count = atoi(argv[3]), depth = atoi(argv[4]);
    double seconds = atof(argv[5]);
    if (depth < 1 || depth > DEPTH_MAX) return 2;
    request_bytes = (size_t)atol(argv[6]) + 4;
    request = calloc(1, request_bytes);
    histogram = calloc(BUCKETS, sizeof *histogram);
    unsigned char *buffer = malloc(READ_BYTES);
    Connection *connections = calloc((size_t)count, sizeof *connections);
    uint32_t length = htonl((uint32_t)(request_bytes - 4));
    memcpy(request, &length, 4);
    if (argc == 8) {
        FILE *file = fopen(argv[7], "rb");
        if (!file || fread(request + 4, 1, request_bytes - 4, file) != request_bytes - 4) fail("request file");
        fclose(file);
    }
    epoll_fd = epoll_create1(0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &to.sin_addr);
    for (int i = 0; i < count; i++) {
        Connection *c = &connections[i];
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(c->fd, (struct sockaddr *)&to, sizeof to)) fail("connect");
        int one = 1;
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (getenv("LOAD_CONGESTION"))
            setsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, getenv("LOAD_CONGESTION"), (socklen_t)strlen(getenv("LOAD_CONGESTION")));
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &e);
    }
    uint64_t start = now_ns(), end = start + (uint64_t)(seconds * 1e9);
    for (int i = 0; i < count; i++) {
        for (int d = 0; d < depth; d++) ask(&connections[i]);
        flush_out(&connections[i]);
    }
    struct epoll_event events[256];
    while (now_ns() < end) {
        int n = epoll_wait(epoll_fd, events, 256, 100);
        for (int i = 0; i < n; i++) {
            Connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT) flush_out(c);
            if (!(events[i].events & ~(uint32_t)EPOLLOUT)) continue;
            ssize_t got = recv(c->fd, buffer, READ_BYTES, MSG_DONTWAIT);
            if (got < 0 && errno == EAGAIN) continue;
            if (got <= 0) fail("recv");
            take(c, buffer, (size_t)got);
        }
    }
    double took = (double)(now_ns() - start) / 1e9;
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("{\"answers\": %llu, \"per_second\": %.0f, \"gigabytes_per_second\": %.3f, \"p50_us\": %.0f,"
           " \"p99_us\": %.0f, \"p999_us\": %.0f, \"cpu_s\": %.3f, \"seconds\": %.3f}\n",
           (unsigned long long)answers, (double)answers / took, (double)bytes / took / 1e9, percentile(0.5),
           percentile(0.99), percentile(0.999),
           (double)use.ru_utime.tv_sec + use.ru_stime.tv_sec + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6,
           took);
    return 0;
}
