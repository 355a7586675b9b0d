/* What the kernel and two system calls cost: a level-triggered epoll server that answers each
 * length-prefixed request with a fixed number of bytes, or with a slice of a file by MSG_MORE + sendfile.
 *
 *   floor ANSWER_BYTES [FILE]      prints "listening PORT", serves until its standard input closes
 *   floor 0 FILE                   each request says what it wants: four bytes how many, one byte whether of the file
 *
 * It trusts its load generator: requests arrive whole, as they do on loopback when they are small.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
    int fd;
    off_t offset, end; /* of the slice on its way */
} Connection;

static int epoll_fd, file_fd = -1;

static void close_connection(Connection *c) {
    close(c->fd);
    c->fd = -1; /* not freed: an event of the same turn may still name it */
}

static void send_slice(Connection *c) {
    while (c->offset < c->end) {
        ssize_t n = sendfile(c->fd, file_fd, &c->offset, (size_t)(c->end - c->offset));
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) { /* the client left, or the file is shorter than what it asked for */
            close_connection(c);
            return;
        }
    }
    struct epoll_event e = {.events = c->offset < c->end ? EPOLLOUT : EPOLLIN, .data.ptr = c};
    epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    signal(SIGPIPE, SIG_IGN); /* sendfile has no MSG_NOSIGNAL */
    size_t answer_bytes = (size_t)atol(argv[1]);
    int is_asked = answer_bytes == 0;
    static unsigned char buffer[65536];
    unsigned char *answer = calloc(1, (is_asked ? sizeof buffer : answer_bytes) + 4);
    uint32_t length = htonl((uint32_t)answer_bytes);
    memcpy(answer, &length, 4);
    if (argc > 2) file_fd = open(argv[2], O_RDONLY);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 1024)) return 1;
    getsockname(listener, (struct sockaddr *)&at, &size);
    printf("listening %d\n", ntohs(at.sin_port));
    fflush(stdout);
    epoll_fd = epoll_create1(0);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL}, events[256];
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &e);
    e.data.ptr = &one;
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &e);
    for (;;) {
        int n = epoll_wait(epoll_fd, events, 256, -1);
        for (int i = 0; i < n; i++) {
            Connection *c = events[i].data.ptr;
            if ((void *)c == (void *)&one) {
                struct rusage use;
                getrusage(RUSAGE_SELF, &use);
                printf("cpu %.3f\n", (double)use.ru_utime.tv_sec + use.ru_stime.tv_sec
                                         + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
                return 0;
            }
            if (c == NULL) {
                c = calloc(1, sizeof *c);
                c->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
                e.events = EPOLLIN;
                e.data.ptr = c;
                epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &e);
                continue;
            }
            if (events[i].events & EPOLLOUT) {
                send_slice(c);
                continue;
            }
            if (recv(c->fd, buffer, sizeof buffer, 0) <= 0) {
                close_connection(c);
                continue;
            }
            int of_file = file_fd >= 0;
            if (is_asked) {
                memcpy(answer, buffer + 4, 4);
                answer_bytes = (size_t)buffer[4] << 24 | buffer[5] << 16 | buffer[6] << 8 | buffer[7];
                of_file = buffer[8];
                if (!of_file && answer_bytes > sizeof buffer) return 1;
            }
            if (!of_file) {
                if (send(c->fd, answer, answer_bytes + 4, MSG_NOSIGNAL) < 0) close_connection(c);
            } else {
                send(c->fd, answer, 4, MSG_MORE | MSG_NOSIGNAL);
                c->offset = 0;
                c->end = (off_t)answer_bytes;
                send_slice(c);
            }
        }
    }
}
