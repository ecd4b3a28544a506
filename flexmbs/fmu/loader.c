/* An FMU of flexmbs: FMI 3.0 co-simulation, answered by a Python process of its own for every instance.

   The process is `python -P -m flexmbs.fmu.serve RESOURCES 3`; file 3 is its end of a pair of sockets. Frames are two
   numbers, a word and a length, and so many bytes, as the machine has them. A request begins with the values that
   were set since the last one; the answer to a step has all outputs, so that a step is one exchange. Declarations
   follow the standard (fmi3PlatformTypes.h, fmi3FunctionTypes.h); what is not offered answers with an error. */

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OFFERED __attribute__((visibility("default")))

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef uint32_t fmi3ValueReference;
typedef void (*fmi3LogMessageCallback)(void *environment, fmi3Status status, const char *category, const char *text);

/* requests; the word of an answer is a fmi3Status, or LOG */
enum { GET = 1, ENTER, EXIT, STEP, SAVE, LOAD, DROP, WRITE, READ, RESET, TERMINATE, LOG = 100 };

typedef struct {
    int64_t reference;
    double value;
} Setting;

typedef struct {
    int socket;
    pid_t process;
    void *environment;
    fmi3LogMessageCallback log;
    Setting *pending; /* set, and not sent yet */
    size_t n_pending, pending_room;
    double *known; /* time and outputs, references 0 to n_known - 1 */
    int64_t n_known;
    bool fresh; /* whether `known` is what a request would find */
    char *answer;
    size_t length, answer_room;
} Instance;

extern char **environ;

static fmi3Status say(Instance *it, fmi3Status status, const char *text) {
    if (it->log) it->log(it->environment, status, status > fmi3Warning ? "logStatusError" : "logStatusWarning", text);
    return status;
}

static fmi3Status gone(Instance *it) { return say(it, fmi3Fatal, "the process of flexmbs behind this FMU has ended"); }

