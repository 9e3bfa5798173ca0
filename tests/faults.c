/* LD_PRELOAD: the n-th system call that changes something under a folder fails, tears or kills.
 *
 * fault_arm(folder, n, mode) begins to count anew; fault_count() is how many calls there were. A
 * program that does not call it is armed by FAULT=n,mode,folder; with n = 0 it writes how many calls
 * there were to the file FAULT_COUNT. In mode QUOTA all writes from the n-th on fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* nothing, before the call, in or after it, ENOSPC, EIO, EDQUOT */
enum { COUNT, KILL, TEAR, FULL, BROKEN, QUOTA };

static char watched[PATH_MAX];
static atomic_long calls, chosen;
static int mode;

void fault_arm(const char *folder, long at, int how) {
    snprintf(watched, sizeof watched, "%s", folder);
    calls = 0;
    chosen = at;
    mode = how;
}

long fault_count(void) { return calls; }

__attribute__((constructor)) static void arm(void) {
    const char *asked = getenv("FAULT");
    long at = 0;
    int how = 0, begin = 0;
    if (asked && sscanf(asked, "%ld,%d,%n", &at, &how, &begin) == 2) fault_arm(asked + begin, at, how);
}

__attribute__((destructor)) static void tell(void) {
    const char *file = getenv("FAULT_COUNT");
    FILE *told = file ? fopen(file, "w") : NULL;
    if (told) fprintf(told, "%ld", fault_count()), fclose(told);
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static int inside(const char *path) {
    size_t length = strlen(watched);
    return length && !strncmp(path, watched, length) && (path[length] == '/' || !path[length]);
}

static int inside_at(int folder, const char *path) {
    char name[64], full[PATH_MAX];
    if (!watched[0] || path[0] == '/' || folder == AT_FDCWD) return inside(path);
    snprintf(name, sizeof name, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(name, full, sizeof full - 1);
    if (length < 0) return 0;
    full[length] = 0;
    return inside(full);
}

static int inside_fd(int fd) { return inside_at(fd, "."); }

/* Whether this call is the chosen one; kills, or sets errno. */
static int hit(int relevant) {
    if (!relevant) return 0;
    long call = atomic_fetch_add(&calls, 1) + 1;
    if (mode == COUNT || (mode == QUOTA ? call < chosen : call != chosen)) return 0;
    if (mode == KILL) die();
    errno = mode == FULL ? ENOSPC : mode == QUOTA ? EDQUOT : EIO;
    return 1;
}

#define REAL(name, ...) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__)
/* Fails, or makes the call and dies after it. */
#define GUARD(relevant, call)                          \
    do {                                               \
        if (mode == QUOTA || !hit(relevant)) return call; \
        if (mode == TEAR) (void)!(call), die();        \
        return -1;                                     \
    } while (0)

#define MODE()                                         \
    mode_t bits = 0;                                   \
    if (flags & (O_CREAT | __O_TMPFILE)) {             \
        va_list more;                                  \
        va_start(more, flags);                         \
        bits = va_arg(more, mode_t);                   \
        va_end(more);                                  \
    }
#define CHANGES (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))

int open(const char *path, int flags, ...) {
    MODE();
    GUARD(CHANGES && inside(path), REAL(open, path, flags, bits));
}
int open64(const char *path, int flags, ...) {
    MODE();
    GUARD(CHANGES && inside(path), REAL(open64, path, flags, bits));
}
int openat(int at, const char *path, int flags, ...) {
    MODE();
    GUARD(CHANGES && inside_at(at, path), REAL(openat, at, path, flags, bits));
}
int openat64(int at, const char *path, int flags, ...) {
    MODE();
    GUARD(CHANGES && inside_at(at, path), REAL(openat64, at, path, flags, bits));
}
ssize_t write(int fd, const void *from, size_t size) {
    if (!hit(inside_fd(fd))) return REAL(write, fd, from, size);
    if (mode == TEAR) (void)!REAL(write, fd, from, size / 2), die();
    return -1;
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (!hit(inside_fd(fd))) return REAL(writev, fd, parts, count);
    if (mode == TEAR) (void)!REAL(write, fd, parts[0].iov_base, parts[0].iov_len / 2), die();
    return -1;
}
int fsync(int fd) { GUARD(inside_fd(fd), REAL(fsync, fd)); }
int fdatasync(int fd) { GUARD(inside_fd(fd), REAL(fdatasync, fd)); }
int ftruncate(int fd, off_t size) { GUARD(inside_fd(fd), REAL(ftruncate, fd, size)); }
int ftruncate64(int fd, off64_t size) { GUARD(inside_fd(fd), REAL(ftruncate64, fd, size)); }
int rename(const char *from, const char *to) { GUARD(inside(to), REAL(rename, from, to)); }
int unlink(const char *path) { GUARD(inside(path), REAL(unlink, path)); }
int unlinkat(int at, const char *path, int flags) {
    GUARD(inside_at(at, path), REAL(unlinkat, at, path, flags));
}
int mkdir(const char *path, mode_t bits) { GUARD(inside(path), REAL(mkdir, path, bits)); }
int rmdir(const char *path) { GUARD(inside(path), REAL(rmdir, path)); }
