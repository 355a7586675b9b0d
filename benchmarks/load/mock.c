/* librdkafka's mock cluster as a broker in a process of its own: prints "listening PORT", serves until its
 * standard input closes.
 *
 * It keeps a few MiB of a partition in memory and forgets older batches, writes no file, and knows a part of the
 * protocol: a figure of what a broker in C can do that does little, not a broker to use.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_mock_cluster_s rd_kafka_mock_cluster_t;
extern rd_kafka_conf_t *rd_kafka_conf_new(void);
extern rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
extern rd_kafka_mock_cluster_t *rd_kafka_mock_cluster_new(rd_kafka_t *, int);
extern const char *rd_kafka_mock_cluster_bootstraps(const rd_kafka_mock_cluster_t *);

int main(void) {
    char why[512];
    rd_kafka_t *holder = rd_kafka_new(0, rd_kafka_conf_new(), why, sizeof why);
    rd_kafka_mock_cluster_t *cluster = holder ? rd_kafka_mock_cluster_new(holder, 1) : NULL;
    if (!cluster) return 1;
    printf("listening %s\n", strrchr(rd_kafka_mock_cluster_bootstraps(cluster), ':') + 1);
    fflush(stdout);
    while (getchar() != EOF) continue;
    _Exit(0);
}