static bool sent(int file, const void *data, size_t size) {
    const char *place = data;
    while (size) {
        ssize_t done = send(file, place, size, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        place += done;
        size -= (size_t)done;
    }
    return true;
}

static bool received(int file, void *data, size_t size) {
    char *place = data;
    while (size) {
        ssize_t done = recv(file, place, size, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        place += done;
        size -= (size_t)done;
    }
    return true;
}

static bool has_room(void *block, size_t *room, size_t wanted) {
    if (wanted <= *room) return true;
    void *larger = realloc(*(void **)block, 2 * wanted);
    if (!larger) return false;
    *(void **)block = larger;
    *room = 2 * wanted;
    return true;
}

/* a request with what was set before it, and its answer; messages before the answer are handed on */
static fmi3Status ask(Instance *it, int64_t request, const void *data, size_t size) {
    size_t settings = it->n_pending * sizeof(Setting);
    int64_t head[3] = {request, (int64_t)(8 + settings + size), (int64_t)it->n_pending};
    it->n_pending = 0;
    if (it->socket < 0 || !sent(it->socket, head, sizeof head) || !sent(it->socket, it->pending, settings) ||
        !sent(it->socket, data, size))
        return gone(it);
    for (;;) {
        if (!received(it->socket, head, 16) || head[1] < 0 ||
            !has_room(&it->answer, &it->answer_room, (size_t)head[1] + 1) ||
            !received(it->socket, it->answer, (size_t)head[1]))
            return gone(it);
        it->length = (size_t)head[1];
        it->answer[it->length] = 0;
        if (head[0] == LOG)
            say(it, fmi3Warning, it->answer);
        else
            return head[0] > fmi3Warning ? say(it, (fmi3Status)head[0], it->answer) : (fmi3Status)head[0];
    }
}

/* the same where the answer is time and outputs */
static fmi3Status ask_outputs(Instance *it, int64_t request, const void *data, size_t size) {
    fmi3Status status = ask(it, request, data, size);
    it->fresh = status <= fmi3Warning && it->length == (size_t)it->n_known * sizeof(double);
    if (it->fresh) memcpy(it->known, it->answer, it->length);
    return status;
}

static bool started(Instance *it, const char *python, const char *folder) {
    int pair[2];
    int64_t head[3];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], 3);
    char *words[] = {(char *)python, "-P", "-m", "flexmbs.fmu.serve", (char *)folder, "3", NULL};
    int failed = posix_spawnp(&it->process, python, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    if (!failed && received(pair[0], head, sizeof head) && head[0] == fmi3OK && head[1] == 8 && head[2] > 0) {
        it->socket = pair[0];
        it->n_known = head[2];
        it->known = calloc((size_t)head[2], sizeof(double));
        return it->known != NULL;
    }
    close(pair[0]);
    if (!failed) waitpid(it->process, NULL, 0);
    return false;
}

/* Python: FLEXMBS_FMU_PYTHON, the one that is carried, that of the export, the one on the PATH */
static bool started_somewhere(Instance *it, const char *folder) {
    char text[PATH_MAX] = "", path[PATH_MAX];
    const char *chosen = getenv("FLEXMBS_FMU_PYTHON");
    if (chosen && *chosen) return started(it, chosen, folder);
    if (snprintf(path, sizeof path, "%s/python/bin/python3", folder) >= (int)sizeof path) return false;
    if (access(path, F_OK) == 0) {
        chmod(path, 0755); /* archives are often unpacked without modes */
        return started(it, path, folder);
    }
    if (snprintf(path, sizeof path, "%s/python.txt", folder) >= (int)sizeof path) return false;
    FILE *file = fopen(path, "r");
    if (file) {
        if (!fgets(text, sizeof text, file)) text[0] = 0;
        fclose(file);
        text[strcspn(text, "\n")] = 0;
    }
    if (text[0] && access(text, X_OK) == 0) return started(it, text, folder);
    return started(it, "python3", folder);
}

OFFERED const char *fmi3GetVersion(void) { return "3.0"; }

OFFERED fmi3Status fmi3SetDebugLogging(void *instance, bool on, size_t n, const char *const categories[]) {
    (void)instance, (void)on, (void)n, (void)categories;
    return fmi3OK;
}

OFFERED void fmi3FreeInstance(void *instance) {
    Instance *it = instance;
    if (!it) return;
    if (it->socket >= 0) close(it->socket); /* which ends the process */
    if (it->process > 0) waitpid(it->process, NULL, 0);
    free(it->pending), free(it->known), free(it->answer), free(it);
}

OFFERED void *fmi3InstantiateCoSimulation(
    const char *name, const char *token, const char *resources, bool visible, bool logging, bool events, bool early,
    const fmi3ValueReference required[], size_t n_required, void *environment, fmi3LogMessageCallback log,
    void *update) {
    (void)name, (void)visible, (void)logging, (void)events, (void)early, (void)required, (void)n_required, (void)update;
    char folder[PATH_MAX], path[PATH_MAX + 32], wanted[64] = "";
    Instance *it = calloc(1, sizeof(Instance));
    if (!it) return NULL;
    it->socket = -1;
    it->environment = environment;
    it->log = log;
    if (!resources || snprintf(folder, sizeof folder, "%s", resources) >= (int)sizeof folder) folder[0] = 0;
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') folder[--n] = 0;
    snprintf(path, sizeof path, "%s/token.txt", folder);
    FILE *file = fopen(path, "r");
    if (file) {
        if (!fgets(wanted, sizeof wanted, file)) wanted[0] = 0;
        fclose(file);
        wanted[strcspn(wanted, "\n")] = 0;
    }
    if (!wanted[0] || !token || strcmp(token, wanted) != 0)
        say(it, fmi3Error, "the instantiation token is not that of these resources");
    else if (started_somewhere(it, folder))
        return it;
    else
        say(it, fmi3Error, "no Python with flexmbs answers: install flexmbs, name its Python in FLEXMBS_FMU_PYTHON, "
                           "or export with --carry");
    it->process = 0;
    fmi3FreeInstance(it);
    return NULL;
}

OFFERED void *fmi3InstantiateModelExchange(void) { return NULL; }
OFFERED void *fmi3InstantiateScheduledExecution(void) { return NULL; }

OFFERED fmi3Status fmi3EnterInitializationMode(
    void *instance, bool has_tolerance, double tolerance, double start, bool has_stop, double stop) {
    double data[3] = {has_tolerance ? tolerance : 0.0, start, has_stop ? stop : 0.0};
    ((Instance *)instance)->fresh = false;
    return ask(instance, ENTER, data, sizeof data);
}

OFFERED fmi3Status fmi3ExitInitializationMode(void *instance) { return ask_outputs(instance, EXIT, NULL, 0); }

OFFERED fmi3Status fmi3Terminate(void *instance) { return ask(instance, TERMINATE, NULL, 0); }

OFFERED fmi3Status fmi3Reset(void *instance) {
    ((Instance *)instance)->fresh = false;
    return ask(instance, RESET, NULL, 0);
}

OFFERED fmi3Status fmi3DoStep(
    void *instance, double point, double size, bool no_return, bool *event, bool *terminate, bool *early, double *last) {
    Instance *it = instance;
    double data[2] = {point, size};
    (void)no_return;
    fmi3Status status = ask_outputs(it, STEP, data, sizeof data);
    if (event) *event = false;
    if (terminate) *terminate = false;
    if (early) *early = false;
    if (last) *last = it->fresh ? it->known[0] : point;
    return status;
}

OFFERED fmi3Status fmi3GetFloat64(
    void *instance, const fmi3ValueReference references[], size_t n, double values[], size_t n_values) {
    Instance *it = instance;
    bool here = it->fresh;
    if (n != n_values) return say(it, fmi3Error, "all variables are scalars: one value for each reference");
    for (size_t k = 0; here && k < n; k++) here = references[k] < it->n_known;
    if (here) {
        for (size_t k = 0; k < n; k++) values[k] = it->known[references[k]];
        return fmi3OK;
    }
    fmi3Status status = ask(it, GET, references, n * sizeof references[0]);
    if (status <= fmi3Warning && it->length == n * sizeof(double)) memcpy(values, it->answer, it->length);
    return status;
}

OFFERED fmi3Status fmi3SetFloat64(
    void *instance, const fmi3ValueReference references[], size_t n, const double values[], size_t n_values) {
    Instance *it = instance;
    if (n != n_values) return say(it, fmi3Error, "all variables are scalars: one value for each reference");
    if (!has_room(&it->pending, &it->pending_room, (it->n_pending + n) * sizeof(Setting))) return fmi3Fatal;
    for (size_t k = 0; k < n; k++) it->pending[it->n_pending++] = (Setting){references[k], values[k]};
    it->fresh = false;
    return fmi3OK;
}

/* states: the instance keeps them, and is asked for them by a number */

OFFERED fmi3Status fmi3GetFMUState(void *instance, void **state) {
    Instance *it = instance;
    int64_t number = *state ? *(int64_t *)*state : -1;
    fmi3Status status = ask(it, SAVE, &number, sizeof number);
    if (status > fmi3Warning) return status;
    if (!*state && !(*state = malloc(sizeof(int64_t)))) return fmi3Fatal;
    memcpy(*state, it->answer, sizeof(int64_t));
    return status;
}

OFFERED fmi3Status fmi3SetFMUState(void *instance, void *state) {
    ((Instance *)instance)->n_pending = 0; /* what was set since belongs to another state */
    return ask_outputs(instance, LOAD, state, sizeof(int64_t));
}

OFFERED fmi3Status fmi3FreeFMUState(void *instance, void **state) {
    if (!state || !*state) return fmi3OK;
    fmi3Status status = ask(instance, DROP, *state, sizeof(int64_t));
    free(*state);
    *state = NULL;
    return status;
}

OFFERED fmi3Status fmi3SerializedFMUStateSize(void *instance, void *state, size_t *size) {
    Instance *it = instance;
    fmi3Status status = ask(it, WRITE, state, sizeof(int64_t));
    *size = status <= fmi3Warning ? it->length : 0;
    return status;
}

OFFERED fmi3Status fmi3SerializeFMUState(void *instance, void *state, uint8_t bytes[], size_t size) {
    Instance *it = instance;
    fmi3Status status = ask(it, WRITE, state, sizeof(int64_t));
    if (status > fmi3Warning) return status;
    if (it->length > size) return say(it, fmi3Error, "there is not enough room for the state");
    memcpy(bytes, it->answer, it->length);
    return status;
}

OFFERED fmi3Status fmi3DeserializeFMUState(void *instance, const uint8_t bytes[], size_t size, void **state) {
    Instance *it = instance;
    fmi3Status status = ask(it, READ, bytes, size);
    if (status > fmi3Warning) return status;
    if (!*state && !(*state = malloc(sizeof(int64_t)))) return fmi3Fatal;
    memcpy(*state, it->answer, sizeof(int64_t));
    return status;
}

/* what the description does not offer */

#define REFUSED(name) \
    OFFERED fmi3Status name(void *instance) { return say(instance, fmi3Error, #name " is not offered by this FMU"); }
#define NONE_OF(type)                                                                                             \
    OFFERED fmi3Status fmi3Get##type(void *instance, const fmi3ValueReference references[], size_t n) {          \
        (void)references;                                                                                         \
        return n ? say(instance, fmi3Error, "there is no variable of type " #type) : fmi3OK;                     \
    }                                                                                                             \
    OFFERED fmi3Status fmi3Set##type(void *instance, const fmi3ValueReference references[], size_t n) {          \
        (void)references;                                                                                         \
        return n ? say(instance, fmi3Error, "there is no variable of type " #type) : fmi3OK;                     \
    }

NONE_OF(Float32)
NONE_OF(Int8)
NONE_OF(UInt8)
NONE_OF(Int16)
NONE_OF(UInt16)
NONE_OF(Int32)
NONE_OF(UInt32)
NONE_OF(Int64)
NONE_OF(UInt64)
NONE_OF(Boolean)
NONE_OF(String)
NONE_OF(Binary)
NONE_OF(Clock)
REFUSED(fmi3EnterEventMode)
REFUSED(fmi3EnterStepMode)
REFUSED(fmi3EnterConfigurationMode)
REFUSED(fmi3ExitConfigurationMode)
REFUSED(fmi3GetNumberOfVariableDependencies)
REFUSED(fmi3GetVariableDependencies)
REFUSED(fmi3GetDirectionalDerivative)
REFUSED(fmi3GetAdjointDerivative)
REFUSED(fmi3GetOutputDerivatives)
REFUSED(fmi3GetIntervalDecimal)
REFUSED(fmi3GetIntervalFraction)
REFUSED(fmi3GetShiftDecimal)
REFUSED(fmi3GetShiftFraction)
REFUSED(fmi3SetIntervalDecimal)
REFUSED(fmi3SetIntervalFraction)
REFUSED(fmi3SetShiftDecimal)
REFUSED(fmi3SetShiftFraction)
REFUSED(fmi3EvaluateDiscreteStates)
REFUSED(fmi3UpdateDiscreteStates)
REFUSED(fmi3ActivateModelPartition)
REFUSED(fmi3CompletedIntegratorStep)
REFUSED(fmi3EnterContinuousTimeMode)
REFUSED(fmi3GetContinuousStateDerivatives)
REFUSED(fmi3GetContinuousStates)
REFUSED(fmi3GetEventIndicators)
REFUSED(fmi3GetNominalsOfContinuousStates)
REFUSED(fmi3GetNumberOfContinuousStates)
REFUSED(fmi3GetNumberOfEventIndicators)
REFUSED(fmi3SetContinuousStates)
REFUSED(fmi3SetTime)
