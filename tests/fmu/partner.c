/* A partner that knows nothing of flexmbs: T x' = k (r - angle) - d speed - x, its input held over a step (exact).
   Compiled with -DFMI2 or -DFMI3, which say how the functions are called. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#define OUT __attribute__((visibility("default")))
typedef struct { double angle, speed, torque, k, T; } P; /* references 0 to 4 */
static void *make(void) {
    P *p = calloc(1, sizeof(P));
    p->k = 20.0, p->T = 0.05;
    return p;
}
static int go(P *p, double h) {
    double wanted = p->k * (0.5 - p->angle) - 4.0 * p->speed;
    if (p->k < 0.0) return 3; /* an FMU that fails */
    p->torque = wanted + (p->torque - wanted) * exp(-h / p->T);
    return 0;
}
static int put(P *p, const unsigned *r, size_t n, const double *x) {
    for (size_t i = 0; i < n; i++) ((double *)p)[r[i]] = x[i];
    return 0;
}
static int take(P *p, const unsigned *r, size_t n, double *x) {
    for (size_t i = 0; i < n; i++) x[i] = ((double *)p)[r[i]];
    return 0;
}
#ifdef FMI2
OUT const char *fmi2GetVersion(void) { return "2.0"; }
OUT void *fmi2Instantiate(void) { return make(); }
OUT void fmi2FreeInstance(void *p) { free(p); }
OUT int fmi2SetReal(P *p, const unsigned *r, size_t n, const double *x) { return put(p, r, n, x); }
OUT int fmi2GetReal(P *p, const unsigned *r, size_t n, double *x) { return take(p, r, n, x); }
OUT int fmi2DoStep(P *p, double t, double h) { return (void)t, go(p, h); }
#else
OUT const char *fmi3GetVersion(void) { return "3.0"; }
OUT void *fmi3InstantiateCoSimulation(void) { return make(); }
OUT void fmi3FreeInstance(void *p) { free(p); }
OUT int fmi3SetFloat64(P *p, const unsigned *r, size_t n, const double *x) { return put(p, r, n, x); }
OUT int fmi3GetFloat64(P *p, const unsigned *r, size_t n, double *x) { return take(p, r, n, x); }
OUT int fmi3DoStep(P *p, double t, double h, bool no, bool *e, bool *s, bool *y, double *last) {
    (void)no;
    *e = *s = *y = false;
    *last = t + h;
    return go(p, h);
}
#endif
