/* The floor of a batch: what any runner must spend. For each repository: git clone, the given commands in one bash, git diff.
 *
 * usage: floor WORKERS LATENCY COMMANDS_FILE SCRATCH REPOSITORY...
 *
 * WORKERS processes share the list of repositories. LATENCY is what a model would take for each answer, in milliseconds: it is slept before each command
 * and once more for the last answer, so that the floor's work is spread over time as a runner's is. Prints one line: wall seconds, processor seconds of everything it started.
 * The commands file holds one command a line. A shell answers each with a marker line, so that it costs one write and some reads.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Runs a program to its end, its output read and dropped. */
static void run(char *const arguments[]) {
    int out[2];
    if (pipe2(out, O_CLOEXEC)) fail("pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    pid_t pid;
    if (posix_spawnp(&pid, arguments[0], &actions, 0, arguments, environ)) fail(arguments[0]);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    char buffer[65536];
    while (read(out[0], buffer, sizeof buffer) > 0) {}
    close(out[0]);
    int status;
    waitpid(pid, &status, 0);
    if (status) {
        fprintf(stderr, "floor: %s ended with %d\n", arguments[0], status);
        exit(1);
    }
}

static void wait_for_the_model(int milliseconds) {
    struct timespec latency = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    if (milliseconds) nanosleep(&latency, 0);
}

static void commands_in_one_bash(const char *directory, char **commands, int count, int latency) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) fail("pipe");
    pid_t pid = vfork();
    if (pid == 0) {
        if (chdir(directory)) _exit(126);
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(out[1], 2);
        execlp("bash", "bash", "--norc", "--noprofile", (char *)0);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    static char request[1 << 16], reply[1 << 20];
    for (int i = 0; i < count; i++) {
        wait_for_the_model(latency);
        int length = snprintf(request, sizeof request, "{ %s; } </dev/null; printf '\\n@@%%d@@%d@@\\n' $?\n", commands[i], i);
        char marker[64];
        size_t marker_length = snprintf(marker, sizeof marker, "@@%d@@\n", i);
        if (write(in[1], request, length) != length) fail("write");
        size_t have = 0;
        while (have < marker_length || memcmp(reply + have - marker_length, marker, marker_length)) {
            if (have > sizeof reply / 2) { /* keep the end only */
                memmove(reply, reply + have - 128, 128);
                have = 128;
            }
            ssize_t got = read(out[0], reply + have, sizeof reply - have);
            if (got <= 0) fail("bash went away");
            have += got;
        }
    }
    wait_for_the_model(latency);
    close(in[1]);
    close(out[0]);
    waitpid(pid, 0, 0);
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: floor WORKERS LATENCY COMMANDS_FILE SCRATCH REPOSITORY...\n");
        return 2;
    }
    int workers = atoi(argv[1]), latency = atoi(argv[2]), repositories = argc - 5, count = 0;
    char **commands = calloc(100000, sizeof *commands), *line = 0;
    size_t capacity = 0;
    FILE *file = fopen(argv[3], "r");
    if (!file) fail(argv[3]);
    while (getline(&line, &capacity, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        commands[count++] = strdup(line);
    }
    int *next = mmap(0, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double start = now();
    for (int w = 0; w < workers && w < repositories; w++) {
        if (fork()) continue;
        for (int i; (i = __atomic_fetch_add(next, 1, __ATOMIC_SEQ_CST)) < repositories;) {
            char clone[4096];
            snprintf(clone, sizeof clone, "%s/floor-%d", argv[4], i);
            run((char *[]){"git", "clone", "-q", argv[5 + i], clone, 0});
            commands_in_one_bash(clone, commands, count, latency);
            run((char *[]){"git", "-C", clone, "diff", 0});
        }
        _exit(0);
    }
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status;
    double wall = now() - start;
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("%.6f %.6f\n", wall, usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6);
    return failed != 0;
}
