/* A controller as an FMU of its own, nothing of flexmbs in it: u = P (r - x) - D v, discrete steps. */
#include <stdbool.h>
#include <stdlib.h>
#define OUT __attribute__((visibility("default")))
typedef struct { double x, v, r, u, t; } C;
OUT const char *fmi3GetVersion(void) { return "3.0"; }
OUT void *fmi3InstantiateCoSimulation(void) { return calloc(1, sizeof(C)); }
OUT void fmi3FreeInstance(void *c) { free(c); }
OUT int fmi3EnterInitializationMode(void *c) { (void)c; return 0; }
OUT int fmi3ExitInitializationMode(void *c) { (void)c; return 0; }
OUT int fmi3Terminate(void *c) { (void)c; return 0; }
OUT int fmi3SetFloat64(C *c, const unsigned *k, size_t n, const double *x) {
    for (size_t i = 0; i < n; i++) ((double *)c)[k[i]] = x[i];
    return 0;
}
OUT int fmi3GetFloat64(C *c, const unsigned *k, size_t n, double *x) {
    for (size_t i = 0; i < n; i++) x[i] = ((double *)c)[k[i]];
    return 0;
}
OUT int fmi3DoStep(C *c, double t, double h, bool no, bool *e, bool *s, bool *r, double *last) {
    (void)no;
    c->u = 20.0 * (c->r - c->x) - 4.0 * c->v;
    *e = *s = *r = false;
    *last = c->t = t + h;
    return 0;
}
