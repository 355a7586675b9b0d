/* What an application on librdkafka gets from a broker: throughput of its producer and consumer, and how long
 * a record takes from one to the other.
 *
 *   rdkafka produce BROKERS TOPIC SECONDS VALUE_BYTES [KEY=VALUE ...]
 *   rdkafka consume BROKERS TOPIC SECONDS RECORDS     [KEY=VALUE ...]
 *   rdkafka latency BROKERS TOPIC SECONDS VALUE_BYTES RATE [KEY=VALUE ...]
 *
 * KEY=VALUE go to librdkafka's configuration. All use partition 0. `produce` sends as fast as the queue takes
 * records and counts those that were acknowledged, until the last one is. `consume` reads from the first
 * offset until it has so many records or the time is over; its clock starts with the first record. `latency`
 * sends RATE records a second by the clock, each with the time it was due, however late it went, and the consumer
 * subtracts; so what waits behind a stall is counted with its wait. Prints one line of JSON.
 *
 * It declares what it needs of librdkafka's stable interface itself, so that it can be linked with the library that
 * confluent-kafka's wheel ships, which comes without a header.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_message_s {
    int err;
    rd_kafka_topic_t *topic;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *private_;
} rd_kafka_message_t;
enum { PRODUCER = 0, CONSUMER = 1 };
enum { FLAG_COPY = 2, OFFSET_BEGINNING = -2, OFFSET_END = -1, ERROR_QUEUE_FULL = -184, ERROR_PARTITION_EOF = -191 };

extern rd_kafka_conf_t *rd_kafka_conf_new(void);
extern int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
extern void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *,
                                        void (*)(rd_kafka_t *, const rd_kafka_message_t *, void *));
extern rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
extern rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, void *);
extern int rd_kafka_produce(rd_kafka_topic_t *, int32_t, int, void *, size_t, const void *, size_t, void *);
extern int rd_kafka_poll(rd_kafka_t *, int);
extern int rd_kafka_flush(rd_kafka_t *, int);
extern int rd_kafka_last_error(void);
extern const char *rd_kafka_err2str(int);
extern rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *);
extern int rd_kafka_consume_start_queue(rd_kafka_topic_t *, int32_t, int64_t, rd_kafka_queue_t *);
extern ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t);
extern void rd_kafka_message_destroy(rd_kafka_message_t *);
extern int rd_kafka_query_watermark_offsets(rd_kafka_t *, const char *, int32_t, int64_t *, int64_t *, int);
extern const char *rd_kafka_version_str(void);

#define BATCH 1000
#define DRAIN_S 10
#define LATENCIES_MAX 4000000

static uint64_t acknowledged, failed;
static int first_error;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
    (void)client, (void)opaque;
    if (message->err) {
        failed++;
        if (!first_error) first_error = message->err;
    } else {
        acknowledged++;
    }
}

static rd_kafka_t *client(int kind, const char *brokers, char **settings, int count) {
    char why[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why, sizeof why)) die("bootstrap.servers", why);
    for (int i = 0; i < count; i++) {
        char *value = strchr(settings[i], '=');
        if (!value) die(settings[i], "not KEY=VALUE");
        /* A setting of the other kind of client is passed over: "consumer." and "producer." tell them apart. */
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)(value - settings[i]), settings[i]);
        const char *wanted = kind == PRODUCER ? "producer." : "consumer.";
        const char *other = kind == PRODUCER ? "consumer." : "producer.";
        if (!strncmp(name, other, strlen(other))) continue;
        const char *key = strncmp(name, wanted, strlen(wanted)) ? name : name + strlen(wanted);
        if (rd_kafka_conf_set(conf, key, value + 1, why, sizeof why)) die(settings[i], why);
    }
    if (kind == PRODUCER) rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    rd_kafka_t *made = rd_kafka_new(kind, conf, why, sizeof why);
    if (!made) die("rd_kafka_new", why);
    return made;
}

static rd_kafka_topic_t *topic(rd_kafka_t *of, const char *name) {
    rd_kafka_topic_t *made = rd_kafka_topic_new(of, name, NULL);
    if (!made) die(name, rd_kafka_err2str(rd_kafka_last_error()));
    return made;
}

