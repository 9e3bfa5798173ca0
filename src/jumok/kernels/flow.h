/* Maximum flows through a network, by Dinic's algorithm: the shortest paths that have room are
 * filled until there is none. Source: Dinic 1970; readable twin: flow.py. */

#define LEAST 1e-9 /* less capacity than this counts as none */

typedef struct {
    int64_t *head;    /* where arc e leads; e ^ 1 is the way back */
    double *room;     /* what may still go through it */
    int64_t *first;   /* of the arcs that leave a node: in `leaving`, up to the next node's first */
    int64_t *leaving, *next, *level, *queue;
} Network;

static int reaches(Network *net, int64_t nodes, int64_t source, int64_t sink) {
    for (int64_t i = 0; i < nodes; i++) net->level[i] = -1;
    int64_t begin = 0, end = 0;
    net->level[source] = 0;
    net->queue[end++] = source;
    while (begin < end) {
        int64_t node = net->queue[begin++];
        for (int64_t i = net->first[node]; i < net->first[node + 1]; i++) {
            int64_t to = net->head[net->leaving[i]];
            if (net->room[net->leaving[i]] > LEAST && net->level[to] < 0) {
                net->level[to] = net->level[node] + 1;
                net->queue[end++] = to;
            }
        }
    }
    return net->level[sink] >= 0;
}

static double fill(Network *net, int64_t node, int64_t sink, double most) {
    if (node == sink) return most;
    double filled = 0.0;
    for (; net->next[node] < net->first[node + 1]; net->next[node]++) {
        int64_t arc = net->leaving[net->next[node]], to = net->head[arc];
        if (net->room[arc] <= LEAST || net->level[to] != net->level[node] + 1) continue;
        double left = most - filled;
        double passed = fill(net, to, sink, left < net->room[arc] ? left : net->room[arc]);
        net->room[arc] -= passed;
        net->room[arc ^ 1] += passed;
        filled += passed;
        if (most - filled <= LEAST) break; /* the arc may have room for another */
    }
    return filled;
}

/* flows[i][j]: from sources[i] to sinks[j], each in the empty network. Edge e runs from tails[e] to
 * heads[e]. */
void max_flows_f32(int64_t nodes, int64_t edges, const int64_t *tails, const int64_t *heads,
                   const float *capacities, const int64_t *sources, int64_t from, const int64_t *sinks,
                   int64_t to, float *flows) {
    int64_t *numbers = calloc(4 * edges + 4 * nodes + 1, sizeof(int64_t));
    double *room = malloc(2 * edges * sizeof(double));
    Network net = {numbers, room, numbers + 2 * edges, numbers + 2 * edges + nodes + 1};
    net.next = net.leaving + 2 * edges;
    net.level = net.next + nodes;
    net.queue = net.level + nodes;
    for (int64_t e = 0; e < edges; e++) {
        net.head[2 * e] = heads[e];
        net.head[2 * e + 1] = tails[e];
        net.first[tails[e] + 1]++;
        net.first[heads[e] + 1]++;
    }
    for (int64_t i = 0; i < nodes; i++) net.first[i + 1] += net.first[i];
    memcpy(net.next, net.first, nodes * sizeof(int64_t));
    for (int64_t e = 0; e < 2 * edges; e++) net.leaving[net.next[net.head[e ^ 1]]++] = e;
    for (int64_t i = 0; i < from; i++)
        for (int64_t j = 0; j < to; j++) {
            double flow = 0.0;
            for (int64_t e = 0; e < edges; e++) {
                net.room[2 * e] = capacities[e];
                net.room[2 * e + 1] = 0.0;
            }
            while (reaches(&net, nodes, sources[i], sinks[j])) {
                memcpy(net.next, net.first, nodes * sizeof(int64_t));
                flow += fill(&net, sources[i], sinks[j], INFINITY);
            }
            flows[i * to + j] = flow;
        }
    free(room);
    free(numbers);
}