static double cpu_s(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_utime.tv_sec + use.ru_stime.tv_sec + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void send_one(rd_kafka_t *producer, rd_kafka_topic_t *to, void *value, size_t bytes) {
    while (rd_kafka_produce(to, 0, FLAG_COPY, value, bytes, NULL, 0, NULL) != 0) {
        if (rd_kafka_last_error() != ERROR_QUEUE_FULL) die("produce", rd_kafka_err2str(rd_kafka_last_error()));
        rd_kafka_poll(producer, 1);
    }
}

static void check_failures(void) {
    if (failed) die("records were not acknowledged", rd_kafka_err2str(first_error));
}

/* The first metadata and connection are made with one record that is not counted. */
static void warm(rd_kafka_t *producer, rd_kafka_topic_t *to, void *value, size_t bytes) {
    send_one(producer, to, value, bytes);
    if (rd_kafka_flush(producer, 15000)) die("the first record", "not acknowledged within 15 s");
    check_failures();
    acknowledged = 0;
}

static int produce(const char *brokers, const char *name, double seconds, size_t bytes, char **settings, int count) {
    rd_kafka_t *producer = client(PRODUCER, brokers, settings, count);
    rd_kafka_topic_t *to = topic(producer, name);
    unsigned char *value = malloc(bytes);
    uint32_t seed = 2463534242u;
    for (size_t i = 0; i < bytes; i++) value[i] = (unsigned char)(seed = seed * 1664525u + 1013904223u, seed >> 24);
    warm(producer, to, value, bytes);
    double cpu = cpu_s();
    uint64_t start = now_ns(), end = start + (uint64_t)(seconds * 1e9);
    for (uint64_t sent = 0; (sent & 127) || now_ns() < end; sent++) {
        send_one(producer, to, value, bytes);
        if (!(sent & 127)) rd_kafka_poll(producer, 0);
    }
    if (rd_kafka_flush(producer, 60000)) die("flush", "not all were acknowledged within 60 s");
    double took = (double)(now_ns() - start) / 1e9;
    check_failures();
    printf("{\"records\": %llu, \"records_per_second\": %.1f, \"megabytes_per_second\": %.3f, \"cpu_s\": %.3f,"
           " \"seconds\": %.3f}\n",
           (unsigned long long)acknowledged, (double)acknowledged / took, (double)acknowledged * (double)bytes / took / 1e6,
           cpu_s() - cpu, took);
    return 0;
}

static int consume(const char *brokers, const char *name, double seconds, uint64_t wanted, char **settings, int count) {
    rd_kafka_t *consumer = client(CONSUMER, brokers, settings, count);
    rd_kafka_topic_t *from = topic(consumer, name);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(consumer);
    rd_kafka_message_t *messages[BATCH];
    uint64_t records = 0, bytes = 0, start = 0, end = now_ns() + 15000000000u, last = 0;
    double cpu = 0;
    if (rd_kafka_consume_start_queue(from, 0, OFFSET_BEGINNING, queue))
        die("consume", rd_kafka_err2str(rd_kafka_last_error()));
    while (records < wanted && now_ns() < end) {
        ssize_t n = rd_kafka_consume_batch_queue(queue, 100, messages, BATCH);
        if (n > 0 && !start) {
            start = now_ns();
            end = start + (uint64_t)(seconds * 1e9);
            cpu = cpu_s();
        }
        for (ssize_t i = 0; i < n; i++) {
            if (!messages[i]->err) {
                records++;
                bytes += messages[i]->len;
            } else if (messages[i]->err != ERROR_PARTITION_EOF) {
                die("consume", rd_kafka_err2str(messages[i]->err));
            }
            rd_kafka_message_destroy(messages[i]);
        }
        if (n > 0) last = now_ns();
    }
    if (!records) die("consume", "no record within 15 s");
    double took = (double)(last - start) / 1e9;
    printf("{\"records\": %llu, \"records_per_second\": %.1f, \"megabytes_per_second\": %.3f, \"cpu_s\": %.3f,"
           " \"seconds\": %.3f}\n",
           (unsigned long long)records, (double)records / took, (double)bytes / took / 1e6, cpu_s() - cpu, took);
    return 0;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static int latency(const char *brokers, const char *name, double seconds, size_t bytes, double rate, char **settings,
                   int count) {
    rd_kafka_t *producer = client(PRODUCER, brokers, settings, count);
    rd_kafka_t *consumer = client(CONSUMER, brokers, settings, count);
    rd_kafka_topic_t *to = topic(producer, name), *from = topic(consumer, name);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(consumer);
    rd_kafka_message_t *messages[BATCH];
    if (bytes < 8) bytes = 8;
    uint64_t *value = calloc(1, bytes), sent = 0, got = 0, total = (uint64_t)(rate * seconds);
    uint64_t warm_up = (uint64_t)(rate * (seconds < 2 ? seconds / 4 : 0.5)), late = 0;
    uint32_t *taken = malloc(LATENCIES_MAX * sizeof *taken);
    int64_t low, high;
    if (total > LATENCIES_MAX) die("latency", "too many records");
    warm(producer, to, value, bytes);
    int error = rd_kafka_query_watermark_offsets(consumer, name, 0, &low, &high, 15000);
    if (error) die("the end offset", rd_kafka_err2str(error));
    if (rd_kafka_consume_start_queue(from, 0, high, queue)) die("consume", rd_kafka_err2str(rd_kafka_last_error()));
    /* A moment for the consumer to find the leader and wait at the end. */
    for (uint64_t until = now_ns() + 700000000u; now_ns() < until;) {
        ssize_t n = rd_kafka_consume_batch_queue(queue, 50, messages, BATCH);
        for (ssize_t i = 0; i < n; i++) rd_kafka_message_destroy(messages[i]);
    }
    total += warm_up;
    uint64_t start = now_ns(), deadline = start + (uint64_t)((double)total / rate * 1e9) + DRAIN_S * 1000000000ull;
    while (got < total && now_ns() < deadline) {
        uint64_t now = now_ns(), due;
        while (sent < total && (due = start + (uint64_t)((double)sent * 1e9 / rate)) <= now) {
            value[0] = due;
            if (now - due > 1000000u) late++;
            send_one(producer, to, value, bytes);
            sent++;
        }
        rd_kafka_poll(producer, 0);
        /* Without waiting for the queue. Where nothing came it sleeps 20 us and the kernel's slack of 50: by up to so much
           every latency is told too long. */
        ssize_t n = rd_kafka_consume_batch_queue(queue, 0, messages, BATCH);
        now = now_ns();
        for (ssize_t i = 0; i < n; i++) {
            if (!messages[i]->err && messages[i]->len == bytes) {
                uint64_t was_due = *(uint64_t *)messages[i]->payload;
                if (was_due >= start) taken[got++] = (uint32_t)((now - was_due) / 1000);
            }
            rd_kafka_message_destroy(messages[i]);
        }
        if (n == 0) nanosleep(&(struct timespec){0, 20000}, NULL);
    }
    check_failures();
    if (got <= warm_up) die("latency", "nothing arrived");
    uint64_t counted = got - warm_up, lost = total - got;
    uint32_t *kept = taken + warm_up;
    qsort(kept, counted, sizeof *kept, ascending);
    printf("{\"records\": %llu, \"p50_us\": %u, \"p99_us\": %u, \"p999_us\": %u, \"max_us\": %u, \"not_arrived\": %llu,"
           " \"sent_late\": %llu, \"cpu_s\": %.3f}\n",
           (unsigned long long)counted, kept[counted / 2], kept[counted * 99 / 100], kept[counted * 999 / 1000],
           kept[counted - 1], (unsigned long long)lost, (unsigned long long)late, cpu_s());
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "version")) return puts(rd_kafka_version_str()) < 0;
    if (argc < 6) return 2;
    double seconds = atof(argv[4]);
    size_t number = (size_t)atoll(argv[5]);
    int status = 2;
    if (!strcmp(argv[1], "produce")) status = produce(argv[2], argv[3], seconds, number, argv + 6, argc - 6);
    if (!strcmp(argv[1], "consume")) status = consume(argv[2], argv[3], seconds, number, argv + 6, argc - 6);
    if (!strcmp(argv[1], "latency") && argc > 6)
        status = latency(argv[2], argv[3], seconds, number, atof(argv[6]), argv + 7, argc - 7);
    fflush(stdout);
    _Exit(status); /* not waiting for the library's threads: the broker may be slow to answer the last requests */
}
